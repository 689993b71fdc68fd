//! What is made of the command line for shells and readers: completions and manual pages. Must not know what any flag does.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::Args;
use super::output::say;
use super::startup_error::StartupError;

const NAME: &str = "ahma_mcp";

/// Completions of a shell.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  ahma_mcp completions bash > ~/.local/share/bash-completion/completions/ahma_mcp
  ahma_mcp completions zsh > ~/.zfunc/_ahma_mcp
  ahma_mcp completions fish > ~/.config/fish/completions/ahma_mcp.fish")]
pub(super) struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

/// Manual pages.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Example:
  ahma_mcp man ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// Where the pages are written, one for each subcommand.
    directory: PathBuf,
}

/// Prints completions; the exit code.
pub(super) fn completions(args: &CompletionArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), NAME, &mut script);
    match say(&String::from_utf8_lossy(&script)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => StartupError::from(error).report(),
    }
}

/// Writes manual pages; the exit code.
pub(super) fn man(args: &ManArgs) -> ExitCode {
    match write_pages(&args.directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let place = args.directory.display();
            StartupError::Other(format!("pages cannot be written to {place}: {error}")).report()
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
fn write_pages(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    clap_mangen::generate_to(command, directory)
}

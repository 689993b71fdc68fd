//! Checks tool files, or an `mcp.json`, and explains what is wrong with them, to people or to programs.
//!
//! Judges nothing itself: the verdict is that of [`ahma_core::config`], the same the server
//! acts on.

mod args;
mod human;
mod json;
mod sources;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahma_core::config::{downstream, files, load};
use clap::Parser as _;

use self::args::{Args, Format};
use self::sources::Sources;

const EXIT_REJECTED: u8 = 1;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    match &args.mcp_config {
        Some(path) => check_mcp_config(path, args.format),
        None => check_tool_files(&args),
    }
}

fn check_mcp_config(path: &Path, format: Format) -> ExitCode {
    if path.symlink_metadata().is_err() {
        let _ = writeln!(io::stderr(), "error: there is no file {}", path.display());
        return ExitCode::from(EXIT_USAGE);
    }
    // Whose home it is makes no difference to what is right.
    let home = PathBuf::from("/");
    let config = downstream::load(files::read_file(path.to_owned()), Some(&home));
    let written = match format {
        Format::Human => human::print_mcp_config(&config),
        Format::Json => json::print_mcp_config(&config),
    };
    exit_code(written, config.faults.is_empty())
}

fn check_tool_files(args: &Args) -> ExitCode {
    let sources = match Sources::find(&args.paths) {
        Ok(sources) => sources,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    for note in &sources.notes {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    let asked_for = sources.asked_for;
    let mut catalog = load(sources.files, &ahma_core::server_facts());
    // Neighbours of a file were loaded so that its steps find their targets, not to be judged.
    catalog
        .files
        .retain(|tool| asked_for.contains(&tool.source));
    catalog
        .rejected
        .retain(|file| asked_for.contains(&file.path));

    let written = match args.format {
        Format::Human => human::print(&catalog),
        Format::Json => json::print(&catalog, &asked_for),
    };
    exit_code(written, catalog.rejected.is_empty())
}

fn exit_code(written: io::Result<()>, is_good: bool) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(EXIT_REJECTED)
        }
        _ if is_good => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_REJECTED),
    }
}

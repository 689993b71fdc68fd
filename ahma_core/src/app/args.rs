//! The command line of `ahma_mcp`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  ahma_mcp --mode list-tools
          the tools of this project, as JSON
  ahma_mcp --mode list-tools --tools-dir my-tools --tools git,cargo
          only what my-tools/git.json and my-tools/cargo.json offer";

/// Offers command-line tools, described by JSON files, as MCP tools.
#[derive(Debug, Parser)]
#[command(name = "ahma_mcp", version, after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to do.
    #[arg(long, alias = "transport", value_enum)]
    pub(super) mode: Mode,

    /// Directory with tool files; may be given several times. Default: `.ahma/tools`, else `tools`
    /// (there only files whose `$schema` is mtdf.schema.json).
    #[arg(long, value_name = "DIR")]
    pub(super) tools_dir: Vec<PathBuf>,

    /// Only these tool files, named without `.json`.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) tools: Vec<String>,
}

/// What the program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Print all tools as JSON and exit.
    ListTools,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

//! The command line of `ahma_validate`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

const HELP_END: &str = "\
Examples:
  ahma_validate
          what this project declares: `.ahma/tools`, `.ahma/prompts`, `.ahma/resources`, `.ahma/ahma.toml`, tool files in `tools`
  ahma_validate tools/ more-tools/git.json
          these, together
  ahma_validate --kind prompts team-prompts/
          prompt files in a directory of another name
  ahma_validate --format json tools/ | jq '.files[] | select(.ok | not)'
          for programs
  ahma_validate ~/.config/ahma_mcp/ahma.toml
          settings of the server
  ahma_validate --mcp-config mcp.json
          the file that names other MCP servers

Exit codes: 0 all good, 1 a file is rejected or unreadable, 2 bad usage or no such path";

/// Checks tool files (MTDF), prompt files, resource files and settings, or an `mcp.json`, and explains what is wrong with them.
#[derive(Debug, Parser)]
#[command(version, after_help = HELP_END)]
pub(crate) struct Args {
    /// Files, or directories whose `*.json` files are checked.
    pub(crate) paths: Vec<PathBuf>,

    /// What the files are. Without it, those in a directory called `prompts` or `resources` are such files, `*.toml` are settings,
    /// others tool files.
    #[arg(long, value_enum, requires = "paths")]
    pub(crate) kind: Option<Kind>,

    /// Check this file, which names other MCP servers, instead of tool files.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) mcp_config: Option<PathBuf>,

    /// For people, or for programs.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Tool files.
    Tools,
    /// Prompt files.
    Prompts,
    /// Resource files.
    Resources,
    /// Settings of the server, as in `ahma.toml`.
    Settings,
}

/// How the verdict is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Each fault in its line of the file, with advice.
    Human,
    /// One JSON document on stdout.
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

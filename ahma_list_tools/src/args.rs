//! The command line of `ahma_list_tools`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

const HELP_END: &str = "\
Examples:
  ahma_list_tools
          the running server of this project, found by its state file
  ahma_list_tools --url 'http://127.0.0.1:4242/mcp?key=…'
          a server that runs, by the URL that it prints when it starts
  ahma_list_tools -- ahma_mcp --sandbox-scope ~/project
          starts that server on stdin and stdout, and ends it
  ahma_list_tools --mcp-config .vscode/mcp.json --server ahma
          the server of that name in the file
  ahma_list_tools --format json -- ahma_mcp | jq '.tools[].name'
          for programs

Exit codes: 0 listed, 1 cannot connect, 2 bad usage";

/// Prints what an MCP server offers.
#[derive(Debug, Parser)]
#[command(version, after_help = HELP_END)]
pub(crate) struct Args {
    /// A server that runs. With none of these, the one of the current project, by its state file; a token that it
    /// does not name is taken from `AHMA_HTTP_TOKEN`.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "mcp_config"])]
    pub(crate) url: Option<String>,

    /// An mcp.json with the server.
    #[arg(
        long,
        value_name = "FILE",
        requires = "server",
        conflicts_with = "command"
    )]
    pub(crate) mcp_config: Option<PathBuf>,

    /// The name of the server in that file.
    #[arg(long, value_name = "NAME", requires = "mcp_config")]
    pub(crate) server: Option<String>,

    /// For people, or for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// How long each answer is waited for.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,

    /// A command that serves MCP on stdin and stdout.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// How the tools are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Groups of tools with their arguments.
    Text,
    /// One JSON document.
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

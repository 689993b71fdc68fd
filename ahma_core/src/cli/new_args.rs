//! The command line of `ahma_mcp new`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  ahma_mcp new wc
          prints a tool file for wc
  ahma_mcp new gh pr --add
          writes .ahma/tools/gh_pr.json, with a tool for each subcommand of `gh pr`
  ahma_mcp new terraform --depth 2 --output terraform.json
          also what stands below its subcommands

Exit codes: 0 drafted, 1 failure, 2 bad usage, no such program or no help, 3 no sandbox";

/// What is drafted, and where it goes.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NewArgs {
    /// The program, by name or by path.
    #[arg(value_name = "PROGRAM")]
    pub(super) program: String,

    /// One of its subcommands, and what is below it; without one, the program with its subcommands.
    #[arg(value_name = "SUBCOMMAND")]
    pub(super) subcommand: Vec<String>,

    /// How many levels of subcommands are drafted, each from its own help.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=4))]
    pub(super) depth: u32,

    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE", conflicts_with = "add")]
    pub(super) output: Option<PathBuf>,

    /// Write to `.ahma/tools` of the project, where servers find it.
    #[arg(long)]
    pub(super) add: bool,

    /// Overwrite the file when it is there.
    #[arg(long)]
    pub(super) force: bool,
}

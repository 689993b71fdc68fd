//! The command line of `ahma_mcp setup`.

use ahma_setup::Client;
use clap::{Args, ValueEnum};

use super::downstream_args::Format;

const EXAMPLES: &str = "\
Examples:
  ahma_mcp setup
          add the server to every client that is found on this machine
  ahma_mcp setup claude codex --dry-run
          show what would change in the files of these two
  ahma_mcp setup cursor --project -- --network off
          for this project only; the server is started with these flags
  ahma_mcp setup gemini --only
          also turn off the shell that Gemini CLI has itself
  ahma_mcp setup --undo
          put all files back as they were

Exit codes: 0 done, or nothing to do; 1 something was refused or failed, the others are done; 2 bad usage";

/// What is set up, and how.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SetupArgs {
    /// Clients; without one, all that are found on this machine.
    #[arg(value_enum, value_name = "CLIENT")]
    pub(super) clients: Vec<ClientArg>,
    /// Change the files of this project instead of the user's own.
    #[arg(long)]
    pub(super) project: bool,
    /// What the entry is called.
    #[arg(long, value_name = "NAME", default_value = "Ahama")]
    pub(super) name: String,
    /// Also turn off the shell that the client has itself, where a file can do that, and say where it cannot.
    #[arg(long)]
    pub(super) only: bool,
    /// Write the entry anew, also where one of this name starts something else.
    #[arg(long)]
    pub(super) replace: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Undo what earlier setups changed: files get their old bytes back, or lose only the entry where others have changed
    /// them since.
    #[arg(long, conflicts_with_all = ["name", "only", "replace", "flags"])]
    pub(super) undo: bool,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Flags that clients start the server with. Without any, an entry that is there keeps its own.
    #[arg(last = true, value_name = "FLAG")]
    pub(super) flags: Vec<String>,
}

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientArg(pub(super) Client);

impl ValueEnum for ClientArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ClientArg; 8] = {
            let mut all = [ClientArg(Client::Claude); 8];
            let mut at = 0;
            while at < all.len() {
                all[at] = ClientArg(Client::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.id()).help(self.0.title()))
    }
}

//! The command line of `ahma_mcp downstream`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const CHECK_CODES: &str = "\
Exit codes: 0 all are as approved, 1 something differs, 2 bad usage or configuration, 3 a server cannot be reached";

/// What is done with the servers behind this one.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum DownstreamCommand {
    /// Show the servers of the file, and what is known of them. Starts nothing.
    List {
        /// How they are shown.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Start servers, and compare what they offer with what was approved.
    #[command(after_help = CHECK_CODES)]
    Check {
        /// Servers; without a name, all of the file.
        #[arg(value_name = "NAME")]
        servers: Vec<String>,
    },
    /// Show how the definitions of a server differ from the approved ones.
    #[command(after_help = CHECK_CODES)]
    Diff {
        /// The server.
        #[arg(value_name = "NAME")]
        server: String,
    },
    /// Approve the definitions of a server as they are now; what changes is shown.
    Approve {
        /// The server.
        #[arg(value_name = "NAME")]
        server: String,
        /// Tools, as the server names them; without one, all.
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
    },
    /// Learn the definitions of a server with `"pin": false` again; what changes is shown.
    Refresh {
        /// The server.
        #[arg(value_name = "NAME")]
        server: String,
    },
    /// Take servers over from the configuration of another client. Programs are to be confined: `"sandbox": true`.
    Import(ImportArgs),
}

/// What is taken over, and from whom.
#[derive(Debug, Clone, Args)]
pub(super) struct ImportArgs {
    /// The client.
    #[arg(long, value_enum)]
    pub(super) from: ImportFrom,
    /// Show what would be added, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The client's file, instead of the usual ones.
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

/// How something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A client whose configuration names servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ImportFrom {
    /// Claude Code (`~/.claude.json`) and Claude Desktop.
    Claude,
    /// Cursor (`~/.cursor/mcp.json`).
    Cursor,
    /// Visual Studio Code (`mcp.json` of the user).
    Vscode,
    /// Codex (`~/.codex/config.toml`).
    Codex,
}

//! The `ahma_mcp` program: arguments in, one mode run, exit code out.
//!
//! Reads flags and environment, turns them into settings, and puts the engine together with its transports. Must not
//! hold engine logic: what another program would need too belongs to [`scope`](crate::Scope).

mod args;
mod auth_args;
mod auth_commands;
mod auth_report;
mod batch_writer;
mod downstream;
mod downstream_args;
mod downstream_commands;
mod downstream_import;
mod downstream_reload;
mod downstream_report;
mod flag_checks;
mod home_paths;
mod http;
mod http_settings;
mod import_codex;
mod import_references;
mod import_shown;
mod import_sources;
mod key_search;
mod list_tools;
mod log_settings;
mod logging;
mod mcp_file;
mod offline;
mod output;
mod reach;
mod server;
mod settings;
mod settings_error;
mod signals;
mod startup_error;
mod state_file;
mod token_file;
mod tool_args;
mod warnings;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Args, Command, Mode};

/// Runs the program with the arguments of this process.
pub fn main_impl() -> ExitCode {
    // Before anything else: as a sandbox host this process must stay small and have one thread.
    ahma_sandbox::become_host_if_asked();
    let args = Args::parse();
    match &args.command {
        Some(Command::Auth { command }) => return auth_commands::run(&args, command),
        Some(Command::Downstream { command }) => return downstream_commands::run(&args, command),
        None => {}
    }
    match args.mode {
        Mode::Stdio | Mode::Http | Mode::Dual => server::run(&args),
        Mode::ListTools => list_tools::run(&args),
    }
}

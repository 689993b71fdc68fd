//! The `ahma_mcp` program: arguments in, one mode run, exit code out.
//!
//! Reads flags and environment, turns them into settings, and puts the engine together with its transports. Must not
//! hold engine logic: what another program would need too belongs to [`scope`](crate::Scope).

mod arg_values;
mod args;
mod auth_args;
mod auth_commands;
mod auth_report;
mod batch_writer;
mod clean_command;
mod client_entries;
mod config_file;
mod doctor;
mod downstream;
mod downstream_args;
mod downstream_commands;
mod downstream_import;
mod downstream_reload;
mod downstream_report;
mod flag_checks;
mod greeting;
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
mod new_args;
mod new_command;
mod offline;
mod output;
mod paper;
mod profiles;
mod program_help;
mod reach;
mod run_args;
mod run_command;
mod run_streams;
mod server;
mod settings;
mod settings_error;
mod setup_args;
mod setup_command;
mod setup_report;
mod setup_shown;
mod signals;
mod startup_error;
mod state_file;
mod token_file;
mod tool_args;
mod warnings;

use std::ffi::OsString;
use std::process::ExitCode;

use ahma_contract::UserDirectories;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use self::args::{Args, Command, Mode};
use self::config_file::Start;
use self::startup_error::StartupError;

/// Runs the program with the arguments of this process.
pub fn main_impl() -> ExitCode {
    // Before anything else: as a sandbox host this process must stay small and have one thread.
    ahma_sandbox::become_host_if_asked();
    let words: Vec<_> = std::env::args_os().collect();
    let given = Args::command().get_matches_from(&words);
    let said = Args::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    match &said.command {
        // What is wrong with settings files, it tells.
        Some(Command::Doctor(doctor)) => {
            return doctor::run(doctor, with_files(&said, &given, &words));
        }
        Some(Command::Setup(setup)) => return setup_command::run(setup),
        Some(Command::Clean(clean)) => return clean_command::run(clean),
        Some(Command::Completions(shell)) => return paper::completions(shell),
        Some(Command::Man(pages)) => return paper::man(pages),
        _ => {}
    }
    let words = run_args::with_flags_of_the_server(&words, &given);
    let given = Args::command().get_matches_from(&words);
    let said = Args::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    let args = match with_files(&said, &given, &words) {
        Ok(args) => args,
        Err(error) => return error.report(),
    };
    match &args.command {
        Some(Command::Auth { command }) => return auth_commands::run(&args, command),
        Some(Command::Downstream { command }) => return downstream_commands::run(&args, command),
        Some(Command::Run(command)) => return run_command::run(&args, command),
        Some(Command::New(new)) => return new_command::run(&args, new),
        // What needs no settings has been done.
        Some(_) | None => {}
    }
    match args.mode {
        Mode::Stdio | Mode::Http | Mode::Dual => server::run(&args),
        Mode::ListTools => list_tools::run(&args),
    }
}

/// The arguments, with what settings files add to them.
fn with_files(args: &Args, given: &ArgMatches, words: &[OsString]) -> Result<Args, StartupError> {
    let environment = std::env::vars_os().collect();
    let start = Start {
        environment: &environment,
        user: &UserDirectories::of_this_user(),
        directory: &std::env::current_dir()?,
        words,
    };
    config_file::with_files(args.clone(), given, &start)
}

//! The `ahma_mcp` program: arguments in, one mode run, exit code out.

mod args;
mod batch_writer;
mod compose;
mod confinement;
mod http;
mod http_settings;
mod identity;
mod list_tools;
mod log_settings;
mod logging;
mod protection;
mod reload;
mod roots;
mod scopes;
mod settings;
mod signals;
mod sources;
mod startup_error;
mod state_file;
mod token_file;
mod toolchains;
mod warnings;
mod way;
mod world;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Args, Mode};

/// Runs the program with the arguments of this process.
pub fn main_impl() -> ExitCode {
    // Before anything else: as a sandbox host this process must stay small and have one thread.
    #[cfg(target_os = "linux")]
    ahma_sandbox::become_host_if_asked();
    let args = Args::parse();
    match args.mode {
        Mode::Stdio | Mode::Http | Mode::Dual => compose::run(&args),
        Mode::ListTools => list_tools::run(&args),
    }
}

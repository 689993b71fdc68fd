//! The `ahma_mcp` program: arguments in, one mode run, exit code out.

mod args;
mod identity;
mod list_tools;
mod reload;
mod serve;
mod settings;
mod sources;
mod toolchains;
mod way;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Args, Mode};

/// The exit code for a failure while running.
const EXIT_FAILURE: u8 = 1;
/// The exit code for bad usage or configuration.
const EXIT_USAGE: u8 = 2;
/// The exit code when commands cannot be confined.
const EXIT_NO_SANDBOX: u8 = 3;

/// Runs the program with the arguments of this process.
pub fn main_impl() -> ExitCode {
    // Before anything else: as a sandbox host this process must stay small and have one thread.
    #[cfg(target_os = "linux")]
    ahma_sandbox::become_host_if_asked();
    let args = Args::parse();
    match args.mode {
        Mode::Stdio => serve::run(&args),
        Mode::ListTools => list_tools::run(&args),
    }
}

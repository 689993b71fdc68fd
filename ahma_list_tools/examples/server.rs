//! The server itself, as a program that the tests of this package can start.

use std::process::ExitCode;

fn main() -> ExitCode {
    ahma_core::cli::main_impl()
}

//! The `ahma_mcp` program: a doorway to [`ahma_core::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ahma_core::cli::main_impl()
}

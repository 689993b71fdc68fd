//! The `ahma_mcp` program: a doorway to [`ahma_core::app`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ahma_core::app::main_impl()
}

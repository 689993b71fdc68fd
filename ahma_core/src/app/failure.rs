//! Why the server ended other than by being told to.

use std::io::{self, Write as _};
use std::process::ExitCode;

use ahma_sandbox::StartError;

/// The exit code for a failure while running.
pub(super) const EXIT_FAILURE: u8 = 1;
/// The exit code for bad usage or configuration.
pub(super) const EXIT_USAGE: u8 = 2;
/// The exit code when commands cannot be confined.
const EXIT_NO_SANDBOX: u8 = 3;

/// What went wrong.
pub(super) enum Failure {
    /// The operator's settings cannot be used.
    Usage(String),
    /// Commands cannot be confined.
    NoSandbox(StartError),
    /// Anything else.
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Other(error.to_string())
    }
}

impl Failure {
    /// Says what happened on stderr, whatever is logged where; the exit code.
    pub(super) fn report(self) -> ExitCode {
        let (code, message) = match self {
            Failure::Usage(message) => (EXIT_USAGE, message),
            Failure::NoSandbox(error) => {
                (EXIT_NO_SANDBOX, format!("{error}\nhint: {}", error.hint()))
            }
            Failure::Other(message) => (EXIT_FAILURE, message),
        };
        tracing::error!("{message}");
        let _ = writeln!(io::stderr(), "error: {message}");
        ExitCode::from(code)
    }
}

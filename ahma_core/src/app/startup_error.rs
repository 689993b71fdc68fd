//! Why the server ended other than by being told to.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use ahma_sandbox::StartError;

/// The exit code for a failure while running.
pub(super) const EXIT_FAILURE: u8 = 1;
/// The exit code for bad usage or configuration.
pub(super) const EXIT_USAGE: u8 = 2;
/// The exit code when commands cannot be confined.
const EXIT_NO_SANDBOX: u8 = 3;
/// The exit code when there is no port, or the state file cannot be written.
const EXIT_NO_PLACE: u8 = 4;

/// What went wrong.
pub(super) enum StartupError {
    /// The operator's settings cannot be used.
    Usage(String),
    /// Commands cannot be confined.
    NoSandbox(StartError),
    /// There is no port, or the state file cannot be written.
    NoPlace(String),
    /// Anything else.
    Other(String),
}

impl From<io::Error> for StartupError {
    fn from(error: io::Error) -> Self {
        StartupError::Other(error.to_string())
    }
}

impl fmt::Display for StartupError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartupError::Usage(message)
            | StartupError::NoPlace(message)
            | StartupError::Other(message) => formatter.write_str(message),
            StartupError::NoSandbox(error) => write!(formatter, "{error}\nhint: {}", error.hint()),
        }
    }
}

impl StartupError {
    /// Says what happened on stderr, whatever is logged where; the exit code.
    pub(super) fn report(self) -> ExitCode {
        let _ = writeln!(io::stderr(), "error: {self}");
        ExitCode::from(match self {
            StartupError::Usage(_) => EXIT_USAGE,
            StartupError::NoSandbox(_) => EXIT_NO_SANDBOX,
            StartupError::NoPlace(_) => EXIT_NO_PLACE,
            StartupError::Other(_) => EXIT_FAILURE,
        })
    }
}

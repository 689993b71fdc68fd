//! Why the program ended other than by being told to, and its exit code.

use std::io::{self, Write as _};
use std::process::ExitCode;

use ahma_sandbox::SetupStep;

use crate::scope::OpenError;

/// The exit code for a failure while running.
pub(super) const EXIT_FAILURE: u8 = 1;
/// The exit code for bad usage or configuration.
pub(super) const EXIT_USAGE: u8 = 2;
/// The exit code when commands cannot be confined.
const EXIT_NO_SANDBOX: u8 = 3;
/// The exit code when there is no port, or the state file cannot be written.
const EXIT_NO_PLACE: u8 = 4;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartupError {
    /// The operator's settings cannot be used.
    #[error("{0}")]
    Usage(String),
    /// The server's own scope cannot be opened.
    #[error("{}", in_words(.0))]
    Scope(#[from] OpenError),
    /// There is no port, or the state file cannot be written.
    #[error("{0}")]
    NoPlace(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for StartupError {
    fn from(error: io::Error) -> Self {
        StartupError::Other(error.to_string())
    }
}

/// The engine says what is wrong; which flag or variable changes that is the program's to say.
fn in_words(error: &OpenError) -> String {
    let Some(hint) = error.hint() else {
        return error.to_string();
    };
    let flag = match error {
        OpenError::Sandbox(ahma_sandbox::StartError::Setup(failure)) => match failure.step {
            SetupStep::Landlock | SetupStep::Seatbelt => {
                " To rely on an outer sandbox instead, start with --no-sandbox or set AHMA_NO_SANDBOX=1."
            }
            _ => "",
        },
        _ => "",
    };
    format!("{error}\nhint: {hint}{flag}")
}

impl StartupError {
    /// Says what happened on stderr, wherever the log goes; the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let _ = writeln!(io::stderr(), "error: {self}");
        ExitCode::from(match self {
            StartupError::Usage(_) | StartupError::Scope(OpenError::ToolFiles(_)) => EXIT_USAGE,
            StartupError::Scope(OpenError::Sandbox(_) | OpenError::Incomplete(_)) => {
                EXIT_NO_SANDBOX
            }
            StartupError::NoPlace(_) => EXIT_NO_PLACE,
            StartupError::Scope(_) | StartupError::Other(_) => EXIT_FAILURE,
        })
    }
}

//! Why a scope cannot be opened.

use std::io;

use ahma_sandbox::StartError;

/// What to do when a layer is missing.
pub(super) const ALLOW_NAMESPACES: &str =
    "docs/sandbox-troubleshooting.md tells how to allow user namespaces";

/// Why a scope cannot be opened. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Commands cannot be confined.
    #[error("{0}")]
    Sandbox(#[from] StartError),
    /// A layer of the sandbox that has to be there is missing.
    #[error("the sandbox is not as it is required to be: {0}")]
    Incomplete(String),
    /// What is in the scope cannot be protected.
    #[error("what starts programs in the scope cannot be protected: {0}")]
    Unprotected(io::Error),
    /// The tool files cannot be read.
    #[error("{0}")]
    ToolFiles(String),
    /// Private directories or files cannot be made.
    #[error("private directories cannot be made: {0}")]
    Private(#[from] io::Error),
    /// Commands could write to every place for private directories.
    #[error("commands could write to every place for the server's private directories")]
    NoPrivatePlace,
    /// The program is stopping.
    #[error("the server is stopping")]
    Stopping,
}

impl OpenError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            OpenError::Sandbox(error) => Some(error.hint()),
            OpenError::Incomplete(_) => Some(ALLOW_NAMESPACES.to_owned()),
            OpenError::Unprotected(_) => {
                Some("open that directory with chmod, and look at it".to_owned())
            }
            OpenError::NoPrivatePlace => {
                Some("set TMPDIR to a directory outside the scope".to_owned())
            }
            OpenError::ToolFiles(_) | OpenError::Private(_) | OpenError::Stopping => None,
        }
    }
}

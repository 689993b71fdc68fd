//! Why a scope cannot be opened.

use std::io;

use ahma_sandbox::StartError;

/// Why a scope cannot be opened. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Commands cannot be confined.
    #[error("{0}")]
    Sandbox(#[from] StartError),
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
            OpenError::NoPrivatePlace => {
                Some("set TMPDIR to a directory outside the scope".to_owned())
            }
            OpenError::ToolFiles(_) | OpenError::Private(_) | OpenError::Stopping => None,
        }
    }
}

//! The file that names servers, as its owner is told of it.

use std::path::PathBuf;
use std::sync::PoisonError;

use serde::Serialize;

use super::servers::DownstreamServers;

/// A file that names servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Source {
    /// The file.
    pub(crate) file: PathBuf,
    /// What is wrong with it, a line each: place, message, what to do.
    pub(crate) faults: Vec<String>,
    /// Why changes of it are not taken over, when they are not.
    pub(crate) held_back: Option<String>,
}

impl DownstreamServers {
    /// Notes where servers are named, and what is wrong there.
    pub(crate) fn note_source(&self, source: Option<Source>) {
        // A value is put in the place of another, which no panic interrupts.
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }
}

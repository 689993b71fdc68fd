//! A tool file that was checked on its own.

use std::path::PathBuf;
use std::sync::Arc;

use super::fault::{Fault, FaultList};
use super::spec::{ToolFile, ToolSpec};

/// A file files alone.
pub(super) struct CheckedFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// What the file says, as far as it could be made out; to be used only without faults.
    pub(super) parsed: Option<ToolFile>,
    /// What is wrong with it, by pointer.
    pub(super) faults: FaultList,
    /// What is wrong with it when there is no JSON to point into.
    pub(super) unreadable: Option<Fault>,
}

impl CheckedFile {
    /// Whether the file is right so far.
    pub(super) fn is_valid(&self) -> bool {
        self.faults.is_empty() && self.unreadable.is_none() && self.parsed.is_some()
    }

    /// Whether it takes the place of another: it has the same file name, or its tool the same name.
    pub(super) fn replaces(&self, other: &CheckedFile) -> bool {
        let name = |file: &CheckedFile| file.parsed.as_ref().map(|it| it.name.clone());
        let has_name = name(self).is_some_and(|it| !it.is_empty());
        self.path.file_name() == other.path.file_name() || has_name && name(self) == name(other)
    }

    pub(super) fn tools(&self) -> &[Arc<ToolSpec>] {
        self.parsed
            .as_ref()
            .map(|file| file.tools.as_slice())
            .unwrap_or_default()
    }
}

//! What a set of tool files amounts to: accepted files and rejected ones.

use std::path::PathBuf;

use super::fault::Fault;
use super::spec::{ToolFile, ToolSpec};

/// What a set of tool files amounts to.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Accepted files, in the order they were given.
    pub files: Vec<ToolFile>,
    /// Rejected files, in the order they were given. None of them keeps another from working.
    pub rejected: Vec<RejectedFile>,
    /// Accepted files of which something is most likely not meant.
    pub warned: Vec<WarnedFile>,
}

/// A file that is served, and what its author should look at.
#[derive(Debug)]
pub struct WarnedFile {
    /// The file.
    pub path: PathBuf,
    /// Its text, for showing the warnings in their lines.
    pub text: String,
    /// The warnings; never empty.
    pub warnings: Vec<Fault>,
}

impl Catalog {
    /// Every MCP tool of every accepted file, in order.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolFile, &ToolSpec)> {
        self.files
            .iter()
            .flat_map(|file| file.tools.iter().map(move |tool| (file, tool.as_ref())))
    }
}

/// A file that is not served, and why.
#[derive(Debug)]
pub struct RejectedFile {
    /// The file.
    pub path: PathBuf,
    /// Its text as far as it could be read, for showing the faults in their lines.
    pub text: String,
    /// Everything that is wrong with it; never empty.
    pub faults: Vec<Fault>,
}

//! Why a file is left as it is, and what to do. Must not name flags: those are the program's.

use std::path::Path;

/// A file that is not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: Option<Remedy>,
    /// What the file should say, to be copied by hand.
    pub paste: Option<String>,
}

/// What helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// This.
    Hint(String),
    /// To set the client up for all projects.
    AllProjects,
    /// To do it in a project, or to name one.
    NameProject,
    /// Another name for the entry, or to replace the one that is there.
    NameOrReplace,
}

impl Refusal {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with_remedy(what, Remedy::Hint(hint.into()))
    }

    pub(crate) fn with_remedy(what: impl Into<String>, remedy: Remedy) -> Self {
        Refusal {
            what: what.into(),
            remedy: Some(remedy),
            paste: None,
        }
    }

    pub(crate) fn of_io(path: &Path, what: &str, error: &std::io::Error) -> Self {
        Refusal {
            what: format!("{} cannot be {what}: {error}", path.display()),
            remedy: None,
            paste: None,
        }
    }
}

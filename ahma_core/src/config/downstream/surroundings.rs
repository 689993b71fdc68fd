//! What paths of an `mcp.json` are relative to. Joins paths; must not look at the disk.

use std::path::{Path, PathBuf};

use super::super::checks::Checks;

/// What paths of a file are relative to.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'p> {
    /// The directory of the file.
    pub(super) directory: &'p Path,
    /// What `~` stands for.
    pub(super) home: Option<&'p Path>,
}

/// Where a text stands, and who hears what is wrong with it.
pub(super) type Context<'c> = (Surroundings<'c>, Checks<'c>);

impl Surroundings<'_> {
    /// The path that is meant; none when it is below a home directory that is not known.
    pub(super) fn path(self, written: &str) -> Option<PathBuf> {
        match written.strip_prefix('~') {
            Some("") => self.home.map(Path::to_owned),
            Some(below) if below.starts_with('/') => self
                .home
                .map(|home| home.join(below.trim_start_matches('/'))),
            _ => Some(self.directory.join(written)),
        }
    }
}

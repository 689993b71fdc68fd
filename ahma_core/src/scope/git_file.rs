//! The `.git` file of a scope whose repository is elsewhere, and what is granted of that.
//!
//! Commands may have written the file, so what it says is a question and no answer. Must not decide. May block.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ahma_sandbox::{open_directory, read_beneath};

/// More than is in any of these files.
const MAX_BYTES: u64 = 256 * 1024;

/// What the commands of a scope need of a repository elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryGrant {
    /// The repository, where not all that is read is written.
    pub(super) read: Option<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// What of that is written only where the rest of it can be protected.
    pub(super) in_view: Vec<PathBuf>,
    /// What they may not write of that.
    pub(super) protect: Vec<PathBuf>,
}

/// What is in a small file of a directory, which is not a link.
pub(super) fn read_at(directory: &Path, name: impl AsRef<Path>) -> Option<String> {
    let root = open_directory(directory).ok()?;
    let bytes = read_beneath(&root, name.as_ref(), MAX_BYTES).ok()?;
    let is_whole = bytes.len() < usize::try_from(MAX_BYTES).ok()?;
    String::from_utf8(bytes).ok().filter(|_| is_whole)
}

/// The path that the `.git` file of a scope names.
pub(super) fn named_by(scope: &Path) -> Option<PathBuf> {
    let content = read_at(scope, ".git")?;
    let named = line(content.strip_prefix("gitdir:")?.trim_start_matches(' '))?;
    // A scope is a real path, so what is above it is known; commands have no say in that.
    let (mut above, mut rest) = (scope, Path::new(named));
    while let Ok(further) = rest.strip_prefix("..") {
        (above, rest) = (above.parent()?, further);
    }
    Some(above.join(rest))
}

/// A file that is one line.
pub(super) fn line(content: &str) -> Option<&str> {
    let line = content.trim_end_matches(['\n', '\r']);
    (!line.is_empty() && !line.contains(['\n', '\0'])).then_some(line)
}

/// Whether it belongs to the user whose server this is, and is not a link.
pub(super) fn is_own(path: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|about| about.uid() == me && !about.is_symlink())
}

//! What a server saw last, kept for the next one: what a command left in its last moment is told then.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::identity::{Moment, hash};
use super::known::Entry;

/// A larger one is not one of ours.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What was seen of one directory.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub(super) scope: PathBuf,
    /// Since when operations ran whose end the server that wrote this did not see.
    pub(super) open_since: Option<Moment>,
    pub(super) entries: BTreeMap<PathBuf, Entry>,
}

/// Where the one of a directory is.
fn place(directory: &Path, scope: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    let name = hash(scope.as_os_str().as_bytes());
    directory.join(format!("{}.json", &name[..32]))
}

impl Snapshot {
    /// What the last server saw; none when there was none, or it cannot be read.
    #[expect(
        clippy::disallowed_methods,
        reason = "the guard has a thread of its own"
    )]
    pub(super) fn load(directory: &Path, scope: &Path) -> Option<Self> {
        use std::io::Read as _;
        let file = std::fs::File::open(place(directory, scope)).ok()?;
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        let snapshot: Snapshot = serde_json::from_slice(&text).ok()?;
        (snapshot.scope == scope).then_some(snapshot)
    }

    /// Writes it in the place of the last one.
    pub(super) fn save(&self, directory: &Path) -> io::Result<()> {
        let place = place(directory, &self.scope);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let unfinished = place.with_extension(format!("{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&unfinished)?;
        let text = serde_json::to_vec(self)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other("it is too large"));
        }
        file.write_all(&text)?;
        std::fs::rename(unfinished, place)
    }
}

//! Homes of commands that outlive their server: one per scope, in the user's cache directory. May block.
//!
//! Commands of earlier servers have written there, so nothing of it is believed, and nothing is written through a link in it.

use std::fs;
use std::io::{self, Read as _};
#[cfg(feature = "cli")]
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use sha2::{Digest as _, Sha256};

/// A home that nobody has used for so long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// When it was used last, by the time of this file.
const USED: &str = "used";
/// Which scope it belongs to, for people.
const SCOPE: &str = "scope";
const HOME: &str = "home";
/// What a home begins with.
const PARTS: [&str; 3] = [".cache", ".config", ".run"];

/// A home while a server uses it.
#[derive(Debug)]
pub(super) struct KeptHome {
    pub(super) path: PathBuf,
    /// Held until the server ends, so that no other one takes the home for unused.
    _used: fs::File,
}

/// The home of a scope, made when it is not there yet.
pub(super) fn open(homes: &Path, scope: &Path) -> io::Result<KeptHome> {
    let hash = Sha256::digest(scope.as_os_str().as_encoded_bytes());
    let name: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let place = homes.join(name);
    let home = place.join(HOME);
    // What commands made of it is left: a link or a file in place of a part is their business.
    for directory in [homes.to_owned(), place.clone(), home.clone()] {
        make(&directory)?;
    }
    for part in PARTS {
        make(&home.join(part))?;
    }
    write(&place, SCOPE, scope.as_os_str().as_encoded_bytes())?;
    let used = mark(&place)?;
    used.set_modified(SystemTime::now())?;
    flock(&used, FlockOperation::NonBlockingLockShared)?;
    Ok(KeptHome {
        path: home.canonicalize()?,
        _used: used,
    })
}

/// The file whose time and lock say that a home is used.
fn mark(place: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.open(place.join(USED))
}

/// A home that no server uses.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub(crate) struct UnusedHome {
    pub(crate) path: PathBuf,
    /// The scope that it belongs to, where that is known.
    pub(crate) scope: Option<PathBuf>,
    /// Held, so that no server takes it meanwhile.
    _mark: fs::File,
}

/// All homes that no server uses.
#[cfg(feature = "cli")]
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
pub(crate) fn unused(homes: &Path) -> Vec<UnusedHome> {
    let entries = fs::read_dir(homes).into_iter().flatten().flatten();
    let unused = entries.filter_map(|entry| {
        let path = entry.path();
        // Not made by us where that is missing.
        fs::symlink_metadata(path.join(USED)).ok()?;
        let mark = mark(&path).ok()?;
        flock(&mark, FlockOperation::NonBlockingLockExclusive).ok()?;
        let scope = fs::read(path.join(SCOPE)).ok();
        let scope = scope.map(|it| PathBuf::from(std::ffi::OsString::from_vec(it)));
        Some(UnusedHome {
            path,
            scope,
            _mark: mark,
        })
    });
    unused.collect()
}

/// Removes homes that nobody has used for long. Returns how many.
pub(super) fn sweep(homes: &Path) -> usize {
    #[expect(clippy::disallowed_methods, reason = "beside the runtime")]
    let Ok(entries) = fs::read_dir(homes) else {
        return 0;
    };
    let is_unused = |place: &PathBuf| {
        let used = fs::symlink_metadata(place.join(USED)).and_then(|it| it.modified());
        let age = used
            .ok()
            .and_then(|used| SystemTime::now().duration_since(used).ok());
        let is_old = age.is_some_and(|age| age > UNUSED);
        let is_free = || {
            let mark = mark(place);
            mark.is_ok_and(|it| flock(&it, FlockOperation::NonBlockingLockExclusive).is_ok())
        };
        is_old && is_free()
    };
    let unused = entries.flatten().map(|it| it.path()).filter(is_unused);
    unused
        .filter(|place| ahma_sandbox::remove_directory(place).is_ok())
        .count()
}

fn make(directory: &Path) -> io::Result<()> {
    match fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(directory)
    {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Puts a file in place of whatever has its name, unless it is there already as it should be.
pub(super) fn write(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    if holds(&directory.join(name), content) {
        return Ok(());
    }
    let mut file = tempfile::Builder::new()
        .prefix(".ahma-")
        .tempfile_in(directory)?;
    file.write_all(content)?;
    file.persist(directory.join(name))?;
    Ok(())
}

/// Whether a file of its own, no link and no pipe, has exactly this content.
fn holds(path: &Path, content: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(fs::File::from) else {
        return false;
    };
    let is_as_long = file.metadata().is_ok_and(|about| {
        about.is_file() && about.nlink() == 1 && usize::try_from(about.len()) == Ok(content.len())
    });
    let mut found = Vec::with_capacity(content.len());
    let limit = u64::try_from(content.len()).unwrap_or(u64::MAX);
    is_as_long && file.take(limit).read_to_end(&mut found).is_ok() && found == content
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Proves: S67.
    #[test]
    fn a_home_is_there_again_for_the_same_scope_and_goes_when_nobody_uses_it() {
        let base = tempfile::tempdir().unwrap();
        let homes = base.path().join("deep/homes");
        let home = open(&homes, Path::new("/srv/one")).unwrap();
        let first = home.path.clone();
        fs::write(first.join("kept"), "x").unwrap();
        let other = open(&homes, Path::new("/srv/two")).unwrap();
        assert_ne!(first, other.path);
        assert_eq!(open(&homes, Path::new("/srv/one")).unwrap().path, first);
        assert!(first.join("kept").exists());
        assert_eq!(sweep(&homes), 0);
        let used = fs::File::open(first.parent().unwrap().join(USED)).unwrap();
        used.set_modified(SystemTime::now() - 2 * UNUSED).unwrap();
        assert_eq!(sweep(&homes), 0, "a server uses it");
        drop(home);
        assert_eq!(sweep(&homes), 1);
        assert!(!first.exists() && other.path.exists());
    }

    /// Proves: S67.
    #[test]
    fn a_link_that_a_command_left_leads_nothing_elsewhere() {
        let base = tempfile::tempdir().unwrap();
        let outside = base.path().join("outside");
        fs::write(&outside, "mine").unwrap();
        let home = open(&base.path().join("homes"), Path::new("/srv/one"))
            .unwrap()
            .path;
        symlink(&outside, home.join(".gitconfig")).unwrap();
        write(&home, ".gitconfig", b"new").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        assert_eq!(fs::read_to_string(home.join(".gitconfig")).unwrap(), "new");
    }
}

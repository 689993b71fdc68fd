//! The private directory of a host: home and temporary files of its commands.
//!
//! Only its owner can enter it. It is removed when dropped; those of servers that were killed are
//! removed by the next one, which knows them by a lock that nobody holds any more.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

const PREFIX: &str = "ahma-";
const LOCK: &str = "lock";

/// A directory that lives as long as this value.
#[derive(Debug)]
pub struct SessionDirectory {
    path: PathBuf,
    _lock: OwnedFd,
}

impl SessionDirectory {
    /// Makes one below `base`, which must be outside every scope.
    pub fn create(base: &Path) -> io::Result<Self> {
        let base = base.canonicalize()?;
        loop {
            let name = format!("{PREFIX}{:016x}", random()?);
            // Under another name until it is locked: a sweeping server must not take it for
            // abandoned.
            let unfinished = base.join(format!(".{name}"));
            match fs::DirBuilder::new().mode(0o700).create(&unfinished) {
                Ok(()) => return Self::fill(&unfinished, base.join(name)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(unfinished: &Path, path: PathBuf) -> io::Result<Self> {
        let lock = open(
            unfinished.join(LOCK),
            OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        for directory in ["home", "tmp", "home/.cache", "home/.config", "home/.run"] {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(unfinished.join(directory))?;
        }
        fs::rename(unfinished, &path)?;
        Ok(SessionDirectory { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes directories of servers that are gone. What belongs to someone else, or to a server
    /// that lives, stays.
    pub fn sweep(base: &Path) -> io::Result<usize> {
        let me = rustix::process::geteuid().as_raw();
        let mut removed = 0;
        #[expect(
            clippy::disallowed_methods,
            reason = "runs once, before the server serves"
        )]
        for entry in fs::read_dir(base)? {
            let path = entry?.path();
            let is_ours = path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(PREFIX))
                && fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_dir() && kind.uid() == me);
            if is_ours && is_abandoned(&path) && fs::remove_dir_all(&path).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Drop for SessionDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn is_abandoned(session: &Path) -> bool {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match open(session.join(LOCK), flags, Mode::empty()) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        Err(_) => false,
    }
}

fn random() -> io::Result<u64> {
    use std::io::Read as _;
    let mut bytes = [0; 8];
    #[expect(clippy::disallowed_methods, reason = "a device that never blocks")]
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_with_its_owner() {
        let base = tempfile::tempdir().unwrap();
        let session = SessionDirectory::create(base.path()).unwrap();
        let path = session.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(path.join("home").is_dir() && path.join("tmp").is_dir());
        drop(session);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_nobody_holds_any_more_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let alive = SessionDirectory::create(base.path()).unwrap();
        let dead = base.path().join("ahma-dead");
        fs::create_dir_all(dead.join("home")).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let unrelated = base.path().join("ahma-unrelated");
        fs::create_dir(&unrelated).unwrap();
        assert_eq!(SessionDirectory::sweep(base.path()).unwrap(), 1);
        assert!(!dead.exists());
        assert!(alive.path().exists() && unrelated.exists());
    }
}

//! The private directory of a host: home and temporary files of its commands.
//!
//! Only its owner can enter it. It is removed when dropped; those of servers that were killed are
//! removed by the next one, which knows them by a lock that nobody holds any more.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, open, openat};
use rustix::path::Arg;

const PREFIX: &str = "ahma-";
const LOCK: &str = "lock";
/// What the lock of a private holds, so that nothing else is taken for one.
const MARK: &[u8; 17] = b"ahma_mcp session\n";

/// A directory that lives as long as this value.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    _lock: OwnedFd,
}

impl PrivateDir {
    /// Makes one below `base`, which must be outside every scope.
    pub fn create(base: &Path) -> io::Result<Self> {
        Self::create_with(base, &["home/.cache", "home/.config", "home/.run"])
    }

    /// The same for commands whose home is elsewhere: nothing is in its own.
    pub fn create_beside_home(base: &Path) -> io::Result<Self> {
        Self::create_with(base, &[])
    }

    fn create_with(base: &Path, parts: &[&str]) -> io::Result<Self> {
        let base = base.canonicalize()?;
        loop {
            let name = format!("{PREFIX}{:016x}", random()?);
            // Under another name until it is locked: a sweeping server must not take it for
            // abandoned.
            let unfinished = base.join(format!(".{name}"));
            match fs::DirBuilder::new().mode(0o700).create(&unfinished) {
                Ok(()) => return Self::fill(&unfinished, base.join(name), parts),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(unfinished: &Path, path: PathBuf, parts: &[&str]) -> io::Result<Self> {
        let lock = open(
            unfinished.join(LOCK),
            OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        rustix::io::write(&lock, MARK)?;
        for directory in ["home", "tmp"].iter().chain(parts) {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(unfinished.join(directory))?;
        }
        fs::rename(unfinished, &path)?;
        Ok(PrivateDir { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the private directories below `base` whose program is gone. Returns how many.
    pub fn sweep(base: &Path) -> io::Result<usize> {
        let abandoned = Self::abandoned(base)?.into_iter();
        Ok(abandoned
            .filter(|path| remove_directory(path).is_ok())
            .count())
    }

    /// The private directories below `base` whose program is gone.
    pub fn abandoned(base: &Path) -> io::Result<Vec<PathBuf>> {
        let me = rustix::process::geteuid().as_raw();
        let mut abandoned = Vec::new();
        #[expect(
            clippy::disallowed_methods,
            reason = "the caller sees to it that no async thread waits"
        )]
        for entry in fs::read_dir(base)? {
            let path = entry?.path();
            // By name first: there may be thousands of entries, and few of them are ours.
            let is_ours = |path: &Path| {
                fs::symlink_metadata(path).is_ok_and(|about| {
                    about.is_dir() && about.uid() == me && about.mode() & 0o777 == 0o700
                })
            };
            if has_our_name(&path) && is_ours(&path) && is_abandoned(&path) {
                abandoned.push(path);
            }
        }
        Ok(abandoned)
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let _ = remove_directory(&self.path);
    }
}

/// `ahma-` and sixteen hexadecimal digits, as made above; with a dot while it is not finished.
fn has_our_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.map(|name| name.strip_prefix('.').unwrap_or(name));
    let digits = name.and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether its lock is ours and nobody holds it.
fn is_abandoned(private: &Path) -> bool {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(lock) = open(private.join(LOCK), flags, Mode::empty()) else {
        return false;
    };
    let mut mark = [0; MARK.len()];
    let marked = rustix::io::read(&lock, &mut mark) == Ok(MARK.len()) && mark == *MARK;
    marked && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Removes a directory, also when commands left directories in it that cannot be written.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    // Commands may have made directories of any depth, and removing them goes as deep: on a stack of
    // its own, of which only what is used takes memory.
    const STACK: usize = 256 * 1024 * 1024;
    let path = path.to_owned();
    let worker = std::thread::Builder::new().stack_size(STACK);
    let worker = worker.spawn(move || remove_tree(&path))?;
    worker
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("it could not be removed")))
}

fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(CWD, path);
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

/// Opens every directory below one for its owner. By descriptor: whatever is put in the place of a directory meanwhile,
/// such as a link to one elsewhere, is not what changes.
fn make_writable(directory: impl AsFd, name: impl Arg + Copy) {
    let Ok(held) = open_for_owner(directory, name) else {
        return;
    };
    let Ok(entries) = Dir::read_from(&held) else {
        return;
    };
    let directories = entries.flatten().filter(|entry| {
        let itself = matches!(entry.file_name().to_bytes(), b"." | b"..");
        !itself && entry.file_type() == FileType::Directory
    });
    // All of them first, so that one descriptor is open for each level.
    let names: Vec<CString> = directories.map(|it| it.file_name().to_owned()).collect();
    for name in names {
        make_writable(&held, name.as_c_str());
    }
}

#[cfg(target_os = "linux")]
fn open_for_owner(directory: impl AsFd, name: impl Arg + Copy) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd as _;
    // Reading it may be what is not allowed yet.
    let only_held = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = openat(directory, name, only_held, Mode::empty())?;
    let itself = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::chmod(itself, Mode::RWXU)?;
    let read = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(held, ".", read, Mode::empty())?)
}

#[cfg(not(target_os = "linux"))]
fn open_for_owner(directory: impl AsFd, name: impl Arg + Copy) -> io::Result<OwnedFd> {
    use rustix::fs::{AtFlags, chmodat};
    chmodat(&directory, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?;
    let read = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, read, Mode::empty())?)
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_private_and_goes_with_its_owner() {
        let base = tempfile::tempdir().unwrap();
        let private = PrivateDir::create(base.path()).unwrap();
        let path = private.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(path.join("home").is_dir() && path.join("tmp").is_dir());
        drop(private);
        assert!(!path.exists());
    }

    /// A private whose server was killed.
    fn abandoned(base: &Path) -> PathBuf {
        let private = PrivateDir::create(base).unwrap();
        let copy = base.join("ahma-0123456789abcdef");
        fs::DirBuilder::new().mode(0o700).create(&copy).unwrap();
        fs::copy(private.path().join(LOCK), copy.join(LOCK)).unwrap();
        copy
    }

    /// Proves: S26.
    #[test]
    fn only_what_nobody_holds_any_more_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let alive = PrivateDir::create(base.path()).unwrap();
        let dead = abandoned(base.path());
        assert_eq!(PrivateDir::sweep(base.path()).unwrap(), 1);
        assert!(!dead.exists());
        assert!(alive.path().exists());
    }

    /// Proves: S26.
    #[test]
    fn what_only_looks_like_a_session_stays() {
        let base = tempfile::tempdir().unwrap();
        let dead = abandoned(base.path());
        let lock = fs::read(dead.join(LOCK)).unwrap();
        for (name, mode, lock) in [
            ("ahma-notes", 0o700, lock.clone()),
            ("ahma-0123456789abcdeg", 0o700, lock.clone()),
            ("ahma-1123456789abcdef", 0o755, lock),
            ("ahma-2123456789abcdef", 0o700, Vec::new()),
            ("ahma-3123456789abcdef", 0o700, b"my own".to_vec()),
        ] {
            let path = base.path().join(name);
            fs::DirBuilder::new().mode(mode).create(&path).unwrap();
            fs::write(path.join(LOCK), lock).unwrap();
            fs::write(path.join("thesis.txt"), "x").unwrap();
        }
        assert_eq!(PrivateDir::sweep(base.path()).unwrap(), 1);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 5);
    }

    #[test]
    fn directories_that_cannot_be_written_are_removed_too() {
        let base = tempfile::tempdir().unwrap();
        let private = PrivateDir::create(base.path()).unwrap();
        let locked = private.path().join("home/go/pkg");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("f"), "x").unwrap();
        let outside = base.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, locked.join("link")).unwrap();
        for path in [&locked, &outside] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
        }
        make_writable(CWD, private.path());
        assert_eq!(fs::metadata(&locked).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o777, 0o500);
        let path = private.path().to_owned();
        drop(private);
        assert!(!path.exists());
    }
}

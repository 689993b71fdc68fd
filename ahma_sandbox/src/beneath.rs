//! Reading a file below a directory that commands can write, for the server, which is not confined.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Which file systems a path may lead through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSystems {
    Any,
    One,
}

/// Reads an ordinary file below a directory, up to `most` bytes. No link is followed on the way, no other file system
/// entered and nothing waited for: a command may have put anything there.
pub fn read_beneath(root: impl AsFd, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::from(open_beneath(root, path)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no ordinary file",
        ));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether there is something at a path below a directory that no link leads to, on whatever file system.
pub fn exists_beneath(root: &Path, path: &Path) -> bool {
    open_directory(root)
        .and_then(|root| open(root, path, FileSystems::Any))
        .is_ok()
}

/// Opens what is at a path below a directory, under the rules of [`read_beneath`]. The empty path is the directory itself.
pub fn open_beneath(root: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    open(root, path, FileSystems::One)
}

fn open(root: impl AsFd, path: &Path, which: FileSystems) -> io::Result<OwnedFd> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    open_resolved(root, path, flags, which)
}

/// Opens a directory itself, to hold on to it. Links on the way count.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn open_resolved(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    which: FileSystems,
) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let further = match which {
        FileSystems::Any => ResolveFlags::empty(),
        FileSystems::One => ResolveFlags::NO_XDEV,
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | further;
    Ok(openat2(root, path, flags, Mode::empty(), resolve)?)
}

/// Elsewhere the path is looked at step by step.
#[cfg(not(target_os = "linux"))]
fn open_resolved(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    _which: FileSystems,
) -> io::Result<OwnedFd> {
    use std::path::Component;

    use rustix::fs::openat;
    let mut at = openat(root, ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            }
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
    Ok(at)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_ordinary_files_below_the_root_are_read() {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (base.path().join("root"), base.path().join("outside"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), "the secret").unwrap();
        fs::write(root.join("a/f"), "inside").unwrap();
        symlink(outside.join("f"), root.join("link")).unwrap();
        symlink(&outside, root.join("directory")).unwrap();
        let read = |path: &str| read_beneath(open_directory(&root).unwrap(), Path::new(path), 4);
        assert_eq!(read("a/f").unwrap(), b"insi");
        for path in ["link", "directory/f", "../outside/f", "a", "missing"] {
            assert!(read(path).is_err(), "{path}");
        }
        let pipe = std::process::Command::new("mkfifo")
            .arg(root.join("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        assert!(read("pipe").is_err(), "and it is not waited for");
    }
}

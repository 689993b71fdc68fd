//! Reading a file below a directory that commands can write, for the server, which is not confined.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads an ordinary file below `root`, up to `most` bytes. No link is followed on the way and nothing
/// is waited for: a command may have put anything there.
pub fn read_beneath(root: &Path, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_beneath(root, path)?;
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

/// Whether there is a file or directory below `root` that no link leads to.
pub fn exists_beneath(root: &Path, path: &Path) -> bool {
    open_beneath(root, path).is_ok()
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
    let root = open(
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(root, path, flags, Mode::empty(), resolve)?.into())
}

/// Elsewhere the path is looked at step by step before it is opened.
#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let mut at = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    for part in path.components() {
        let std::path::Component::Normal(name) = part else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at.into())
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
        let read = |path: &str| read_beneath(&root, Path::new(path), 4);
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

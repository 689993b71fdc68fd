//! What tells one file from another, and a file from what it was: read below a directory that commands can write, without
//! following a link.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use ahma_sandbox::{open_beneath, read_beneath};
use rustix::fs::{AtFlags, FileType};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Files are read up to this size; of a larger one only what the file system says of it is known.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A moment of the file system's clock, in nanoseconds since 1970.
pub(super) type Moment = i64;

/// What is known of a file or directory without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) number: u64,
    /// When it was made, where the file system knows: a number is given out again.
    pub(super) born: Option<Moment>,
    /// When anything about it changed last. Nobody but the kernel sets it.
    pub(super) changed: Moment,
    pub(super) size: u64,
    pub(super) links: u64,
    pub(super) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    File,
    Directory,
    Link,
    Other,
}

impl From<FileType> for Form {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Form::File,
            FileType::Directory => Form::Directory,
            FileType::Symlink => Form::Link,
            _ => Form::Other,
        }
    }
}

impl Identity {
    /// Whether it is still the same file or directory, whatever has happened to it.
    pub(super) fn is_same(&self, other: &Identity) -> bool {
        (self.number, self.born, self.form) == (other.number, other.born, other.form)
    }
}

fn moment(seconds: i64, nanoseconds: i64) -> Moment {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

/// What is known of a path below a directory. The last part is not followed when it is a link.
#[cfg(target_os = "linux")]
pub(super) fn identity(root: impl AsFd, path: &Path) -> io::Result<Identity> {
    use rustix::fs::{StatxFlags, statx};
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let about = statx(root, path, flags, wanted)?;
    let born = about.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = |it: rustix::fs::StatxTimestamp| moment(it.tv_sec, i64::from(it.tv_nsec));
    Ok(Identity {
        number: about.stx_ino,
        born: born.then(|| time(about.stx_btime)),
        changed: time(about.stx_ctime),
        size: about.stx_size,
        links: u64::from(about.stx_nlink),
        form: FileType::from_raw_mode(rustix::fs::RawMode::from(about.stx_mode)).into(),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn identity(root: impl AsFd, path: &Path) -> io::Result<Identity> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let about = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Identity {
        number: about.st_ino,
        born: Some(moment(about.st_birthtime, about.st_birthtime_nsec)),
        changed: moment(about.st_ctime, about.st_ctime_nsec),
        size: u64::try_from(about.st_size).unwrap_or_default(),
        links: u64::from(about.st_nlink),
        form: FileType::from_raw_mode(about.st_mode).into(),
    })
}

/// The same, where no directory on the way may be a link: what a link leads to outside is nobody's business here.
pub(super) fn identity_beneath(root: impl AsFd, path: &Path) -> io::Result<Identity> {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) if !above.as_os_str().is_empty() => {
            identity(open_beneath(root, above)?, Path::new(name))
        }
        _ => identity(root, path),
    }
}

/// What a file holds: its bytes, up to [`MAX_FILE_BYTES`].
pub(super) fn read(root: impl AsFd, path: &Path) -> io::Result<Vec<u8>> {
    read_beneath(root, path, MAX_FILE_BYTES)
}

/// What stands for a content.
pub(super) fn hash(content: &[u8]) -> String {
    let hash = Sha256::digest(content);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! A client's file on the disk: found without being led astray, read, and written whole or not at all. Must not know what is in
//! it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, OFlags, Uid};

use super::places::{Place, real};
use super::refusal::Refusal;

/// Longer files are none that a client's settings are in.
const MAX_LEN: u64 = 64 << 20;
const CHANGED: &str = "it was changed in the meantime";
const AGAIN: &str = "close the client, if it runs, and try again";

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Without links.
    pub(crate) path: PathBuf,
    /// None where there is no file.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Target {
    /// Finds and reads a file. Links are followed as far as they stay where the file belongs.
    pub(crate) fn find(place: &Place) -> Result<Self, Refusal> {
        let path = &place.path;
        let real_path = match fs::symlink_metadata(path) {
            Ok(about) => path.canonicalize().map_err(|error| {
                match about.is_symlink() && error.kind() == io::ErrorKind::NotFound {
                    true => Refusal::new(
                        "it is a link that leads nowhere",
                        "remove the link, or make the file that it leads to",
                    ),
                    false => Refusal::of_io(path, "found", &error),
                }
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => real_as_far_as_there(path),
            Err(error) => return Err(Refusal::of_io(path, "found", &error)),
        };
        if !place
            .inside
            .iter()
            .any(|it| real_path.starts_with(real(it)))
        {
            let (real_path, inside) = (real_path.display(), &place.inside);
            let inside: Vec<_> = inside.iter().map(|it| it.display().to_string()).collect();
            return Err(Refusal::new(
                format!(
                    "it leads to {real_path}, which is not in {}",
                    inside.join(" or ")
                ),
                "change that file by hand",
            ));
        }
        let bytes = read(&real_path)?;
        Ok(Target {
            path: real_path,
            bytes,
        })
    }

    /// The directories above it that are not there.
    pub(crate) fn missing_directories(&self) -> Vec<PathBuf> {
        let above = self.path.ancestors().skip(1);
        let missing = above.take_while(|it| !it.exists());
        missing.map(Path::to_owned).collect()
    }

    /// Writes other bytes, if the file is still as it was found. A new one is for its owner only, unless others share it.
    pub(crate) fn write(&self, bytes: &[u8], is_shared: bool) -> Result<(), Refusal> {
        let path = &self.path;
        let failed = |error: io::Error| Refusal::of_io(path, "written", &error);
        let directory = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(if is_shared { 0o777 } else { 0o700 })
            .create(directory)
            .map_err(failed)?;
        let mode = if is_shared { 0o666 } else { 0o600 };
        let mut builder = tempfile::Builder::new();
        let builder = builder
            .prefix(".ahma-")
            .permissions(Permissions::from_mode(mode));
        let mut draft = builder.tempfile_in(directory).map_err(failed)?;
        draft.write_all(bytes).map_err(failed)?;
        if self.bytes.is_some() {
            let about = fs::symlink_metadata(path).map_err(failed)?;
            keep_owner(draft.as_file(), &about).map_err(failed)?;
        }
        draft.as_file().sync_all().map_err(failed)?;
        self.check_unchanged()?;
        let placed = match &self.bytes {
            Some(_) => draft.persist(path),
            // Nothing that came in the meantime is lost.
            None => draft.persist_noclobber(path),
        };
        placed.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Refusal::new(CHANGED, AGAIN),
            _ => failed(error.error),
        })?;
        match read(path)? {
            Some(written) if written == bytes => Ok(()),
            _ => Err(Refusal::new(CHANGED, AGAIN)),
        }
    }

    /// Removes the file, if it is still as it was found.
    pub(crate) fn remove(&self) -> Result<(), Refusal> {
        self.check_unchanged()?;
        let removed = fs::remove_file(&self.path);
        removed.map_err(|error| Refusal::of_io(&self.path, "removed", &error))
    }

    fn check_unchanged(&self) -> Result<(), Refusal> {
        match read(&self.path)? == self.bytes {
            true => Ok(()),
            false => Err(Refusal::new(CHANGED, AGAIN)),
        }
    }
}

/// Reads a file that is none of the special ones, and no link.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
    let failed = |error: io::Error| Refusal::of_io(path, "read", &error);
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about.map_err(failed)?,
    };
    let special = || Refusal::new("it is not a file", "move what is there away");
    if !about.is_file() {
        return Err(special());
    }
    // Should it be exchanged now, neither a link is followed nor a pipe waited for.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(special());
    }
    if about.len() > MAX_LEN {
        return Err(Refusal::new("it is too large", "is it the right file?"));
    }
    if about.mode() & 0o200 == 0 {
        return Err(Refusal::new(
            "it is read-only",
            "another program may keep it; change it there, or make it writable",
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Mode, owner and group of another file.
fn keep_owner(draft: &File, about: &fs::Metadata) -> io::Result<()> {
    let new = draft.metadata()?;
    if (new.uid(), new.gid()) != (about.uid(), about.gid()) {
        let (owner, group) = (Uid::from_raw(about.uid()), Gid::from_raw(about.gid()));
        rustix::fs::fchown(draft, Some(owner), Some(group))?;
    }
    draft.set_permissions(Permissions::from_mode(about.mode() & 0o7777))
}

/// Without links, for what is not there yet.
fn real_as_far_as_there(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|it| fs::symlink_metadata(it).is_ok());
    let Some(there) = there else {
        return path.to_owned();
    };
    let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
    match rest.as_os_str().is_empty() {
        true => real(there),
        false => real(there).join(rest),
    }
}

//! Directories in which commands may make files while what is there stays as it is.
//!
//! Programs replace a file by writing a new one beside it and renaming that. So the directory itself has to be writable; all
//! that is in it becomes a mount, which can neither be written nor replaced.

use std::io;
use std::path::PathBuf;

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use super::mounts::{Tree, open_real};
use super::{READ_ONLY, named};
use crate::policy::LockPlace;

/// Ends of names that programs use for what they are about to put in the place of something.
const PASSING: [&str; 2] = [".lock", ".new"];

/// What is in the directory now and cannot be written, opened.
pub(super) fn fixed_entries(place: &LockPlace) -> io::Result<Vec<(PathBuf, Tree, u64)>> {
    let directory = &place.directory;
    let read = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = openat(open_real(directory)?, ".", read, Mode::empty());
    let entries = open.and_then(Dir::read_from);
    let entries = entries.map_err(|error| named(error, directory.display()))?;
    let mut fixed = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| named(error, directory.display()))?;
        let name = entry.file_name().to_string_lossy();
        let passes = PASSING.iter().any(|end| name.ends_with(end));
        let is_replaced = place.replaced.iter().any(|it| *it == name);
        // A link could be replaced, whatever is mounted where it leads.
        let is_link = entry.file_type() == FileType::Symlink;
        if [".", ".."].contains(&&*name) || passes || is_replaced || is_link {
            continue;
        }
        let path = directory.join(&*name);
        match Tree::of(&path) {
            Ok(tree) => fixed.push((path, tree, READ_ONLY)),
            // Gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(fixed)
}

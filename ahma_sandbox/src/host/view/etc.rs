//! What every user may read of `/etc`, put into a view.
//!
//! The server says which paths; here the mode of each is looked at again. One that is not public any more is left out.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, lstat, readlinkat, symlinkat};

use super::mounts::{Kind, Places};
use super::{View, named};
use crate::public_etc::{PublicPath, is_public};

impl View {
    /// Adds it. The mounts are not read-only yet.
    pub(super) fn add_etc(&self, paths: &[PublicPath]) -> io::Result<()> {
        let mut places = Places::below(&self.root);
        for path in paths {
            match path {
                PublicPath::Link(path) => link(&mut places, path),
                PublicPath::Tree(path) => mount(&mut places, path),
            }?;
        }
        Ok(())
    }
}

fn link(places: &mut Places<'_>, path: &Path) -> io::Result<()> {
    let Ok(target) = readlinkat(CWD, path, Vec::new()) else {
        return Ok(());
    };
    let Some((directory, name)) = places.directory_of(path)? else {
        return Ok(());
    };
    symlinkat(target.as_c_str(), directory, name).map_err(|error| named(error, path.display()))
}

fn mount(places: &mut Places<'_>, path: &Path) -> io::Result<()> {
    let Ok(about) = lstat(path) else {
        return Ok(());
    };
    if !is_public(about.st_mode) {
        return Ok(());
    }
    let kind = match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => Kind::Directory,
        _ => Kind::File,
    };
    places.bind(path, kind)
}

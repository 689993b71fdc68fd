//! What every user may read of `/etc`, put into a view.
//!
//! The server says which paths; here the mode of each is looked at again. One that is not public any more is left out.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, readlinkat, symlinkat};

use super::mounts::{Places, Tree};
use super::{View, named};
use crate::public_etc::PublicPath;

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
    match Tree::of_public(path)? {
        Some(tree) => places.attach(tree, path),
        None => Ok(()),
    }
}

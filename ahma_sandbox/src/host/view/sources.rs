//! What goes into a view: found, and what commands could exchange opened, before anything is mounted.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::mounts::{Kind, Tree};
use super::{READ_ONLY, caches};
use crate::policy::SandboxPolicy;
use crate::system_paths::{DEVICES, PROC_FILES, PROGRAMS, READABLE};

/// What every view holds.
pub(super) struct Sources {
    pub(super) system: Vec<(PathBuf, SystemPath)>,
    pub(super) devices: Vec<(PathBuf, Tree)>,
    pub(super) proc_files: Vec<(PathBuf, Tree)>,
}

pub(super) enum SystemPath {
    /// `/bin` and the like are links into `/usr` on most systems.
    Link(PathBuf),
    /// Whatever it leads to.
    Real(Kind),
}

impl Sources {
    pub(super) fn open() -> io::Result<Self> {
        let existing = |names: &[&'static str]| -> io::Result<Vec<(PathBuf, Tree)>> {
            let trees = names
                .iter()
                .map(|name| Ok((name, Tree::of_system(Path::new(name))?)));
            let there = trees.filter_map(|found: io::Result<_>| match found {
                Ok((name, tree)) => tree.map(|tree| Ok((PathBuf::from(name), tree))),
                Err(error) => Some(Err(error)),
            });
            there.collect()
        };
        let mut system = Vec::new();
        for path in PROGRAMS.iter().map(Path::new).filter(|path| path.exists()) {
            let source = match path.read_link() {
                Ok(link) => Some(SystemPath::Link(link)),
                Err(_) => kind_of(path).map(SystemPath::Real),
            };
            system.extend(source.map(|source| (path.to_owned(), source)));
        }
        for path in READABLE.iter().map(Path::new) {
            let source = kind_of(path).map(SystemPath::Real);
            system.extend(source.map(|source| (path.to_owned(), source)));
        }
        Ok(Sources {
            system,
            devices: existing(&DEVICES)?,
            proc_files: existing(&PROC_FILES)?,
        })
    }
}

/// What a path of the system leads to; nothing when it is not there.
fn kind_of(path: &Path) -> Option<Kind> {
    let about = path.metadata().ok()?;
    Some(match about.is_dir() {
        true => Kind::Directory,
        false => Kind::File,
    })
}

/// What a policy adds, opened.
pub(super) struct Granted {
    /// With their flags, in an order in which later ones may lie below earlier ones.
    pub(super) paths: Vec<(PathBuf, Tree, u64)>,
    pub(super) caches: Vec<(PathBuf, Tree)>,
}

impl Granted {
    pub(super) fn open(policy: &SandboxPolicy) -> io::Result<Self> {
        let writable: Vec<&PathBuf> = policy.write.iter().chain([&policy.scope]).collect();
        let scope_flags = if policy.read_only { READ_ONLY } else { 0 };
        let is_covered = |path: &Path, by: &[&PathBuf]| by.iter().any(|it| path.starts_with(it));
        let mut paths = Vec::new();
        // What can be written can be read.
        for path in policy
            .read
            .iter()
            .filter(|path| !is_covered(path, &writable))
        {
            paths.push((path.clone(), Tree::of(path)?, READ_ONLY));
        }
        for path in &writable {
            let others: Vec<&PathBuf> = writable.iter().copied().filter(|it| it != path).collect();
            if !is_covered(path, &others) {
                paths.push(((*path).clone(), Tree::of(path)?, scope_flags));
            }
        }
        paths.sort_by_key(|(path, ..)| path.components().count());
        // Last, because something around them may be granted for reading.
        for (path, flags) in [(policy.home(), scope_flags), (policy.temporary(), 0)] {
            paths.push((path.clone(), Tree::of(&path)?, flags));
        }
        let caches = caches::open(policy);
        Ok(Granted { paths, caches })
    }
}

/// Which file or directory a path is: where it is a link, also to what. None when it is not there.
pub(super) type Identity = Option<(u64, u64, Option<PathBuf>)>;

/// What the paths of the system are now. A file that another one took the place of would stay the old one in a view.
pub(super) fn system_identities() -> Vec<Identity> {
    identities(PROGRAMS.iter().chain(&READABLE).map(Path::new))
}

fn identities<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<Identity> {
    let identity = |path: &Path| {
        let about = path.metadata().ok()?;
        Some((about.dev(), about.ino(), path.read_link().ok()))
    };
    paths.map(identity).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may wait")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Proves: S49.
    #[test]
    fn what_takes_the_place_of_a_file_is_another_one() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let now = || identities([path("file"), path("link")].iter().map(PathBuf::as_path));
        let nothing = now();
        assert_eq!(nothing, [None, None]);
        fs::write(path("file"), "one").unwrap();
        symlink("file", path("link")).unwrap();
        let first = now();
        assert_ne!(first, nothing);
        // A file that is written to is still the same, and a view shows what is in it.
        fs::write(path("file"), "two").unwrap();
        assert_eq!(now(), first);
        fs::write(path("new"), "three").unwrap();
        fs::rename(path("new"), path("file")).unwrap();
        let second = now();
        assert_ne!(second, first);
        symlink("./file", path("new")).unwrap();
        fs::rename(path("new"), path("link")).unwrap();
        assert_ne!(now(), second);
    }
}

//! Resolves a path and rejects it if any component or symbolic link lies where commands can write.
//!
//! Where a link leads says nothing about who made it: one in a place that commands can write may lead anywhere next
//! time. May block.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// The real path of an existing path, when no component of the way to it is below one of these places.
pub(super) fn resolve_outside(path: &Path, places: &[PathBuf]) -> Option<PathBuf> {
    let is_inside = |step: &Path, _is_link| places.iter().any(|place| step.starts_with(place));
    let real = walk(path, is_inside).ok()?;
    fs::symlink_metadata(&real).is_ok().then_some(real)
}

/// The first link on the way to a path that lies below one of these places: whoever can write there decides where the
/// path leads.
#[cfg(feature = "cli")]
pub(crate) fn link_in_reach(path: &Path, places: &[PathBuf]) -> Option<PathBuf> {
    let is_theirs = |step: &Path, is_link: bool| {
        let above = step.parent().unwrap_or(step);
        is_link && places.iter().any(|place| above.starts_with(place))
    };
    walk(path, is_theirs).err()
}

/// Goes to an absolute path step by step, following links as the kernel does: where it leads, or the first step that is
/// refused. A step is told with whether it is a link.
fn walk(path: &Path, is_refused: impl Fn(&Path, bool) -> bool) -> Result<PathBuf, PathBuf> {
    let mut real = PathBuf::from("/");
    let relative = path.strip_prefix("/").map_err(|_| path.to_owned())?;
    let mut rest: VecDeque<OsString> = names(relative);
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let step = real.join(&name);
        let target = fs::read_link(&step).ok();
        links += usize::from(target.is_some());
        if links > MAX_LINKS || is_refused(&step, target.is_some()) {
            return Err(step);
        }
        let Some(target) = target else {
            real = step;
            continue;
        };
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            rest.push_front(name);
        }
    }
    Ok(real)
}

/// Whether commands can write to a path, or could put something in its place, or in the place of a link on the way to it.
#[cfg(feature = "downstream")]
pub(crate) fn in_reach(path: &Path, writable: &[PathBuf]) -> bool {
    let mut ways = path.ancestors();
    let existing = ways.find(|it| it.symlink_metadata().is_ok());
    existing.is_none_or(|existing| resolve_outside(existing, writable).is_none())
}

/// Where a path leads, as far as there is something.
#[cfg(feature = "cli")]
pub(crate) fn real_as_far_as_it_exists(path: &Path) -> PathBuf {
    let mut above = path.ancestors();
    let existing = above.find_map(|it| Some((it, it.canonicalize().ok()?)));
    match existing {
        Some((existing, real)) => {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            real.join(rest)
        }
        None => path.to_owned(),
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Places {
        _base: tempfile::TempDir,
        root: PathBuf,
    }

    impl Places {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            for name in ["project", "home/.ssh", "home/cache"] {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            Places { _base: base, root }
        }

        fn real(&self, path: &str) -> Option<PathBuf> {
            resolve_outside(&self.root.join(path), &[self.root.join("project")])
        }
    }

    #[test]
    fn what_is_outside_by_every_step_is_resolved() {
        let places = Places::new();
        symlink("cache", places.root.join("home/link")).unwrap();
        symlink(
            places.root.join("home/link"),
            places.root.join("home/again"),
        )
        .unwrap();
        for path in [
            "home/cache",
            "home/link",
            "home/again",
            "home/../home/./cache",
        ] {
            assert_eq!(
                places.real(path),
                Some(places.root.join("home/cache")),
                "{path}"
            );
        }
    }

    #[test]
    fn a_link_that_commands_could_have_made_leads_nowhere() {
        let places = Places::new();
        let ssh = places.root.join("home/.ssh");
        symlink(&ssh, places.root.join("project/cache")).unwrap();
        symlink(
            places.root.join("project/cache"),
            places.root.join("home/to-it"),
        )
        .unwrap();
        symlink("../project", places.root.join("home/around")).unwrap();
        for path in [
            "project/cache",
            "project",
            "home/to-it",
            "home/around/cache",
            "project/../home/cache",
        ] {
            assert_eq!(places.real(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_not_there_or_turns_in_circles_leads_nowhere() {
        let places = Places::new();
        symlink("circle", places.root.join("home/circle")).unwrap();
        for path in ["home/missing", "home/circle"] {
            assert_eq!(places.real(path), None, "{path}");
        }
        assert_eq!(resolve_outside(Path::new("relative"), &[]), None);
    }
}

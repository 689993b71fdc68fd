//! Whether the way to a path can be changed by commands.
//!
//! What a link leads to says nothing about who made the link. So every step of the way is looked at: a
//! link, or a directory, in a place that commands can write may lead anywhere next time.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// The real path of an existing path, when no step of the way to it is below a place of these.
pub(super) fn real_path_outside(path: &Path, places: &[PathBuf]) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut rest: VecDeque<OsString> = names(path.strip_prefix("/").ok()?);
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let step = real.join(&name);
        if places.iter().any(|place| step.starts_with(place)) {
            return None;
        }
        match fs::read_link(&step) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for name in names(&target).into_iter().rev() {
                    rest.push_front(name);
                }
            }
            Err(_) => real = step,
        }
    }
    fs::symlink_metadata(&real).is_ok().then_some(real)
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
            real_path_outside(&self.root.join(path), &[self.root.join("project")])
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
        assert_eq!(real_path_outside(Path::new("relative"), &[]), None);
    }
}

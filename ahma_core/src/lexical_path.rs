//! Paths by their letters. Takes `.` and `..` out of them. Must not look at the disk: where a link is on the way, the result
//! may be another place than the kernel would find.

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`; nothing is above the root.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_taken_out_and_nothing_is_above_the_root() {
        for (path, expected) in [
            ("/a/./b/../c", "/a/c"),
            ("/a/b/../../..", "/"),
            ("/../a", "/a"),
            ("/a//b/", "/a/b"),
            ("./a/../b", "b"),
            ("../a", "a"),
            ("", ""),
        ] {
            assert_eq!(normal(Path::new(path)).as_os_str(), expected, "{path}");
        }
    }
}

//! Where this process is among the cgroups of the machine, and which of them are delegated.
//!
//! Reads what the kernel shows. Must not change anything.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access, getxattr, stat};
use rustix::process::geteuid;

/// The directories that may be used, the nearest first; or why there are none.
pub(super) fn delegated_places() -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: io::Error| format!("/proc cannot be read: {error}");
    let groups = read("/proc/self/cgroup").map_err(unreadable)?;
    let mounts = read("/proc/self/mountinfo").map_err(unreadable)?;
    let (mount, own) = own_directory(&groups, &mounts)
        .ok_or("the machine has no cgroups of version 2 that this process is in")?;
    let above: Vec<&Path> = own
        .ancestors()
        .take_while(|it| it.starts_with(&mount))
        .collect();
    let found = match above.iter().position(|place| is_delegated_unit(place)) {
        // Everything below belongs to whoever it was given to.
        Some(last) => above
            .iter()
            .take(last + 1)
            .map(|it| (*it).to_owned())
            .collect(),
        // As in a container of an ordinary user.
        None if is_owned(&own) => vec![own.clone()],
        None => Vec::new(),
    };
    match found.is_empty() {
        true => Err(format!(
            "the cgroup of this process ({}) is not delegated to its user",
            own.display()
        )),
        false => Ok(found),
    }
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
fn read(path: &str) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Whether whoever manages the cgroups of the machine has given this one away, to somebody else than another manager: what a user's
/// own systemd has below itself is its, and has limits that must not be left.
fn is_delegated_unit(place: &Path) -> bool {
    let is_marked = ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0_u8; 2];
        getxattr(place, *name, &mut value[..]).is_ok_and(|length| value.get(..length) == Some(b"1"))
    });
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    is_marked && !(name.starts_with("user@") && name.ends_with(".service"))
}

/// Whether it belongs to the user of this process, who is not root.
fn is_owned(place: &Path) -> bool {
    let own = geteuid();
    let is_owner = stat(place).is_ok_and(|it| it.st_uid == own.as_raw());
    !own.is_root() && is_owner && access(place, Access::WRITE_OK).is_ok()
}

/// Where cgroups of version 2 are shown, and the directory of the own one there.
fn own_directory(groups: &[u8], mounts: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let own = groups
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"0::"))?;
    let own = Path::new(OsStr::from_bytes(own));
    let mut lines = mounts.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let (root, mount) = (unescaped(fields.get(3)?), unescaped(fields.get(4)?));
        let after = fields.iter().position(|field| *field == b"-")?;
        if *fields.get(after + 1)? != b"cgroup2" {
            return None;
        }
        let below = own.strip_prefix(&root).ok()?;
        // A process outside of what is mounted here is shown with `..`.
        let is_plain = below
            .components()
            .all(|it| matches!(it, Component::Normal(_)));
        is_plain.then(|| (mount.clone(), mount.join(below)))
    })
}

/// A path as the kernel writes it into tables: blanks and the like as octal numbers.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *byte == b'\\');
        let number = digits
            .and_then(|it| std::str::from_utf8(it).ok())
            .and_then(|it| u8::from_str_radix(it, 8).ok());
        (rest, ()) = match number {
            Some(number) => (after.get(3..).unwrap_or_default(), path.push(number)),
            None => (after, path.push(*byte)),
        };
    }
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: S75.
    #[test]
    fn the_own_directory_is_found_where_it_is_mounted() {
        let found = |groups: &str, mounts: &str| {
            own_directory(groups.as_bytes(), mounts.as_bytes())
                .map(|(_, own)| own.display().to_string())
        };
        let unified = "29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
        let hybrid = "30 22 0:20 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let inside = "31 22 0:27 /box /my\\040groups rw - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/x\n0::/user.slice/app.scope\n";
        for (groups, mounts, expected) in [
            (groups, unified, Some("/sys/fs/cgroup/user.slice/app.scope")),
            (
                groups,
                hybrid,
                Some("/sys/fs/cgroup/unified/user.slice/app.scope"),
            ),
            ("0::/\n", unified, Some("/sys/fs/cgroup/")),
            ("0::/box/a\n", inside, Some("/my groups/a")),
            ("0::/other\n", inside, None),
            ("0::/../outside\n", unified, None),
            ("4:memory:/x\n", hybrid, None),
            (
                groups,
                "30 22 0:20 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n",
                None,
            ),
        ] {
            assert_eq!(
                found(groups, mounts).as_deref(),
                expected,
                "{groups:?} {mounts:?}"
            );
        }
    }
}

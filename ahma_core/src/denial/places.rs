//! Where a path lies: in the scope, in the private home, in what is granted, in the system, or outside.
//!
//! Compares names only. Must not look at the disk.

use std::path::{Path, PathBuf};

use super::view::View;
use crate::lexical_path::normal;

/// Where a path lies, for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the scope.
    Scope,
    /// In the scope or in a grant, below a protected path, or above one: that one.
    Protected(PathBuf),
    /// In the private home: where the same name is in the user's.
    Home(PathBuf),
    /// Among temporary files, which are the command's own.
    Temporary,
    /// In a path that was granted for writing.
    Writable,
    /// In a path that was granted for reading: that one.
    Readable(PathBuf),
    /// In what every command can read of the system.
    System,
    /// `/proc` and `/dev`.
    Kernel,
    /// A directory on the way to something visible: there, and not writable.
    Way,
    /// Nowhere that a command can see.
    Outside,
}

/// What a name in a command or in its output means, as an absolute path.
pub(super) fn resolve(name: &str, directory: &Path, view: &View<'_>) -> Option<PathBuf> {
    let name = name.trim();
    if name.is_empty() || name.len() > 4096 || name.contains(['\n', '\0']) {
        return None;
    }
    let schemes = [
        "file://localhost",
        "file://",
        "unix://",
        "unix:",
        "sqlite:///",
    ];
    let plain = schemes.iter().find_map(|scheme| name.strip_prefix(scheme));
    let name = plain.unwrap_or(name);
    if name.contains("://") || name.starts_with("//") {
        return None;
    }
    let of_home = ["~", "$HOME", "${HOME}"];
    let below_home = of_home.iter().find_map(|home| name.strip_prefix(home));
    let path = match below_home {
        Some("") => view.private_home.to_owned(),
        Some(rest) if rest.starts_with('/') => view.private_home.join(rest.trim_start_matches('/')),
        _ => directory.join(name),
    };
    path.is_absolute().then(|| normal(&path))
}

/// Where a path lies.
pub(super) fn place(path: &Path, view: &View<'_>) -> Place {
    if let Some(protected) = protected(path, view) {
        return Place::Protected(protected);
    }
    if path.starts_with(view.scope) {
        return Place::Scope;
    }
    if let Ok(below) = path.strip_prefix(view.private_home) {
        let real = view.user_home.map(|home| normal(&home.join(below)));
        return real.map_or(Place::Temporary, Place::Home);
    }
    if view.grants_write.iter().any(|it| path.starts_with(it)) {
        return Place::Writable;
    }
    if let Some(grant) = view.grants_read.iter().find(|it| path.starts_with(it)) {
        return Place::Readable(grant.clone());
    }
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    // A directory above the scope may be called /tmp; commands see a /tmp of their own there. What is in the user's home is
    // outside, wherever that home is.
    let is_of_home = view.user_home.is_some_and(|home| path.starts_with(home));
    let is_temporary = !is_of_home && temporary.iter().any(|it| path.starts_with(it));
    if path.starts_with(view.private_tmp) || is_temporary {
        return Place::Temporary;
    }
    if path.starts_with("/proc") || is_visible_device(path) {
        return Place::Kernel;
    }
    if view.readable.iter().any(|it| path.starts_with(it)) {
        return Place::System;
    }
    let visible = [view.scope]
        .into_iter()
        .chain(view.readable.iter().map(PathBuf::as_path));
    let granted = view
        .grants_read
        .iter()
        .chain(view.grants_write)
        .map(PathBuf::as_path);
    if visible.chain(granted).any(|it| it.starts_with(path)) {
        return Place::Way;
    }
    Place::Outside
}

/// Whether a path is among the few devices that commands have, or a name below `/dev` that is none.
fn is_visible_device(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/dev") else {
        return false;
    };
    let devices = [
        "null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "fd",
        "stdin", "stdout", "stderr", "tcp", "udp", "core", "mqueue",
    ];
    let first = below.components().next();
    first.is_none_or(|first| devices.iter().any(|device| first.as_os_str() == *device))
}

/// The protected path that a path is in, is, or holds.
fn protected(path: &Path, view: &View<'_>) -> Option<PathBuf> {
    let is_root_of = |path: &Path| {
        path == view.scope
            || view.grants_write.iter().any(|it| it == path)
            || view.scope.starts_with(path)
    };
    let mut all = view.protected.iter();
    let found = all.find(|it| path.starts_with(it) || (it.starts_with(path) && !is_root_of(path)));
    found.cloned()
}

/// Whether only root may read a path on an ordinary machine.
pub(super) fn is_for_root_only(path: &Path) -> bool {
    let paths = [
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/gshadow",
        "/etc/gshadow-",
        "/etc/sudoers",
        "/etc/sudoers.d",
        "/etc/ssl/private",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssh/ssh_host_ecdsa_key",
        "/etc/ssh/ssh_host_ed25519_key",
        "/etc/security/opasswd",
        "/root",
        "/lost+found",
        "/var/lib/private",
        "/var/spool/cron/crontabs",
        "/var/log/btmp",
        "/var/log/audit",
        "/var/lib/docker",
        "/var/lib/mysql",
        "/sys/kernel/debug",
        "/boot/efi",
    ];
    paths.iter().any(|it| path.starts_with(it)) || is_raw_device(path)
}

/// Whether a path is a disk, or the memory or the log of the machine: what no grant opens for commands.
pub(super) fn is_raw_device(path: &Path) -> bool {
    let devices = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "mapper/", "disk/", "mem",
        "kmsg", "port",
    ];
    let below = path.strip_prefix("/dev").ok().and_then(Path::to_str);
    below.is_some_and(|below| devices.iter().any(|it| below.starts_with(it)))
}

/// Whether only root may write a path on an ordinary machine.
pub(super) fn is_written_by_root_only(path: &Path) -> bool {
    let directories = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/var",
        "/boot", "/root", "/sys", "/proc", "/dev", "/run", "/nix",
    ];
    let is_top = path
        .parent()
        .is_none_or(|parent| parent == Path::new("/") || parent == Path::new("/home"));
    is_top || directories.iter().any(|it| path.starts_with(it))
}

/// Shell quotes, where they are needed.
pub(super) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    shell_words::quote(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::view::{Limits, Network};
    use super::*;

    fn with_view(check: impl Fn(&View<'_>)) {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        let (read, write) = (paths(&["/srv/data"]), paths(&["/home/me/src/lib"]));
        let protected = paths(&["/home/me/src/app/.git/hooks"]);
        let readable = paths(&["/usr", "/etc/hosts"]);
        check(&View {
            scope: Path::new("/home/me/src/app"),
            private_home: Path::new("/tmp/ahma-1/home"),
            private_tmp: Path::new("/tmp/ahma-1/tmp"),
            user_home: Some(Path::new("/home/me")),
            is_root: false,
            network: Network::On,
            read_only: false,
            restrictions_known: true,
            grants_read: &read,
            grants_write: &write,
            protected: &protected,
            readable: &readable,
            limits: Limits::default(),
            deadline: None,
        });
    }

    #[test]
    fn a_path_lies_in_what_holds_it() {
        with_view(|view| {
            for (path, expected) in [
                ("/home/me/src/app/x", Place::Scope),
                ("/home/me/src/app", Place::Scope),
                ("/home/me/src/app-git", Place::Outside),
                (
                    "/home/me/src/app/.git/hooks/x",
                    Place::Protected("/home/me/src/app/.git/hooks".into()),
                ),
                (
                    "/home/me/src/app/.git",
                    Place::Protected("/home/me/src/app/.git/hooks".into()),
                ),
                ("/home/me/src/app/.git/index", Place::Scope),
                (
                    "/tmp/ahma-1/home/.ssh/id",
                    Place::Home("/home/me/.ssh/id".into()),
                ),
                ("/tmp/x", Place::Temporary),
                ("/home/me/src/lib/x", Place::Writable),
                ("/srv/data/x", Place::Readable("/srv/data".into())),
                ("/usr/lib/x", Place::System),
                ("/etc/hosts", Place::System),
                ("/etc/shadow", Place::Outside),
                ("/proc/1", Place::Kernel),
                ("/home/me/src", Place::Way),
                ("/home/me/Documents", Place::Outside),
            ] {
                assert_eq!(place(Path::new(path), view), expected, "{path}");
            }
        });
    }

    #[test]
    fn names_are_resolved_as_a_command_would() {
        with_view(|view| {
            let directory = Path::new("/home/me/src/app/sub");
            for (name, expected) in [
                ("x", Some("/home/me/src/app/sub/x")),
                ("../../lib/x", Some("/home/me/src/lib/x")),
                ("~/x", Some("/tmp/ahma-1/home/x")),
                ("~", Some("/tmp/ahma-1/home")),
                ("/a/./b/../c", Some("/a/c")),
                ("file:///a/b", Some("/a/b")),
                ("unix:///run/x.sock", Some("/run/x.sock")),
                ("https://x.org/a", None),
                ("// comment", None),
                ("", None),
            ] {
                let path = resolve(name, directory, view);
                assert_eq!(path, expected.map(PathBuf::from), "{name}");
            }
        });
    }
}

//! What every command may read of the system, besides what the policy grants.
//!
//! Programs and libraries, what every user may read of `/etc`, a few facts about the machine. No home directories, no
//! `/run`, no `/var`, no secrets.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use crate::public_etc::{PublicEtc, PublicPath};

/// Directories with programs and libraries: read and execute. Missing ones are skipped.
pub(crate) const PROGRAMS: [&str; 8] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/opt",
    "/nix/store",
    "/run/current-system/sw",
];

/// Whether a path lies in what every command may read and execute.
pub fn is_system_path(path: &Path) -> bool {
    PROGRAMS.iter().any(|directory| path.starts_with(directory))
}

/// Everything that every command may read of the system, beside `/proc` and devices. Looks at `/etc`, and blocks.
#[cfg(target_os = "linux")]
pub fn readable_system_paths() -> Vec<PathBuf> {
    let fixed = PROGRAMS.iter().chain(&READABLE).map(PathBuf::from);
    let of_etc = PublicEtc::look();
    let of_etc = of_etc
        .paths
        .iter()
        .map(|(PublicPath::Link(path) | PublicPath::Tree(path))| path.clone());
    fixed.chain(of_etc).collect()
}

/// On macOS commands read everything.
#[cfg(not(target_os = "linux"))]
pub fn readable_system_paths() -> Vec<PathBuf> {
    vec![PathBuf::from("/")]
}

/// Whether every command may read a path.
#[cfg(target_os = "linux")]
pub(crate) fn is_readable(path: &Path) -> bool {
    is_system_path(path) || READABLE.iter().any(|readable| path.starts_with(readable))
}

/// On macOS commands read everything.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_readable(_: &Path) -> bool {
    true
}

/// Files and directories that are only read. Missing ones are skipped. Of `/etc` those that must be what they are now,
/// links to elsewhere among them; for the rest see [`public_etc`](crate::public_etc).
#[cfg(target_os = "linux")]
pub(crate) const READABLE: [&str; 19] = [
    "/etc/ld.so.cache",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted",
    "/etc/default/locale",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/fs/cgroup/cgroup.controllers",
];

/// Files of `/proc` that tell about the machine, not about processes. Used where a command has no
/// `/proc` of its own.
#[cfg(target_os = "linux")]
pub(crate) const PROC_FILES: [&str; 11] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/version",
    "/proc/filesystems",
    "/proc/uptime",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/vm/overcommit_memory",
];

/// Devices that hold nothing of anyone.
#[cfg(target_os = "linux")]
pub(crate) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/urandom",
    "/dev/random",
];

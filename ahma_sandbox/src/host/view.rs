//! The file system as commands see it: only what was granted exists.
//!
//! Built inside fresh user and mount namespaces on a small tmpfs: system directories read-only, the
//! scope and a private temporary directory writable, a few devices. Ends with the view as root.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    unmount,
};
use rustix::process::{chdir, pivot_root};

use super::sys::set_mount_flags;
use crate::policy::SandboxPolicy;
use crate::system_paths::{DEVICES, PROC_FILES, PROGRAMS, READABLE};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_SETUID_NO_DEVICES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// What the view came out as.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What could not be had; the view works without it.
    pub(super) missing: Missing,
    /// Protected paths that exist and cannot be written in the view.
    pub(super) protected: Vec<PathBuf>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) proc: Option<String>,
    pub(super) pseudo_terminals: Option<String>,
}

/// Builds the view and makes it the root of this process.
pub(super) fn enter(policy: &SandboxPolicy) -> io::Result<Outcome> {
    let everything = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", everything).map_err(|error| named(error, "/"))?;
    let root = policy.session.join("root");
    make_directory(&root)?;
    let small = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", &root, "tmpfs", small, c"mode=755,size=4m")
        .map_err(|error| named(error, root.display()))?;

    let view = View { root };
    let mut missing = Missing::default();
    view.add_system()?;
    view.add_devices(&mut missing)?;
    view.add_proc(&mut missing)?;
    // Private temporary files first: the scope may lie below /tmp.
    view.bind_at(&policy.temporary(), Path::new("/tmp"), NO_SETUID_NO_DEVICES)?;
    view.bind(&policy.home(), NO_SETUID_NO_DEVICES)?;
    view.bind(&policy.temporary(), NO_SETUID_NO_DEVICES)?;
    for path in &policy.read {
        view.bind(path, READ_ONLY | NO_SETUID_NO_DEVICES)?;
    }
    for path in policy.write.iter().chain([&policy.scope]) {
        view.bind(path, NO_SETUID_NO_DEVICES)?;
    }
    let protected = view.protect(policy)?;
    view.become_root()?;
    Ok(Outcome { missing, protected })
}

struct View {
    root: PathBuf,
}

impl View {
    fn inside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn add_system(&self) -> io::Result<()> {
        for path in PROGRAMS.iter().chain(&READABLE).map(Path::new) {
            match fs::symlink_metadata(path) {
                // `/bin` and the like are links into `/usr` on most systems.
                Ok(kind) if kind.is_symlink() && PROGRAMS.iter().any(|dir| path == *dir) => {
                    symlink(fs::read_link(path)?, self.inside(path))?;
                }
                Ok(_) if path.exists() => self.bind(path, READ_ONLY | NO_SETUID_NO_DEVICES)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_devices(&self, missing: &mut Missing) -> io::Result<()> {
        for device in DEVICES {
            self.bind(Path::new(device), 0)?;
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, self.inside(Path::new("/dev")).join(name))?;
        }
        let quiet = MountFlags::NOSUID | MountFlags::NOEXEC;
        let shared_memory = self.inside(Path::new("/dev/shm"));
        make_directory(&shared_memory)?;
        mount(
            "tmpfs",
            &shared_memory,
            "tmpfs",
            quiet | MountFlags::NODEV,
            c"mode=1777,size=256m",
        )
        .map_err(|error| named(error, "/dev/shm"))?;
        let terminals = self.inside(Path::new("/dev/pts"));
        make_directory(&terminals)?;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        if let Err(error) = mount("devpts", &terminals, "devpts", quiet, options) {
            missing.pseudo_terminals = Some(error.to_string());
        }
        Ok(())
    }

    /// A `/proc` of the host's own namespace. Each command mounts a fresh one over it, which the
    /// kernel allows only where one is visible already.
    fn add_proc(&self, missing: &mut Missing) -> io::Result<()> {
        let proc = self.inside(Path::new("/proc"));
        make_directory(&proc)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        if let Err(error) = mount("proc", &proc, "proc", flags, None) {
            missing.proc = Some(error.to_string());
            for file in PROC_FILES
                .iter()
                .map(Path::new)
                .filter(|file| file.exists())
            {
                self.bind(file, READ_ONLY)?;
            }
        }
        Ok(())
    }

    fn bind(&self, path: &Path, flags: u64) -> io::Result<()> {
        self.bind_at(path, path, flags)
    }

    fn bind_at(&self, source: &Path, at: &Path, flags: u64) -> io::Result<()> {
        let target = self.inside(at);
        if fs::metadata(source)
            .map_err(|error| named(error, source.display()))?
            .is_dir()
        {
            make_directory(&target)?;
        } else {
            make_directory(target.parent().unwrap_or(&self.root))?;
            fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&target)?;
        }
        mount_bind_recursive(source, &target).map_err(|error| named(error, source.display()))?;
        if flags != 0 {
            set_mount_flags(&target, flags, true)
                .map_err(|error| named(error, source.display()))?;
        }
        Ok(())
    }

    /// Makes paths read-only below what is writable. Landlock cannot take back what it granted above; a
    /// mount can.
    fn protect(&self, policy: &SandboxPolicy) -> io::Result<Vec<PathBuf>> {
        let roots: Vec<&PathBuf> = policy.write.iter().chain([&policy.scope]).collect();
        let mut protected = Vec::new();
        for path in &policy.protect {
            let root = roots
                .iter()
                .find(|root| path.starts_with(root) && path != **root);
            let Some(root) = root.filter(|_| is_real(path)) else {
                continue;
            };
            // Each directory on the way is a mount too: it could otherwise be moved away, and another
            // one be put in its place.
            let mut ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
            ancestors.retain(|ancestor| ancestor.starts_with(root) && ancestor != &root.as_path());
            for ancestor in ancestors.into_iter().rev() {
                self.bind_onto_itself(ancestor)?;
            }
            self.bind_onto_itself(path)?;
            let target = self.inside(path);
            set_mount_flags(&target, READ_ONLY | NO_SETUID_NO_DEVICES, true)
                .map_err(|error| named(error, path.display()))?;
            protected.push(path.clone());
        }
        Ok(protected)
    }

    fn bind_onto_itself(&self, path: &Path) -> io::Result<()> {
        let target = self.inside(path);
        mount_bind_recursive(&target, &target).map_err(|error| named(error, path.display()))
    }

    fn become_root(&self) -> io::Result<()> {
        // Nothing more is added: the tmpfs itself becomes read-only.
        set_mount_flags(&self.root, READ_ONLY | NO_SETUID_NO_DEVICES, false)?;
        chdir(&self.root)?;
        pivot_root(c".", c".").map_err(|error| named(error, "the new root"))?;
        unmount(c".", UnmountFlags::DETACH).map_err(|error| named(error, "the old root"))?;
        Ok(chdir(c"/")?)
    }
}

/// Whether a path exists and no part of it is a link: a link could be replaced, whatever is mounted
/// where it leads.
fn is_real(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| named(error, path.display()))
}

/// Says which path the kernel's complaint is about.
fn named(error: impl Into<io::Error>, what: impl std::fmt::Display) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

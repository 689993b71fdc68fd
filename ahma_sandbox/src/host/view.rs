//! The file system as commands see it: only what was granted exists.
//!
//! Built inside fresh user and mount namespaces on a small tmpfs: system directories read-only, the
//! scope and private directories writable, a few devices. Ends with the view as root.
//!
//! Commands may have written to some of the directories involved, now or under an earlier host. So
//! nothing of that is done by path: what goes into the view is opened before anything is mounted, places
//! for it are found step by step below the view's own root, and no link is ever followed on the way. Only
//! what is the system's, which nobody but the administrator can exchange, is named.

mod caches;
mod etc;
mod mounts;
mod sources;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, statat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{chdir, fchdir, pivot_root};

use self::mounts::{
    Kind, Places, Tree, find_below, new_file_system, open_below, open_real, place_below,
};
use self::sources::{Granted, Identity, Sources, SystemPath, system_identities};
use super::sys::{make_writable, set_mount_flags};
use crate::policy::SandboxPolicy;
use crate::public_etc::PublicPath;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_SETUID_NO_DEVICES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Why there is no view.
#[derive(Debug)]
pub(super) enum ViewError {
    /// The machine does not let this process mount anything, or the policy leaves nothing out of the
    /// view; the other layers have to do.
    NotAllowed(String),
    /// Something else, which nobody should work around.
    Broken(String),
}

/// What the view came out as.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What could not be had; the view works without it.
    pub(super) missing: Missing,
    /// Protected paths that exist and cannot be written in the view.
    pub(super) protected: Vec<PathBuf>,
    /// Private caches that begin with what the user's hold.
    pub(super) seeded: Vec<PathBuf>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) proc: Option<String>,
    pub(super) pseudo_terminals: Option<String>,
}

/// Builds the view and makes it the root of this process.
pub(super) fn enter(policy: &SandboxPolicy, etc: &[PublicPath]) -> Result<Outcome, ViewError> {
    refuse_everything(policy)?;
    propagate(MountPropagationFlags::PRIVATE)?;
    let root = new_root()?;
    let built = || {
        // First everything that goes into the view, while paths still mean what they mean outside.
        let granted = Granted::open(policy)?;
        let frame = Frame::build(root, &policy.private_dir, etc)?;
        frame.complete(policy, granted)
    };
    built().map_err(|error| broken(&error))
}

/// There is nothing to leave out of a view then.
fn refuse_everything(policy: &SandboxPolicy) -> Result<(), ViewError> {
    let mut all = policy
        .read
        .iter()
        .chain(&policy.write)
        .chain([&policy.scope]);
    if all.any(|path| path.parent().is_none()) {
        let why = "the whole file system is granted".to_owned();
        return Err(ViewError::NotAllowed(why));
    }
    Ok(())
}

/// Whether what is mounted on the machine from now on, or not any more, is so here too.
fn propagate(how: MountPropagationFlags) -> Result<(), ViewError> {
    mount_change("/", how | MountPropagationFlags::REC)
        .map_err(|error| ViewError::NotAllowed(named(error, "/").to_string()))
}

/// What becomes the root; mounted nowhere yet.
fn new_root() -> Result<Tree, ViewError> {
    let not_allowed = |error: io::Error| ViewError::NotAllowed(error.to_string());
    let small = [("mode", "755"), ("size", "4m"), ("nr_inodes", "16k")];
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_file_system("tmpfs", &small, quiet).map_err(not_allowed)
}

fn broken(error: &io::Error) -> ViewError {
    ViewError::Broken(error.to_string())
}

/// The part of a view that is the same for every policy: system, devices, `/proc`, temporary files.
struct Frame {
    view: View,
    missing: Missing,
}

/// A frame that waits for its policy.
pub(super) struct WaitingFrame {
    frame: Frame,
    /// What the system's paths were when it was built.
    system: Vec<Identity>,
}

impl WaitingFrame {
    /// Builds it before the policy is known. `private_dir` is a private directory, where nothing is that a view will hold:
    /// the frame covers a place in it until it becomes the root.
    pub(super) fn prepare(private_dir: &Path, etc: &[PublicPath]) -> Result<Self, ViewError> {
        // While it waits: a disk that is unmounted on the machine must not stay in use here.
        propagate(MountPropagationFlags::DOWNSTREAM)?;
        // Before they are opened: what changes meanwhile is noticed later.
        let system = system_identities();
        let frame = Frame::build(new_root()?, private_dir, etc).map_err(|error| broken(&error))?;
        Ok(WaitingFrame { frame, system })
    }

    /// Adds what a policy grants, and makes it the root of this process.
    pub(super) fn enter(self, policy: &SandboxPolicy) -> Result<Outcome, ViewError> {
        refuse_everything(policy)?;
        propagate(MountPropagationFlags::PRIVATE)?;
        if system_identities() != self.system {
            let why = "files of the system have been replaced".to_owned();
            return Err(ViewError::Broken(why));
        }
        let granted = Granted::open(policy).map_err(|error| broken(&error))?;
        self.frame
            .complete(policy, granted)
            .map_err(|error| broken(&error))
    }
}

impl Frame {
    fn build(root: Tree, private_dir: &Path, etc: &[PublicPath]) -> io::Result<Self> {
        let sources = Sources::open()?;
        let private_dir = open_real(private_dir)?;
        let under = place_below(&private_dir, Path::new("root"), Kind::Directory)?;
        let root = root.attach(&under)?;

        let view = View { root };
        let mut missing = Missing::default();
        view.add_system(sources.system)?;
        view.add_etc(etc)?;
        view.make_all_read_only()?;
        view.add_devices(sources.devices, &mut missing)?;
        view.add_proc(sources.proc_files, &mut missing)?;
        // New for every host, because what was granted may lie below it. Files without content take memory of the kernel
        // that no size limits; so their number is limited too.
        let options = [("mode", "1777"), ("size", "512m"), ("nr_inodes", "64k")];
        view.mount_at(
            Path::new("/tmp"),
            "tmpfs",
            &options,
            MountAttrFlags::MOUNT_ATTR_NODEV,
        )?;
        Ok(Frame { view, missing })
    }

    fn complete(self, policy: &SandboxPolicy, sources: Granted) -> io::Result<Outcome> {
        let Frame { view, missing } = self;
        // All places first, since the ways to them become read-only; and the ways before anything is mounted there, which
        // would be taken along twice.
        for (path, tree, _) in &sources.paths {
            place_below(&view.root, path, tree.kind())?;
        }
        let paths: Vec<&Path> = sources
            .paths
            .iter()
            .map(|(path, ..)| path.as_path())
            .collect();
        view.pin_the_ways_to(&paths)?;
        for (path, tree, flags) in sources.paths {
            view.add(&path, tree, flags | NO_SETUID_NO_DEVICES)?;
        }
        let seeded = view.add_caches(sources.caches, policy.read_only);
        let protected = view.protect(policy)?;
        view.become_root()?;
        Ok(Outcome {
            missing,
            protected,
            seeded,
        })
    }
}

struct View {
    root: OwnedFd,
}

impl View {
    fn add(&self, path: &Path, tree: Tree, flags: u64) -> io::Result<()> {
        let place = place_below(&self.root, path, tree.kind())?;
        tree.with_flags(flags)?.attach(&place)?;
        Ok(())
    }

    /// Adds what is the same for everybody. The mounts are not read-only yet.
    fn add_system(&self, paths: Vec<(PathBuf, SystemPath)>) -> io::Result<()> {
        let mut places = Places::below(&self.root);
        for (path, source) in paths {
            match source {
                SystemPath::Link(target) => self.link(&path, &target)?,
                SystemPath::Real(kind) => places.bind(&path, kind)?,
            }
        }
        Ok(())
    }

    /// Caches in the private home. Commands may have put something else in the place of one; it begins
    /// empty then, and a host starts all the same.
    fn add_caches(&self, caches: Vec<(PathBuf, Tree)>, read_only: bool) -> Vec<PathBuf> {
        let flags = if read_only { READ_ONLY } else { 0 } | NO_SETUID_NO_DEVICES;
        let added = caches.into_iter().filter_map(|(path, tree)| {
            self.add(&path, tree, flags).ok()?;
            Some(path)
        });
        added.collect()
    }

    /// Makes everything read-only that is there by now, all at once, and then the root writable again.
    fn make_all_read_only(&self) -> io::Result<()> {
        set_mount_flags(self.root.as_fd(), READ_ONLY | NO_SETUID_NO_DEVICES, true)?;
        make_writable(self.root.as_fd())
    }

    fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let parent = place_below(&self.root, parent, Kind::Directory)?;
        symlinkat(target, &parent, name).map_err(|error| named(error, path.display()))
    }

    fn add_devices(&self, devices: Vec<(PathBuf, Tree)>, missing: &mut Missing) -> io::Result<()> {
        let mut places = Places::below(&self.root);
        for (path, tree) in devices {
            // Devices can be written all the same; what cannot is their mode and owner.
            let tree = tree.with_flags(READ_ONLY | libc::MOUNT_ATTR_NOSUID)?;
            places.attach(tree, &path)?;
        }
        for (name, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
            ("/dev/ptmx", "pts/ptmx"),
        ] {
            self.link(Path::new(name), Path::new(target))?;
        }
        let no_programs = MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let options = [("mode", "1777"), ("size", "256m"), ("nr_inodes", "8k")];
        let flags = no_programs | MountAttrFlags::MOUNT_ATTR_NODEV;
        self.mount_at(Path::new("/dev/shm"), "tmpfs", &options, flags)?;
        let options = [("ptmxmode", "0666"), ("mode", "620")];
        let terminals = self.mount_at(Path::new("/dev/pts"), "devpts", &options, no_programs);
        missing.pseudo_terminals = terminals.err().map(|error| error.to_string());
        Ok(())
    }

    /// A `/proc` of the host's own namespace. Each command mounts a fresh one over it, which the
    /// kernel allows only where one is visible already.
    fn add_proc(&self, files: Vec<(PathBuf, Tree)>, missing: &mut Missing) -> io::Result<()> {
        let flags = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        if let Err(error) = self.mount_at(Path::new("/proc"), "proc", &[], flags) {
            missing.proc = Some(error.to_string());
            for (path, tree) in files {
                self.add(&path, tree, READ_ONLY)?;
            }
        }
        Ok(())
    }

    /// Mounts a new file system, without set-user-id programs.
    fn mount_at(
        &self,
        path: &Path,
        kind: &str,
        options: &[(&str, &str)],
        flags: MountAttrFlags,
    ) -> io::Result<()> {
        let place = place_below(&self.root, path, Kind::Directory)?;
        let flags = flags | MountAttrFlags::MOUNT_ATTR_NOSUID;
        new_file_system(kind, options, flags)?.attach(&place)?;
        Ok(())
    }

    /// Keeps the directories on the ways to mounts where they are: below places that commands can write they could
    /// otherwise be moved. Nothing can be put beside the mounts either: it would seem to be on the disk, and is not.
    fn pin_the_ways_to(&self, paths: &[&Path]) -> io::Result<()> {
        let places = ["/tmp", "/dev/shm"].map(Path::new);
        let ways: BTreeSet<&Path> = places
            .iter()
            .flat_map(|place| paths.iter().flat_map(|path| way_below(place, path)))
            .filter(|way| !paths.contains(way))
            .collect();
        for directory in ways {
            self.bind_onto_itself(directory, READ_ONLY | NO_SETUID_NO_DEVICES)?;
        }
        Ok(())
    }

    /// Makes paths read-only below what is writable. Landlock cannot take back what it granted above; a
    /// mount can.
    fn protect(&self, policy: &SandboxPolicy) -> io::Result<Vec<PathBuf>> {
        let roots: Vec<&PathBuf> = policy.write.iter().chain([&policy.scope]).collect();
        let mut protected = Vec::new();
        let mut on_the_way = BTreeSet::new();
        let in_place = policy.protect_in_place.iter().map(|path| (path, false));
        let all = policy.protect.iter().map(|path| (path, true));
        for (path, with_way) in all.chain(in_place) {
            // The outermost one: others are no mounts of their own.
            let around = roots
                .iter()
                .filter(|root| path.starts_with(root) && path != **root);
            let root = around.min_by_key(|root| root.components().count());
            let Some(root) = root else {
                continue;
            };
            match find_below(&self.root, path) {
                Ok(_) => {}
                // A link does not count: it could be replaced, whatever is mounted where it leads.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                // A command may have closed a directory so that what is in it is passed over.
                Err(error) => return Err(named(error, path.display())),
            }
            if with_way {
                on_the_way.extend(way_below(root, path).into_iter().map(Path::to_owned));
            }
            protected.push(path.clone());
        }
        // Each directory on the way is a mount too: it could otherwise be moved away, and another one be
        // put in its place. The outer ones come first, so that none is taken along twice.
        for directory in on_the_way {
            self.bind_onto_itself(&directory, 0)?;
        }
        for path in &protected {
            self.bind_onto_itself(path, READ_ONLY | NO_SETUID_NO_DEVICES)?;
        }
        Ok(protected)
    }

    fn bind_onto_itself(&self, path: &Path, flags: u64) -> io::Result<()> {
        let place = open_below(&self.root, path)?;
        Tree::of_open(&place)?.with_flags(flags)?.attach(&place)?;
        Ok(())
    }

    fn become_root(&self) -> io::Result<()> {
        // Nothing more is added: the tmpfs itself becomes read-only.
        set_mount_flags(self.root.as_fd(), READ_ONLY | NO_SETUID_NO_DEVICES, false)?;
        fchdir(&self.root)?;
        pivot_root(c".", c".").map_err(|error| named(error, "the new root"))?;
        unmount(c".", UnmountFlags::DETACH).map_err(|error| named(error, "the old root"))?;
        chdir(c"/")?;
        // Only a sanity check: the view must be what programs find at the root now.
        let (here, view) = (
            statat(rustix::fs::CWD, "/", AtFlags::empty())?,
            rustix::fs::fstat(&self.root)?,
        );
        if (here.st_dev, here.st_ino) == (view.st_dev, view.st_ino) {
            Ok(())
        } else {
            Err(io::Error::other("the view did not become the root"))
        }
    }
}

/// The directories between a place and a path below it, the outer ones first, without either.
fn way_below<'p>(place: &Path, path: &'p Path) -> Vec<&'p Path> {
    let ancestors = path.ancestors().skip(1);
    let mut way: Vec<&Path> = ancestors
        .filter(|it| it.starts_with(place) && *it != place)
        .collect();
    way.reverse();
    way
}

/// Says which path the kernel's complaint is about.
fn named(error: impl Into<io::Error>, what: impl std::fmt::Display) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

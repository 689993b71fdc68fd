//! Mounts by descriptor: what is mounted and where is decided once, when it is opened.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_bind_recursive, move_mount,
    open_tree,
};
use rustix::process::fchdir;

use super::named;
use crate::host::sys::set_mount_flags;

/// A copy with everything below it.
const COPIED: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_RECURSIVE);

/// What a place must be for something to be mounted there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

/// Something that can be mounted, with what is mounted below it.
pub(super) struct Tree {
    mount: OwnedFd,
    kind: Kind,
}

impl Tree {
    /// A path of the policy: real, without links.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Self::of_open(&open_real(path)?).map_err(|error| named(error, path.display()))
    }

    /// A path of the system, which only its administrator could make a link; none when it is not there.
    pub(super) fn of_system(path: &Path) -> io::Result<Option<Self>> {
        let mount = open_tree(CWD, path, COPIED);
        match mount {
            Ok(mount) => Self::of_mount(mount).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(None),
            Err(error) => Err(named(error, path.display())),
        }
    }

    /// What a descriptor stands for.
    pub(super) fn of_open(open: &OwnedFd) -> io::Result<Self> {
        Self::of_mount(open_tree(open, c"", COPIED | OpenTreeFlags::AT_EMPTY_PATH)?)
    }

    fn of_mount(mount: OwnedFd) -> io::Result<Self> {
        let about = fstat(&mount)?;
        let kind = match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => Kind::Directory,
            _ => Kind::File,
        };
        Ok(Tree { mount, kind })
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Sets flags of everything in it.
    pub(super) fn with_flags(self, flags: u64) -> io::Result<Self> {
        if flags != 0 {
            set_mount_flags(self.mount.as_fd(), flags, true)?;
        }
        Ok(self)
    }

    /// Mounts it in a directory, at a place of that name which is made if it is missing. A link there is not followed.
    fn attach_at(self, directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
        make_place(directory, name, self.kind)?;
        let from_open = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(move_mount(&self.mount, c"", directory, name, from_open)?)
    }

    /// Mounts it. The descriptor returned is its root.
    pub(super) fn attach(self, place: &OwnedFd) -> io::Result<OwnedFd> {
        let both =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.mount, c"", place, c"", both)?;
        Ok(self.mount)
    }
}

/// A new file system that is mounted nowhere yet.
pub(super) fn new_file_system(
    kind: &str,
    options: &[(&str, &str)],
    flags: MountAttrFlags,
) -> io::Result<Tree> {
    let mount = || -> rustix::io::Result<OwnedFd> {
        let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (name, value) in options {
            fsconfig_set_string(&context, *name, *value)?;
        }
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    };
    Ok(Tree {
        mount: mount().map_err(|error| named(error, kind))?,
        kind: Kind::Directory,
    })
}

/// An overlay: what is below it, the uppermost first, and above that its own changes.
pub(super) fn new_overlay(
    lower: &[PathBuf],
    upper: &Path,
    work: &Path,
    flags: MountAttrFlags,
) -> io::Result<Tree> {
    let mount = || -> rustix::io::Result<OwnedFd> {
        let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let mut layers = lower.iter();
        // One by one since Linux 6.7. Before, only the lowest: a list of several would be too long.
        match layers.try_for_each(|path| fsconfig_set_string(&context, "lowerdir+", path)) {
            Err(Errno::INVAL) => {
                let lowest = lower.last().map(|path| escaped(path)).unwrap_or_default();
                fsconfig_set_string(&context, "lowerdir", lowest.as_slice())?;
            }
            added => added?,
        }
        fsconfig_set_string(&context, "upperdir", escaped(upper).as_slice())?;
        fsconfig_set_string(&context, "workdir", escaped(work).as_slice())?;
        // An earlier host may still have its changes in use, which are below ours.
        fsconfig_set_string(&context, "index", "off")?;
        // The only kind of attribute that is allowed without privileges.
        fsconfig_set_flag(&context, "userxattr")?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    };
    Ok(Tree {
        mount: mount().map_err(|error| named(error, "overlay"))?,
        kind: Kind::Directory,
    })
}

/// A path as overlays want it: a colon would separate two.
fn escaped(path: &Path) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b":\\".contains(byte) {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    escaped
}

/// Opens a path that must not hold a link.
pub(super) fn open_real(path: &Path) -> io::Result<OwnedFd> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        no_links,
    );
    open.map_err(|error| named(error, path.display()))
}

/// Opens a path as it is below a root, through mounts but not through links.
pub(super) fn open_below(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    find_below(root, path).map_err(|error| named(error, path.display()))
}

/// The same, with the kernel's own words.
pub(super) fn find_below(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let below = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(root, inside, flags, Mode::empty(), below)
}

/// The place of a path below a root; what is missing on the way is made.
pub(super) fn place_below(root: &OwnedFd, path: &Path, kind: Kind) -> io::Result<OwnedFd> {
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let mut at = root.try_clone()?;
    for (index, name) in names.iter().enumerate() {
        let is_last = index + 1 == names.len();
        let made = if is_last && kind == Kind::File {
            make_file(&at, Path::new(name))
        } else {
            mkdirat(&at, *name, Mode::from_raw_mode(0o755))
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(named(error, path.display())),
        }
        at = open_below(&at, Path::new(name)).map_err(|error| named(error, path.display()))?;
    }
    Ok(at)
}

/// Places of paths many of which are in the same directory, one after the other.
pub(super) struct Places<'r> {
    root: &'r OwnedFd,
    /// The directory of the last one. Whatever is mounted over it is in another directory, and then this is forgotten.
    last: Option<(PathBuf, OwnedFd)>,
}

impl<'r> Places<'r> {
    pub(super) fn below(root: &'r OwnedFd) -> Self {
        Places { root, last: None }
    }

    /// Mounts something at a path; what is missing on the way is made.
    pub(super) fn attach(&mut self, tree: Tree, path: &Path) -> io::Result<()> {
        let Some((directory, name)) = self.directory_of(path)? else {
            return Err(named(Errno::BUSY, path.display()));
        };
        tree.attach_at(directory, name)
            .map_err(|error| named(error, path.display()))
    }

    /// Mounts a path that only the machine's administrator can change, with what is below it, at the same path. Takes half
    /// as long as with a [`Tree`]. Leaves this process in another working directory.
    pub(super) fn bind(&mut self, path: &Path, kind: Kind) -> io::Result<()> {
        let Some((directory, name)) = self.directory_of(path)? else {
            return Err(named(Errno::BUSY, path.display()));
        };
        make_place(directory, name, kind)
            .and_then(|()| fchdir(directory))
            .and_then(|()| mount_bind_recursive(path, name))
            .map_err(|error| named(error, path.display()))
    }

    /// The directory of a path and its name there; nothing for the root. What is missing on the way is made.
    pub(super) fn directory_of<'p>(
        &mut self,
        path: &'p Path,
    ) -> io::Result<Option<(&OwnedFd, &'p OsStr)>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        let known = self
            .last
            .take()
            .filter(|(directory, _)| directory == parent);
        let (_, directory) = match known {
            Some(known) => self.last.insert(known),
            None => {
                let directory = place_below(self.root, parent, Kind::Directory)?;
                self.last.insert((parent.to_owned(), directory))
            }
        };
        Ok(Some((directory, name)))
    }
}

/// Makes a place for a mount, unless there is one.
fn make_place(directory: &OwnedFd, name: &OsStr, kind: Kind) -> rustix::io::Result<()> {
    let made = match kind {
        Kind::Directory => mkdirat(directory, name, Mode::from_raw_mode(0o755)),
        Kind::File => make_file(directory, Path::new(name)),
    };
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

fn make_file(at: &OwnedFd, name: &Path) -> rustix::io::Result<()> {
    mknodat(
        at,
        name,
        FileType::RegularFile,
        Mode::from_raw_mode(0o644),
        0,
    )
}

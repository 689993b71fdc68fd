//! The directories of a scope as they were seen last. A sweep asks the file system only whether each has changed, and lists
//! those that have.
//!
//! Finds names worth a look. Must not judge what is in a file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ahma_sandbox::open_beneath;

use super::identity::{Form, Identity, Moment, identity};
use super::listing::{Candidate, Here, Names, Role, child_of};

/// What is looked at of one scope at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) directories: usize,
    pub(super) depth: usize,
    pub(super) entries_each: usize,
    pub(super) time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            directories: 200_000,
            depth: 64,
            entries_each: 1_000_000,
            time: Duration::from_secs(10),
        }
    }
}

/// How far a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The top directory and what starts programs right below it.
    Top,
    /// Everything.
    Everywhere,
}

/// What a sweep came upon.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Files that count, in directories that were listed.
    pub(super) candidates: Vec<Candidate>,
    /// Directories that were listed for the first time, and when they changed last: one that was moved here may hold files
    /// that are older.
    pub(super) new: BTreeMap<PathBuf, Moment>,
    /// Directories that were listed.
    pub(super) listed: Vec<PathBuf>,
    /// Directories that cannot be looked into, and when they changed.
    pub(super) closed: Vec<(PathBuf, Moment)>,
    /// What is left out, where a bound was reached.
    pub(super) left_out: Option<PathBuf>,
}

struct Dir {
    parent: usize,
    name: OsString,
    depth: usize,
    /// What it is by its name and its place.
    by_name: Role,
    role: Role,
    /// Whether it looks like a repository, whatever else it is.
    looks_bare: bool,
    /// Whether it belongs to the top: see [`Reach::Top`].
    is_top: bool,
    seen: Option<(u64, Moment)>,
    children: Vec<usize>,
    is_gone: bool,
}

/// The directories of a scope.
pub(super) struct Tree {
    root: OwnedFd,
    dirs: Vec<Dir>,
    gone: usize,
    /// Whether a directory of hooks has come since this was asked last.
    has_new_hooks: bool,
    bounds: Bounds,
    also: Also,
}

/// Paths that count in one scope besides the names that count everywhere.
#[derive(Debug, Clone, Default)]
pub(super) struct Also {
    /// Directories that tool files are read from.
    pub(super) tools: Vec<PathBuf>,
    /// What the operator wants protected.
    pub(super) protected: Vec<PathBuf>,
}

impl Also {
    /// Names of a directory that count.
    fn names_in<'a>(all: &'a [PathBuf], directory: &Path) -> Vec<&'a OsStr> {
        let here = all.iter().filter(|it| it.parent() == Some(directory));
        here.filter_map(|it| it.file_name()).collect()
    }
}

impl Tree {
    /// Nothing has been seen yet.
    pub(super) fn new(root: OwnedFd, also: Also, bounds: Bounds) -> Self {
        let top = Dir {
            parent: 0,
            name: OsString::new(),
            depth: 0,
            by_name: Role::Plain,
            role: Role::Plain,
            looks_bare: false,
            is_top: true,
            seen: None,
            children: Vec::new(),
            is_gone: false,
        };
        Tree {
            root,
            dirs: vec![top],
            gone: 0,
            has_new_hooks: false,
            bounds,
            also,
        }
    }

    /// The same for another directory, of which nothing has been seen yet.
    pub(super) fn anew(&self, root: OwnedFd) -> Self {
        Tree::new(root, self.also.clone(), self.bounds)
    }

    /// The directory it all is in.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// How many directories are known.
    pub(super) fn len(&self) -> usize {
        self.dirs.len() - self.gone
    }

    /// Looks at every directory within reach, outer ones first, so that no depth hides what is further up.
    pub(super) fn sweep(&mut self, reach: Reach) -> Swept {
        let mut swept = Swept::default();
        let end = Instant::now() + self.bounds.time;
        let mut index = 0;
        while index < self.dirs.len() {
            let dir = &self.dirs[index];
            if !dir.is_gone && (reach == Reach::Everywhere || dir.is_top) {
                let path = self.path(index);
                // A first look at very much takes long; the time between looks at little of it does not count.
                if dir.seen.is_none() && Instant::now() > end {
                    swept.left_out.get_or_insert(path);
                } else {
                    self.look(index, path, &mut swept);
                }
            }
            index += 1;
        }
        if self.gone > self.dirs.len() / 2 {
            self.compact();
        }
        swept
    }

    fn look(&mut self, index: usize, path: PathBuf, swept: &mut Swept) {
        let now = match identity(&self.root, &path) {
            Ok(now) if now.form == Form::Directory => now,
            Ok(_) => return self.forget(index),
            Err(error) if is_missing(&error) => return self.forget(index),
            Err(error) if error.raw_os_error() == Some(NAME_TOO_LONG) => {
                swept.left_out.get_or_insert(path);
                return;
            }
            // A directory above it is closed, which is noticed there.
            Err(_) => return,
        };
        let seen = (now.number, now.changed);
        if self.dirs[index].seen == Some(seen) {
            return;
        }
        match self.list(index, &path, swept) {
            Ok(()) => swept.listed.push(path),
            Err(error) if is_missing(&error) => self.forget(index),
            // Another file system: what is mounted there is not the scope's.
            Err(error) if error.raw_os_error() == Some(XDEV) => {
                self.dirs[index].seen = Some(seen);
            }
            Err(_) => {
                // Not looked at again until it changes.
                self.dirs[index].seen = Some(seen);
                swept.closed.push((path, now.changed));
            }
        }
    }

    fn list(&mut self, index: usize, path: &Path, swept: &mut Swept) -> io::Result<()> {
        let open = open_beneath(&self.root, path)?;
        let before: Identity = identity(&open, Path::new(""))?;
        if before.form != Form::Directory {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let tools = Also::names_in(&self.also.tools, path);
        let tools: Vec<OsString> = tools.into_iter().map(OsStr::to_owned).collect();
        let here = Here {
            path,
            open: &open,
            name: &self.dirs[index].name,
            role: self.dirs[index].role,
            protected: Also::names_in(&self.also.protected, path),
        };
        let names = Names::read(&here, self.bounds.entries_each)?;
        if names.is_cut {
            swept.left_out.get_or_insert(path.to_owned());
        }
        if self.dirs[index].seen.is_none() {
            swept.new.insert(path.to_owned(), before.changed);
        }
        let (role, looks_bare) = names.role(self.dirs[index].by_name);
        (self.dirs[index].role, self.dirs[index].looks_bare) = (role, looks_bare);
        let found = names.found.into_iter();
        let found = found.filter(|it| it.counts(role, looks_bare));
        swept.candidates.extend(found.map(|it| it.candidate));
        let old = std::mem::take(&mut self.dirs[index].children);
        let mut kept = Vec::new();
        let (depth, is_top) = (self.dirs[index].depth + 1, self.dirs[index].is_top);
        let mut known: std::collections::HashMap<OsString, usize> =
            std::collections::HashMap::new();
        for child in old {
            known.insert(self.dirs[child].name.clone(), child);
        }
        for (name, child_role) in names.directories {
            let Some(mut role) = child_of(role, looks_bare, &name, child_role) else {
                continue;
            };
            if role == Role::Plain && tools.contains(&name) {
                role = Role::Tools;
            }
            let is_of_hooks = self.is_of_hooks(index, &name);
            if let Some(child) = known.remove(&name) {
                kept.push(child);
                let child = &mut self.dirs[child];
                if child.by_name != role {
                    // What is in it means something else now.
                    (child.by_name, child.role, child.seen) = (role, role, None);
                    self.has_new_hooks |= is_of_hooks;
                }
                continue;
            }
            if depth > self.bounds.depth || self.len() >= self.bounds.directories {
                swept.left_out.get_or_insert(path.join(&name));
                continue;
            }
            let of_top = is_top && role != Role::Plain;
            self.has_new_hooks |= is_of_hooks;
            kept.push(self.dirs.len());
            self.dirs.push(Dir {
                parent: index,
                name,
                depth,
                by_name: role,
                role,
                looks_bare: false,
                is_top: of_top,
                seen: None,
                children: Vec::new(),
                is_gone: false,
            });
        }
        for gone in known.into_values() {
            self.forget(gone);
        }
        self.dirs[index].children = kept;
        // As it was before the listing: what came meanwhile makes it differ next time.
        self.dirs[index].seen = Some((before.number, before.changed));
        Ok(())
    }

    /// Every directory of Git's hooks, when one has come since this was asked last.
    pub(super) fn new_hooks(&mut self) -> Option<Vec<PathBuf>> {
        if !std::mem::take(&mut self.has_new_hooks) {
            return None;
        }
        let all = self.dirs.iter().enumerate().skip(1);
        let hooks = all.filter(|(_, dir)| !dir.is_gone && self.is_of_hooks(dir.parent, &dir.name));
        Some(hooks.map(|(index, _)| self.path(index)).collect())
    }

    fn is_of_hooks(&self, above: usize, name: &OsStr) -> bool {
        let above = &self.dirs[above];
        name == "hooks" && (above.role == Role::Repository || above.looks_bare)
    }

    /// It is not there any more.
    fn forget(&mut self, index: usize) {
        if index == 0 {
            self.dirs[0].seen = None;
            return;
        }
        let mut waiting = vec![index];
        while let Some(index) = waiting.pop() {
            let dir = &mut self.dirs[index];
            if !dir.is_gone {
                dir.is_gone = true;
                self.gone += 1;
                waiting.append(&mut dir.children);
            }
        }
    }

    /// Lets go of what is not there any more.
    fn compact(&mut self) {
        let mut moved = vec![0; self.dirs.len()];
        let mut next = 0;
        for (index, dir) in self.dirs.iter().enumerate() {
            if !dir.is_gone {
                moved[index] = next;
                next += 1;
            }
        }
        self.dirs.retain(|dir| !dir.is_gone);
        for dir in &mut self.dirs {
            dir.parent = moved[dir.parent];
            for child in &mut dir.children {
                *child = moved[*child];
            }
        }
        self.gone = 0;
    }

    /// The path of a directory, seen from the top.
    fn path(&self, index: usize) -> PathBuf {
        let mut names: Vec<&OsStr> = Vec::new();
        let mut at = index;
        while at != 0 {
            names.push(&self.dirs[at].name);
            at = self.dirs[at].parent;
        }
        names.iter().rev().collect()
    }
}

const NAME_TOO_LONG: i32 = rustix::io::Errno::NAMETOOLONG.raw_os_error();
const XDEV: i32 = rustix::io::Errno::XDEV.raw_os_error();

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

//! What is of interest in one directory: which of its names count, and what its directories are to programs outside.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir as Listing, FileType};
use serde::{Deserialize, Serialize};

use super::identity::{Form, identity};
use super::names::{Kind, kind_of};

/// What a directory is to programs outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// Everything below it counts.
    Counts(Kind),
    /// Git's: only some of its names count.
    Repository,
    /// A directory of a repository that holds others, or worktrees.
    OfRepository,
    /// Tools are read from it: files that end in `.json` count.
    Tools,
}

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) sort: Sort,
}

/// How a file that counts is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sort {
    /// As it is.
    Plain,
    /// A configuration of Git's.
    GitConfig,
    /// A `.git` that is not a directory, or a file that leads Git elsewhere.
    GitPointer,
}

/// The role of a directory in another; none when it is of no interest. In one that only looks like a repository everything
/// is of interest that would be in any other.
pub(super) fn child_of(
    role: Role,
    looks_bare: bool,
    name: &OsStr,
    by_name: Option<Kind>,
) -> Option<Role> {
    let of_repository = match name.as_bytes() {
        b"hooks" => Some(Role::Counts(Kind::Runs)),
        b"modules" | b"worktrees" => Some(Role::OfRepository),
        _ => None,
    };
    if looks_bare && of_repository.is_some() {
        return of_repository;
    }
    match role {
        Role::Counts(Kind::Runs) => Some(Role::Counts(Kind::Runs)),
        Role::Repository => of_repository,
        // Each in it is a repository, or leads to one further down.
        Role::OfRepository => Some(Role::OfRepository),
        _ if name.as_bytes().eq_ignore_ascii_case(b".git") => Some(Role::Repository),
        Role::Plain | Role::Tools => Some(by_name.map_or(Role::Plain, Role::Counts)),
        // What starts programs counts as that in a directory of instructions too.
        Role::Counts(kind) => Some(Role::Counts(match by_name {
            Some(Kind::Runs) => Kind::Runs,
            _ => kind,
        })),
    }
}

/// What is of interest in one directory.
pub(super) struct Names {
    pub(super) directories: Vec<(OsString, Option<Kind>)>,
    pub(super) found: Vec<Found>,
    /// Names that make a directory a repository.
    has: [bool; 4],
    pub(super) is_cut: bool,
}

/// The directory that is listed.
pub(super) struct Here<'h> {
    pub(super) path: &'h Path,
    pub(super) open: &'h OwnedFd,
    /// How it is called, and what it is.
    pub(super) name: &'h OsStr,
    pub(super) role: Role,
    /// Names in it that the operator wants protected.
    pub(super) protected: Vec<&'h OsStr>,
}

pub(super) struct Found {
    pub(super) candidate: Candidate,
    /// Whether it counts only in a repository.
    of_repository: bool,
    /// Whether it counts there as something else too, and only as that.
    has_other: bool,
}

impl Found {
    pub(super) fn counts(&self, role: Role, looks_bare: bool) -> bool {
        match role {
            Role::Repository | Role::OfRepository => self.of_repository,
            _ if looks_bare => self.of_repository || !self.has_other,
            _ => !self.of_repository,
        }
    }
}

const REPOSITORY_NAMES: [&[u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

impl Names {
    pub(super) fn read(here: &Here<'_>, most: usize) -> io::Result<Self> {
        let mut names = Names {
            directories: Vec::new(),
            found: Vec::new(),
            has: [false; 4],
            is_cut: false,
        };
        let mut count = 0;
        for entry in Listing::read_from(here.open)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            count += 1;
            if count > most {
                names.is_cut = true;
                break;
            }
            names.take(name, entry.file_type(), here);
        }
        Ok(names)
    }

    fn take(&mut self, name: &[u8], form: FileType, here: &Here<'_>) {
        for (has, of_repository) in self.has.iter_mut().zip(REPOSITORY_NAMES) {
            *has |= name == of_repository;
        }
        let own = OsStr::from_bytes(name);
        let form = match form {
            FileType::Unknown => {
                identity(here.open, Path::new(own)).map_or(Form::Other, |it| it.form)
            }
            form => form.into(),
        };
        let by_name = match here.protected.contains(&own) {
            true => Some(Kind::Runs),
            false => kind_of(name, here.name.as_bytes()),
        };
        if form == Form::Directory {
            self.directories.push((own.to_owned(), by_name));
        }
        let plain = match here.role {
            _ if form == Form::Directory => by_name.map(|kind| (kind, Sort::Plain)),
            // Samples are not run.
            Role::Counts(kind) => {
                let kind = by_name.filter(|it| *it == Kind::Runs).unwrap_or(kind);
                (!name.ends_with(b".sample")).then_some((kind, Sort::Plain))
            }
            Role::Tools if name.ends_with(b".json") => Some((Kind::Runs, Sort::Plain)),
            _ if name.eq_ignore_ascii_case(b".git") => Some((Kind::Runs, Sort::GitPointer)),
            _ => by_name.map(|kind| (kind, Sort::Plain)),
        };
        let of_repository = match name {
            b"config" | b"config.worktree" => Some((Kind::Runs, Sort::GitConfig)),
            b"commondir" | b"gitdir" => Some((Kind::Runs, Sort::GitPointer)),
            // As a link they lead to others.
            b"hooks" | b"modules" | b"worktrees" if form != Form::Directory => {
                Some((Kind::Runs, Sort::GitPointer))
            }
            _ => None,
        };
        let has_other = plain.is_some() && of_repository.is_some();
        for (found, of_repository) in [(plain, false), (of_repository, true)] {
            if let Some((kind, sort)) = found {
                let path = here.path.join(own);
                self.found.push(Found {
                    candidate: Candidate { path, kind, sort },
                    of_repository,
                    has_other,
                });
            }
        }
    }

    /// Whether it holds what a repository holds. Such a directory is one, whatever it is called, and whatever else it is.
    fn looks_like_a_repository(&self) -> bool {
        let [head, objects, refs, commondir] = self.has;
        head && (objects && refs || commondir)
    }

    /// What a directory is whose name makes it this; and whether it looks like a repository besides.
    pub(super) fn role(&self, by_name: Role) -> (Role, bool) {
        match (by_name, self.looks_like_a_repository()) {
            (Role::OfRepository, true) | (Role::Repository, _) => (Role::Repository, false),
            (role, looks_bare) => (role, looks_bare),
        }
    }
}

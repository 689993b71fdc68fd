//! The files that count in a scope: what each holds, and what has become of it since the last look.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use ahma_sandbox::open_beneath;
use serde::{Deserialize, Serialize};

use super::git_config::{Judged, judge};
use super::identity::{Form, Identity, MAX_FILE_BYTES, Moment, hash, identity_beneath, read};
use super::listing::{Candidate, Sort};
use super::names::Kind;

/// Files that are looked at in one scope.
pub(super) const MAX_FILES: usize = 1000;
/// Files of one directory of hooks.
const MAX_HOOKS: usize = 200;

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    sort: Sort,
    pub(super) identity: Identity,
    content: Content,
    /// For a configuration of Git's.
    judged: Judged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    Hash(String),
    /// Where a link leads.
    Link(String),
    /// Too large, or not to be read: what the file system says of it.
    Unread(u64, Moment),
    Directory,
}

/// What has become of a file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) what: What,
    /// When the file system noticed; none when it did not, although the content is another one.
    pub(super) moment: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Appeared,
    Changed,
    /// A setting of Git's that is not known to be harmless.
    Setting(String),
    /// The file has one more name.
    SecondName,
}

/// The files that count in a scope.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    /// The first that was left out because there are too many.
    pub(super) left_out: Option<PathBuf>,
    /// Another number whenever an entry is another one.
    pub(super) generation: u64,
}

impl Known {
    /// Looks at new candidates and, within reach, at everything that is known, and says what has changed.
    pub(super) fn look(
        &mut self,
        root: &OwnedFd,
        scope: &Path,
        candidates: Vec<Candidate>,
        new: &BTreeMap<PathBuf, Moment>,
        in_reach: impl Fn(&Path) -> bool,
    ) -> Vec<Change> {
        // When the latest of the directories on the way was put there, of those that were not there before.
        let moved = |path: &Path| {
            let above = path.ancestors().skip(1);
            above.filter_map(|it| new.get(it)).max().copied()
        };
        let mut changes = Vec::new();
        let mut seen = BTreeSet::new();
        for candidate in candidates {
            seen.insert(candidate.path.clone());
            let moved = moved(&candidate.path);
            self.look_at(root, candidate, moved, &mut changes);
        }
        let rest: Vec<Candidate> = self
            .entries
            .iter()
            .filter(|(path, _)| !seen.contains(*path) && in_reach(path))
            .map(|(path, entry)| candidate_of(path, entry))
            .collect();
        for candidate in rest {
            self.look_at(root, candidate, None, &mut changes);
        }
        // What those lead to counts too.
        for candidate in self.led_to(root, scope, &in_reach) {
            if !self.entries.contains_key(&candidate.path) {
                let moved = moved(&candidate.path);
                self.look_at(root, candidate, moved, &mut changes);
            }
        }
        changes
    }

    fn look_at(
        &mut self,
        root: &OwnedFd,
        candidate: Candidate,
        moved: Option<Moment>,
        changes: &mut Vec<Change>,
    ) {
        let Candidate { path, kind, sort } = candidate;
        let before = self.entries.get(&path);
        if before.is_none() && self.entries.len() >= MAX_FILES {
            self.left_out.get_or_insert(path);
            return;
        }
        let Some(now) = examine(root, &path, kind, sort) else {
            self.generation += u64::from(self.entries.remove(&path).is_some());
            return;
        };
        let moment = (before.is_none_or(|it| it.identity.changed != now.identity.changed))
            .then_some(now.identity.changed.max(moved.unwrap_or(Moment::MIN)));
        let change = |what| Change {
            path: path.clone(),
            kind,
            what,
            moment,
        };
        match before {
            _ if sort == Sort::GitConfig => {
                let nothing = Judged::default();
                let judged = before.map_or(&nothing, |it| &it.judged);
                changes.extend(now.judged.since(judged).map(|it| change(What::Setting(it))));
            }
            None => changes.push(change(What::Appeared)),
            Some(before) if before.content != now.content => changes.push(change(What::Changed)),
            Some(_) => {}
        }
        let names = before.map_or(1, |it| it.identity.links.max(1));
        if now.identity.form == Form::File && now.identity.links > names {
            changes.push(change(What::SecondName));
        }
        self.generation += u64::from(before != Some(&now));
        self.entries.insert(path, now);
    }

    /// Files that programs come to through a link, a directory of hooks that a configuration names, or an include. Each
    /// place is looked at once, and no more places than files count.
    fn led_to(
        &mut self,
        root: &OwnedFd,
        scope: &Path,
        in_reach: impl Fn(&Path) -> bool,
    ) -> Vec<Candidate> {
        let mut places: BTreeMap<PathBuf, (Kind, Sort)> = BTreeMap::new();
        let mut left_out = None;
        for (path, entry) in self.entries.iter().filter(|(path, _)| in_reach(path)) {
            let directory = path.parent().unwrap_or(Path::new(""));
            let mut leads_to = |to: Option<PathBuf>, kind, sort| {
                let Some(to) = to else {
                    return;
                };
                if places.len() < MAX_FILES {
                    places.entry(to).or_insert((kind, sort));
                } else {
                    left_out.get_or_insert(to);
                }
            };
            if let Content::Link(target) = &entry.content {
                leads_to(inside(scope, directory, target), entry.kind, entry.sort);
            }
            for pointed in &entry.judged.points_to {
                // Hooks are seen from the top of the working tree, includes from the file itself.
                let top = directory.parent().unwrap_or(directory);
                for from in [directory, top] {
                    leads_to(inside(scope, from, pointed), Kind::Runs, Sort::GitConfig);
                }
            }
        }
        let mut all = Vec::new();
        for (path, (kind, sort)) in places {
            let Ok(identity) = identity_beneath(root, &path) else {
                continue;
            };
            if all.len() >= MAX_FILES {
                left_out.get_or_insert(path);
                break;
            }
            match (identity.form == Form::Directory, sort) {
                (true, Sort::GitPointer) => {
                    let files = hooks(root, &path, kind).into_iter();
                    all.extend(files.filter(is_not_of_git));
                }
                (true, _) => all.extend(hooks(root, &path, kind)),
                (false, Sort::GitConfig) => all.push(Candidate { path, kind, sort }),
                (false, _) => all.push(Candidate {
                    path,
                    kind,
                    sort: Sort::Plain,
                }),
            }
        }
        if let Some(path) = left_out {
            self.left_out.get_or_insert(path);
        }
        all.retain(|it| {
            identity_beneath(root, &it.path).is_ok_and(|it| it.form != Form::Directory)
        });
        all
    }
}

/// Whether a file is none of those that Git writes all the time: a link in place of `.git` may lead to a whole repository,
/// which is found by what it holds.
fn is_not_of_git(candidate: &Candidate) -> bool {
    const OF_GIT: [&str; 8] = [
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "COMMIT_EDITMSG",
        "index",
        "config",
        "packed-refs",
        "description",
    ];
    let name = candidate.path.file_name().unwrap_or_default();
    !OF_GIT.iter().any(|it| name == *it)
}

fn candidate_of(path: &Path, entry: &Entry) -> Candidate {
    Candidate {
        path: path.to_owned(),
        kind: entry.kind,
        sort: entry.sort,
    }
}

/// What a file holds now; none when it is not there. Always read: a command that has mapped it can change it without any
/// time of it changing.
fn examine(root: &OwnedFd, path: &Path, kind: Kind, sort: Sort) -> Option<Entry> {
    let identity = identity_beneath(root, path).ok()?;
    let unread = Content::Unread(identity.size, identity.changed);
    let mut judged = Judged::default();
    let content = match identity.form {
        Form::Directory => Content::Directory,
        Form::Link => link(root, path).map_or(unread, Content::Link),
        Form::File if identity.size < MAX_FILE_BYTES => match read(root, path) {
            Ok(bytes) => {
                if sort == Sort::GitConfig {
                    judged = judge(&String::from_utf8_lossy(&bytes));
                }
                Content::Hash(hash(&bytes))
            }
            Err(_) => unread,
        },
        _ => unread,
    };
    if sort == Sort::GitConfig && !matches!(content, Content::Hash(_)) {
        let odd = "something else than an ordinary configuration";
        judged.settings.insert(odd.to_owned(), odd.to_owned());
    }
    Some(Entry {
        kind,
        sort,
        identity,
        content,
        judged,
    })
}

fn link(root: &OwnedFd, path: &Path) -> io::Result<String> {
    let directory = open_beneath(root, path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().unwrap_or_default();
    let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
    Ok(String::from_utf8_lossy(target.as_bytes()).into_owned())
}

/// Where a path leads that stands in a directory of a scope, if it stays in the scope. By its letters only.
fn inside(scope: &Path, directory: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let path = match path.is_absolute() {
        true => path.strip_prefix(scope).ok()?.to_owned(),
        false => directory.join(path),
    };
    let mut parts: Vec<&OsStr> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.into_iter().collect())
}

/// The files of a directory of hooks.
fn hooks(root: &OwnedFd, path: &Path, kind: Kind) -> Vec<Candidate> {
    let Ok(open) = open_beneath(root, path) else {
        return Vec::new();
    };
    let Ok(listing) = rustix::fs::Dir::read_from(&open) else {
        return Vec::new();
    };
    let names = listing
        .flatten()
        .map(|it| it.file_name().to_bytes().to_vec());
    let names = names.filter(|name| !matches!(name.as_slice(), b"." | b".."));
    let files = names.take(MAX_HOOKS).map(|name| Candidate {
        path: path.join(std::ffi::OsString::from_vec(name)),
        kind,
        sort: Sort::Plain,
    });
    files.collect()
}

//! One directory that commands can write, watched: its tree, the files that count in it, and what is told of them.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use ahma_sandbox::open_directory;

use super::identity::{Identity, Moment, identity};
use super::intervals::Intervals;
use super::known::{Change, Known, MAX_FILES};
use super::names::Kind;
use super::report::{sentences, shown};
use super::snapshot::Snapshot;
use super::tree::{Also, Bounds, Reach, Tree};

/// A directory that is watched.
pub(super) struct Watched {
    path: PathBuf,
    /// How it is called in what is told: nothing for the scope, its path for what is granted besides.
    shown_as: PathBuf,
    top: Identity,
    tree: Tree,
    known: Known,
    closed: BTreeSet<PathBuf>,
    /// Instructions that were told of: once is enough, since working on them is ordinary work.
    instructions: BTreeSet<PathBuf>,
    /// Directories of hooks that no operation made.
    hooks: BTreeSet<PathBuf>,
    is_new: bool,
    /// Whether it was told that not everything is looked at.
    bound_is_told: bool,
    /// Whether times of this file system are those of another machine.
    has_foreign_clock: bool,
}

impl Watched {
    pub(super) fn new(
        path: &Path,
        shown_as: &Path,
        also: Also,
        bounds: Bounds,
    ) -> io::Result<Self> {
        let root = open_directory(path)?;
        Ok(Watched {
            path: path.to_owned(),
            shown_as: shown_as.to_owned(),
            top: identity(&root, Path::new(""))?,
            has_foreign_clock: has_foreign_clock(&root),
            tree: Tree::new(root, also, bounds),
            known: Known::default(),
            closed: BTreeSet::new(),
            instructions: BTreeSet::new(),
            hooks: BTreeSet::new(),
            is_new: true,
            bound_is_told: false,
        })
    }

    /// Goes on from what another server saw.
    pub(super) fn resume(&mut self, snapshot: Snapshot) {
        self.known.entries = snapshot.entries;
    }

    /// What the next server needs to know.
    pub(super) fn snapshot(&self, open_since: Option<Moment>) -> Snapshot {
        let entries = self.known.entries.iter();
        Snapshot {
            scope: self.path.clone(),
            open_since,
            // A name that is not text cannot be kept; what has it is looked at anew.
            entries: entries
                .filter(|(path, _)| path.to_str().is_some())
                .map(|(path, entry)| (path.clone(), entry.clone()))
                .collect(),
        }
    }

    /// Another number whenever what is known of files is something else.
    pub(super) fn generation(&self) -> u64 {
        self.known.generation
    }

    /// Looks, and says what came while operations ran.
    pub(super) fn sweep(&mut self, reach: Reach, intervals: &Intervals) -> Vec<String> {
        self.follow_the_path();
        let swept = self.tree.sweep(reach);
        let in_reach = |path: &Path| {
            reach == Reach::Everywhere || path.starts_with(".git") || path.components().count() <= 2
        };
        let root = self.tree.root();
        let changes = self
            .known
            .look(root, &self.path, swept.candidates, &swept.new, in_reach);
        let by_operations = |change: &Change| {
            // A content that changed without its time is the work of somebody who hides it.
            let at = change.moment;
            self.has_foreign_clock || at.is_none_or(|moment| intervals.contain(moment))
        };
        let mut changes: Vec<Change> = changes.into_iter().filter(by_operations).collect();
        changes.retain(|change| {
            change.kind != Kind::Instructs
                || self.instructions.len() < MAX_FILES
                    && self.instructions.insert(change.path.clone())
        });
        let mut told = sentences(&changes, &self.shown_as);
        for (path, moment) in swept.closed {
            if intervals.contain(moment) && !self.closed.contains(&path) {
                let name = shown(&self.shown_as, &path);
                told.push(format!(
                    "{name} cannot be looked into since commands ran; what is left there is not noticed"
                ));
            }
            self.closed.insert(path);
        }
        for path in swept.listed {
            self.closed.remove(&path);
        }
        let left_out = swept.left_out.or(self.known.left_out.take());
        if let Some(first) = left_out.filter(|_| !self.bound_is_told) {
            self.bound_is_told = true;
            let (count, first) = (self.tree.len(), shown(&self.shown_as, &first));
            told.push(format!(
                "{count} directories are looked at here and no more (first left out: {first}); what commands leave there \
                 for programs outside is not noticed"
            ));
        }
        told
    }

    /// The directories of hooks that the user made, not an operation, as absolute paths.
    pub(super) fn hooks_of_user(&mut self, intervals: &Intervals) -> impl Iterator<Item = PathBuf> {
        let is_new = std::mem::replace(&mut self.is_new, false);
        for path in self.tree.new_hooks().into_iter().flatten() {
            let made = identity(self.tree.root(), &path).map(|it| it.changed);
            let by_user = match self.has_foreign_clock {
                true => is_new,
                false => made.is_ok_and(|made| !intervals.contain(made)),
            };
            if by_user {
                self.hooks.insert(path);
            }
        }
        self.hooks.iter().map(|path| self.path.join(path))
    }

    /// When another directory has taken its place, that one is the scope.
    fn follow_the_path(&mut self) {
        let Ok(root) = open_directory(&self.path) else {
            return;
        };
        let Ok(now) = identity(root.as_fd(), Path::new("")) else {
            return;
        };
        if !now.is_same(&self.top) {
            self.top = now;
            self.tree = self.tree.anew(root);
        }
    }
}

/// Whether a file system is on another machine, or made up by a program.
#[cfg(target_os = "linux")]
fn has_foreign_clock(root: impl std::os::fd::AsFd) -> bool {
    // NFS, SMB, 9P, FUSE, Ceph, AFS, virtiofs shares the number of FUSE.
    const FOREIGN: [u32; 7] = [
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x6573_5546,
        0x00c3_6400,
        0x5346_414f,
    ];
    rustix::fs::fstatfs(root)
        .is_ok_and(|about| u32::try_from(about.f_type).is_ok_and(|kind| FOREIGN.contains(&kind)))
}

#[cfg(not(target_os = "linux"))]
fn has_foreign_clock(_root: impl std::os::fd::AsFd) -> bool {
    false
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    /// Operations run from before anything was made.
    fn always() -> Intervals {
        let mut intervals = Intervals::default();
        intervals.begin(0);
        intervals
    }

    fn watched(path: &Path, bounds: Bounds) -> Watched {
        Watched::new(path, Path::new(""), Also::default(), bounds).unwrap()
    }

    fn sweep(watched: &mut Watched) -> Vec<String> {
        watched.sweep(Reach::Everywhere, &always())
    }

    /// Proves: S54.
    #[test]
    fn a_bound_is_said_once_and_hides_nothing_further_up() {
        let scope = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", 100).collect();
        fs::create_dir_all(scope.path().join(&deep)).unwrap();
        for number in 0..30 {
            fs::create_dir(scope.path().join(format!("{number}"))).unwrap();
        }
        let usual = Bounds::default();
        for bounds in [
            Bounds { depth: 64, ..usual },
            Bounds {
                directories: 20,
                ..usual
            },
            Bounds {
                entries_each: 10,
                ..usual
            },
            Bounds {
                time: Duration::ZERO,
                ..usual
            },
        ] {
            let mut watched = watched(scope.path(), bounds);
            let told = sweep(&mut watched);
            assert_eq!(told.len(), 1, "{bounds:?}: {told:?}");
            assert!(
                told[0].contains("and no more (first left out: "),
                "{told:?}"
            );
            // Which entries of a directory come first is up to the file system.
            if bounds.entries_each > 100 && bounds.time > Duration::ZERO {
                fs::write(scope.path().join(".envrc"), "").unwrap();
                let told = sweep(&mut watched);
                assert_eq!(told.len(), 1, "{bounds:?}: {told:?}");
                assert!(told[0].contains(".envrc has appeared"), "{told:?}");
                fs::remove_file(scope.path().join(".envrc")).unwrap();
            }
        }
    }

    /// Proves: S54.
    #[test]
    fn very_many_files_that_count_are_bounded_and_said() {
        let scope = tempfile::tempdir().unwrap();
        for number in 0..1100 {
            let directory = scope.path().join(format!("{number}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(".envrc"), "").unwrap();
        }
        let mut watched = watched(scope.path(), Bounds::default());
        let told = sweep(&mut watched);
        let counted = told.iter().any(|it| it.contains("900 more such files"));
        let bounded = told.iter().any(|it| it.contains("first left out: "));
        assert!(counted && bounded, "{:?}", &told[95..]);
        assert_eq!(
            sweep(&mut watched),
            Vec::<String>::new(),
            "nothing has changed"
        );
    }

    /// Proves: S54.
    #[test]
    fn what_is_moved_exchanged_or_made_anew_is_seen() {
        let scope = tempfile::tempdir().unwrap();
        let path = |name: &str| scope.path().join(name);
        fs::create_dir_all(path("prepared/.cursor")).unwrap();
        fs::create_dir(path("a")).unwrap();
        let mut watched = watched(scope.path(), Bounds::default());
        sweep(&mut watched);
        fs::rename(path("prepared"), path("moved")).unwrap();
        let told = sweep(&mut watched);
        assert!(told[0].contains("moved/.cursor has appeared"), "{told:?}");
        // Most file systems give the number of a removed directory to the next one.
        fs::remove_dir(path("a")).unwrap();
        fs::create_dir(path("a")).unwrap();
        fs::write(path("a/.envrc"), "").unwrap();
        let told = sweep(&mut watched);
        assert!(told[0].contains("a/.envrc has appeared"), "{told:?}");
        fs::write(path("a/.envrc"), "x").unwrap();
        let before = fs::metadata(path("a/.envrc")).unwrap().modified().unwrap();
        sweep(&mut watched);
        fs::write(path("a/.envrc"), "y").unwrap();
        let file = fs::File::options().write(true).open(path("a/.envrc"));
        file.unwrap().set_modified(before).unwrap();
        let told = sweep(&mut watched);
        assert!(told[0].contains("a/.envrc has changed"), "{told:?}");
    }

    /// Proves: S54.
    #[test]
    fn many_names_in_what_others_wrote_are_one_sentence() {
        let scope = tempfile::tempdir().unwrap();
        for number in 0..200 {
            let package = scope.path().join(format!("node_modules/{number}/.vscode"));
            fs::create_dir_all(package).unwrap();
        }
        let told = sweep(&mut watched(scope.path(), Bounds::default()));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("200 files"), "{told:?}");
    }
}

//! Looks after each operation at what could not be protected.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahma_sandbox::read_beneath;

use super::git_config;
use crate::owner_warnings::OwnerWarnings;

/// A configuration is read up to this size; a larger one is told about as such.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// Remembers what was there and notices what has come.
pub struct TamperWatch {
    scope: PathBuf,
    /// Paths whose appearance or change is told about.
    paths: Vec<PathBuf>,
    /// Git configurations, of which new settings that run programs are told about.
    configurations: Vec<PathBuf>,
    state: Mutex<State>,
    owner: Option<Arc<OwnerWarnings>>,
}

/// What came while operations ran.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TamperFindings {
    /// For the user.
    pub warnings: Vec<String>,
    /// Whether there is a path now that could be protected from here on.
    pub appeared: bool,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    seen: Seen,
}

#[derive(Debug, Default, Clone)]
struct Seen {
    paths: Vec<Option<Identity>>,
    configurations: Vec<Configuration>,
}

#[derive(Debug, Default, Clone)]
struct Configuration {
    identity: Option<Identity>,
    programs: BTreeSet<String>,
}

/// What changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    number: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<Metadata> for Identity {
    fn from(about: Metadata) -> Self {
        Identity {
            number: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

impl TamperWatch {
    /// For a scope and the paths that are meant to be protected in it, protected or not.
    pub fn new(scope: &Path, protected: &[PathBuf]) -> Self {
        let mut paths = protected.to_vec();
        // With this file Git takes hooks and configuration from another directory.
        paths.push(scope.join(".git/commondir"));
        let mut configurations = vec![
            scope.join(".git/config"),
            scope.join(".git/config.worktree"),
        ];
        for hooks in protected.iter().filter(|path| path.ends_with("hooks")) {
            let module = hooks.parent().filter(|parent| !parent.ends_with(".git"));
            configurations.extend(module.map(|module| module.join("config")));
        }
        let watch = TamperWatch {
            scope: scope.to_owned(),
            paths,
            configurations,
            state: Mutex::default(),
            owner: None,
        };
        watch.state().seen = watch.look(&Seen::default());
        watch
    }

    /// The same, which tells the owner what it finds.
    pub fn with_owner(self, owner: Arc<OwnerWarnings>) -> Self {
        let owner = Some(owner);
        TamperWatch { owner, ..self }
    }

    /// An operation begins. What the operator changed while none ran is nothing to tell about; but
    /// whether there is a path now that could be protected is returned.
    pub fn begin(&self) -> bool {
        let mut state = self.state();
        state.running += 1;
        if state.running > 1 {
            return false;
        }
        let now = self.look(&state.seen);
        let appeared = has_appeared(&state.seen, &now);
        state.seen = now;
        appeared
    }

    /// An operation has ended: what has come since it began, or since the last one ended.
    pub fn end(&self) -> TamperFindings {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        let now = self.look(&state.seen);
        let warnings = self.compare(&state.seen, &now);
        let appeared = has_appeared(&state.seen, &now);
        state.seen = now;
        drop(state);
        for warning in &warnings {
            if let Some(owner) = &self.owner {
                owner.tell(warning);
            }
        }
        TamperFindings { warnings, appeared }
    }

    fn look(&self, before: &Seen) -> Seen {
        let paths = self.paths.iter().map(|path| identity(path)).collect();
        let configurations = self.configurations.iter().enumerate().map(|(index, path)| {
            let now = identity(path);
            match before.configurations.get(index) {
                Some(known) if known.identity == now => known.clone(),
                _ => Configuration {
                    identity: now,
                    programs: read_programs(&self.scope, path),
                },
            }
        });
        Seen {
            paths,
            configurations: configurations.collect(),
        }
    }

    fn compare(&self, before: &Seen, now: &Seen) -> Vec<String> {
        let mut warnings = Vec::new();
        let changes = self.paths.iter().zip(&before.paths).zip(&now.paths);
        for ((path, before), now) in changes {
            let what = match (before, now) {
                (None, Some(_)) => "has appeared",
                (Some(before), Some(now)) if before != now => "has changed",
                _ => continue,
            };
            let name = self.name(path);
            warnings.push(format!(
                "while commands ran, {name} {what}; programs outside the sandbox may run \
                 what is in it, so look at it before you use them here"
            ));
        }
        let changes = self
            .configurations
            .iter()
            .zip(&before.configurations)
            .zip(&now.configurations);
        for ((path, before), now) in changes {
            for setting in now.programs.difference(&before.programs) {
                let name = self.name(path);
                warnings.push(format!(
                    "while commands ran, {name} got `{setting}`, which makes Git run a \
                     program or read further settings; look at it before you use Git here"
                ));
            }
        }
        warnings
    }

    fn name<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        path.strip_prefix(&self.scope).unwrap_or(path).display()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Counters and what was seen are right after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is a path that was not there before, or another one in its place: what the host has
/// mounted there is gone then.
fn has_appeared(before: &Seen, now: &Seen) -> bool {
    let number = |seen: &Option<Identity>| seen.map(|it| it.number);
    let mut paths = before.paths.iter().zip(&now.paths);
    paths.any(|(before, now)| now.is_some() && number(before) != number(now))
}

/// A handful of looks at directories the command has just used; they are in the kernel's cache.
fn identity(path: &Path) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().map(Identity::from)
}

/// Settings of a configuration that run programs. What cannot be read as an ordinary file, such as a
/// link, counts as something that runs one.
fn read_programs(scope: &Path, path: &Path) -> BTreeSet<String> {
    let inside = path.strip_prefix(scope).unwrap_or(path);
    match read_beneath(scope, inside, MAX_CONFIG_BYTES + 1) {
        Ok(bytes) if bytes.len() as u64 <= MAX_CONFIG_BYTES => {
            git_config::programs_run(&String::from_utf8_lossy(&bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
        _ => BTreeSet::from(["something else than an ordinary configuration".to_owned()]),
    }
}

//! The threads that look at what commands leave behind, for all scopes of a server, beside everything else: one for first
//! looks, which may take seconds, and one for all others.
//!
//! Decides when a scope is looked at. Must not be waited for by a call that is shorter than the look.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::identity::{Moment, identity};
use super::scope_guard::{ProtectedPath, ScopeGuard, Shared, now};
use super::snapshot::Snapshot;
use super::tree::{Also, Bounds, Reach};
use super::watched::Watched;
use crate::owner_warnings::OwnerWarnings;

/// While operations run and after them, a scope is looked at this often at most.
const PERIOD: Duration = Duration::from_secs(1);
/// And no oftener than lets a look take one part in so many of the time.
const SHARE: u32 = 20;
/// While one operation runs very long.
const LONG_PERIOD: Duration = Duration::from_secs(5);
/// From when on it does.
const LONG: Duration = Duration::from_secs(60);
/// Paths of one scope whose change is looked for before and after each operation.
const MAX_QUICK: usize = 12;
/// Directories of hooks deep in a scope that are made read-only: each is one mount of every host.
const MAX_IN_PLACE: usize = 128;

/// What is watched for a scope.
#[derive(Debug, Clone)]
pub struct WatchConfig {
    /// The directory.
    pub scope: PathBuf,
    /// Further directories that commands can write.
    pub granted: Vec<PathBuf>,
    /// Directories of the scope that tool files are read from.
    pub tools: Vec<PathBuf>,
    /// Paths that are read-only for commands while they exist.
    pub protected: Vec<PathBuf>,
    /// Paths that the operator wants commands to write.
    pub unprotected: Vec<PathBuf>,
    /// Where is kept for the next server what this one saw.
    pub state: Option<PathBuf>,
}

/// Looks after scopes. The threads end with the last copy of this and the last scope.
#[derive(Clone)]
pub struct Guard {
    requests: Sender<Request>,
    /// Scopes that were never looked at.
    new: Sender<Box<Scope>>,
}

pub(super) enum Request {
    /// A scope is looked at for the first time; what is asked of it meanwhile waits.
    Expect(u64),
    /// It has been.
    Watch(Box<Scope>),
    /// Operations run, or ran.
    Schedule(u64),
    /// Somebody waits for a look.
    Look(u64, Reach, oneshot::Sender<()>),
    /// The last look: nothing runs any more.
    Finish(u64, oneshot::Sender<()>),
}

/// A scope as the thread knows it.
pub(super) struct Scope {
    id: u64,
    config: WatchConfig,
    watched: Vec<Watched>,
    shared: Weak<Shared>,
    /// When it is to be looked at next.
    due: Option<Instant>,
    last: Option<(Instant, Duration)>,
    /// What the snapshots say: since when operations run, and what was seen.
    saved: Option<(Option<Moment>, u64)>,
}

impl Guard {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let (requests, received) = channel();
        std::thread::Builder::new()
            .name("guard".to_owned())
            .spawn(move || run(&received))?;
        let (new, to_open) = channel::<Box<Scope>>();
        let opened = requests.clone();
        std::thread::Builder::new()
            .name("guard-first".to_owned())
            .spawn(move || {
                for mut scope in to_open {
                    let looking = AssertUnwindSafe(|| {
                        scope.open();
                        scope.look(Reach::Everywhere);
                        scope.save();
                    });
                    if catch_unwind(looking).is_err() {
                        scope.give_up();
                    }
                    let _ = opened.send(Request::Watch(scope));
                }
            })?;
        Ok(Guard { requests, new })
    }

    /// Watches a scope from now on. The first look is made beside everything else; only single files are looked at before
    /// this returns.
    pub fn watch(&self, config: WatchConfig, owner: Option<Arc<OwnerWarnings>>) -> ScopeGuard {
        let guard = ScopeGuard::new(self.requests.clone(), owner);
        guard.shared().set_quick(config.quick());
        guard.shared().set_protected(config.look_at_protected());
        let scope = Scope {
            id: guard.id(),
            shared: Arc::downgrade(guard.shared()),
            watched: Vec::new(),
            due: None,
            last: None,
            saved: None,
            config,
        };
        let is_expected = self.requests.send(Request::Expect(scope.id)).is_ok();
        if !is_expected || self.new.send(Box::new(scope)).is_err() {
            guard.shared().tell_dead();
        }
        guard
    }
}

impl WatchConfig {
    /// For a scope alone.
    pub fn new(scope: &Path, protected: &[PathBuf]) -> Self {
        WatchConfig {
            scope: scope.to_owned(),
            granted: Vec::new(),
            tools: Vec::new(),
            protected: protected.to_vec(),
            unprotected: Vec::new(),
            state: None,
        }
    }

    /// Paths whose change is looked for before and after each operation: the top, and what is protected below it.
    fn quick(&self) -> Vec<PathBuf> {
        let usual = ["", ".git", ".git/config"].map(|it| self.scope.join(it));
        let protected = self.protected.iter().filter(|it| it.exists());
        let all = usual.into_iter().chain(protected.cloned());
        all.take(MAX_QUICK).collect()
    }

    /// What counts in a directory besides the names that count everywhere.
    fn also(&self, directory: &Path) -> Also {
        let below = |all: &[PathBuf]| {
            let below = all.iter().filter_map(|it| it.strip_prefix(directory).ok());
            below.map(Path::to_owned).collect::<Vec<_>>()
        };
        Also {
            tools: below(&self.tools),
            protected: below(&self.protected),
        }
    }

    fn look_at_protected(&self) -> Vec<ProtectedPath> {
        let look_at = |path: &PathBuf| {
            let now = identity(rustix::fs::CWD, path).ok()?;
            Some((now.number, now.born))
        };
        self.protected.iter().map(look_at).collect()
    }
}

fn run(requests: &Receiver<Request>) {
    let mut scopes = Scopes::default();
    loop {
        let due = scopes.known.values().filter_map(|it| it.due).min();
        let request = match due {
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => requests.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match request {
            Ok(request) => scopes.take(request),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Who waits for a look comes first.
        for request in requests.try_iter() {
            scopes.take(request);
        }
        let now = Instant::now();
        let next = scopes
            .known
            .values_mut()
            .filter(|it| it.due.is_some_and(|due| due <= now));
        if let Some(scope) = next.min_by_key(|it| it.due) {
            scope.look(Reach::Everywhere);
            scope.save();
            scope.plan();
        }
        let is_open = |scope: &Scope| scope.shared.strong_count() > 0;
        scopes.known.retain(|_, scope| is_open(scope));
    }
}

/// The scopes of the thread.
#[derive(Default)]
struct Scopes {
    known: BTreeMap<u64, Scope>,
    /// What was asked of those that are looked at for the first time.
    expected: BTreeMap<u64, Vec<Request>>,
}

impl Scopes {
    fn take(&mut self, request: Request) {
        let id = match &request {
            Request::Expect(id)
            | Request::Schedule(id)
            | Request::Look(id, ..)
            | Request::Finish(id, _) => *id,
            Request::Watch(scope) => scope.id,
        };
        match request {
            Request::Expect(id) => {
                self.expected.insert(id, Vec::new());
            }
            Request::Watch(mut scope) => {
                // Operations may have run meanwhile.
                scope.plan();
                self.known.insert(id, *scope);
                for request in self.expected.remove(&id).unwrap_or_default() {
                    self.take(request);
                }
            }
            request => match self.expected.get_mut(&id) {
                Some(waiting) => waiting.push(request),
                None => self.ask(id, request),
            },
        }
    }

    fn ask(&mut self, id: u64, request: Request) {
        match request {
            Request::Expect(_) | Request::Watch(_) => {}
            Request::Schedule(_) => {
                if let Some(scope) = self.known.get_mut(&id) {
                    scope.operations_run();
                }
            }
            Request::Look(_, reach, reply) => {
                let mut scope = self.known.get_mut(&id);
                if let Some(scope) = &mut scope {
                    scope.look(reach);
                }
                let _ = reply.send(());
                if let Some(scope) = scope {
                    scope.save();
                }
            }
            Request::Finish(_, reply) => {
                if let Some(mut scope) = self.known.remove(&id) {
                    scope.look(Reach::Everywhere);
                    scope.save();
                }
                let _ = reply.send(());
            }
        }
    }
}

impl Scope {
    fn open(&mut self) {
        let scope = &self.config.scope;
        let own = (scope, PathBuf::new(), self.config.also(scope));
        let granted = self.config.granted.iter();
        let granted = granted.map(|path| (path, path.clone(), self.config.also(path)));
        for (path, shown_as, also) in [own].into_iter().chain(granted) {
            // What cannot be opened cannot be watched; commands cannot use it either.
            let Ok(mut watched) = Watched::new(path, &shown_as, also, Bounds::default()) else {
                continue;
            };
            let state = self.config.state.as_deref();
            if let Some(snapshot) = state.and_then(|state| Snapshot::load(state, path)) {
                if let (Some(start), Some(shared)) = (snapshot.open_since, self.shared.upgrade()) {
                    shared.intervals().add(start, now());
                }
                watched.resume(snapshot);
            }
            self.watched.push(watched);
        }
    }

    /// It is not looked at any more, which its owner is told.
    fn give_up(&mut self) {
        self.watched.clear();
        if let Some(shared) = self.shared.upgrade() {
            shared.tell_dead();
        }
    }

    /// Looks at it, and tells what was found.
    fn look(&mut self, reach: Reach) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let begun = Instant::now();
        let mut hooks = Vec::new();
        for watched in &mut self.watched {
            // As it was before the look: an operation that begins meanwhile is looked for next time.
            let intervals = shared.intervals().clone();
            shared.tell(watched.sweep(reach, &intervals));
            hooks.extend(watched.hooks_of_user(&intervals));
        }
        self.protect_in_place(hooks, &shared);
        let took = begun.elapsed();
        if reach == Reach::Everywhere {
            self.last = Some((begun, took));
            shared.set_cost(took);
        }
        // Whether there is one now that was not there, or another one in its place: only a new host protects that.
        shared.set_protected(self.config.look_at_protected());
        shared.set_quick(self.config.quick());
    }

    /// Has the hooks of repositories that the user has deep in the scope protected, as many as is bearable.
    fn protect_in_place(&self, mut hooks: Vec<PathBuf>, shared: &Shared) {
        let decided = || self.config.protected.iter().chain(&self.config.unprotected);
        // What is not text cannot be told to a sandbox host; it is only watched.
        hooks.retain(|path| path.to_str().is_some() && !decided().any(|it| path.starts_with(it)));
        let (count, first) = (hooks.len(), hooks.get(MAX_IN_PLACE).cloned());
        hooks.truncate(MAX_IN_PLACE);
        if let (true, Some(first)) = (shared.set_in_place(hooks), first) {
            let first = first.display();
            shared.tell(vec![format!(
                "there are {count} repositories here; the hooks of {MAX_IN_PLACE} are read-only for commands, those of the \
                 others are only watched (the first: {first})"
            )]);
        }
    }

    /// Operations run, or ran since the last look.
    fn operations_run(&mut self) {
        self.save();
        let wait = self.period(Duration::ZERO);
        let soonest = match self.last {
            Some((begun, _)) => begun + wait,
            None => Instant::now(),
        };
        let due = soonest.max(Instant::now());
        self.due = Some(self.due.map_or(due, |it| it.min(due)));
    }

    /// When it is looked at again: while operations run, and once after them.
    fn plan(&mut self) {
        self.due = None;
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if let Some(since) = shared.runs_since() {
            self.due = Some(Instant::now() + self.period(since));
        } else if shared.is_done() {
            // Nothing ran since the look began; the next operation wakes the thread.
        } else {
            self.due = Some(Instant::now() + self.period(Duration::ZERO));
        }
    }

    fn period(&self, running: Duration) -> Duration {
        let least = if running > LONG { LONG_PERIOD } else { PERIOD };
        let cost = self.last.map_or(Duration::ZERO, |(_, took)| took);
        least.max(cost * SHARE)
    }

    /// Keeps what was seen for the next server, when it is not what is kept already.
    fn save(&mut self) {
        let (Some(state), Some(shared)) = (&self.config.state, self.shared.upgrade()) else {
            return;
        };
        let open_since = shared.intervals().open_since();
        let seen = self.watched.iter().map(Watched::generation).sum();
        if self.saved == Some((open_since, seen)) {
            return;
        }
        self.saved = Some((open_since, seen));
        for watched in &self.watched {
            if let Err(error) = watched.snapshot(open_since).save(state) {
                tracing::warn!(%error, "what the guard saw cannot be kept for the next server");
            }
        }
    }
}

//! What operations of a scope say to the guard, and what they learn from it.
//!
//! Costs a call some looks at single files. Must not wait for the guard but where something has changed at the top of the
//! scope, or the operation was long enough for a whole look.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::guard::Request;
use super::identity::{Identity, Moment, identity};
use super::intervals::Intervals;
use super::tree::Reach;
use crate::owner_warnings::OwnerWarnings;

/// An operation that ran so many times as long as a look waits for one, unless another one that ended had one made in such
/// a time before: many at the same time must not keep a core busy with looks.
const WORTH_WAITING: u32 = 20;
/// What it takes to ask for one.
const ASKING: Duration = Duration::from_micros(200);
/// Nobody waits longer; what is found later is told with the next result.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same while the first look is made.
const FIRST_PATIENCE: Duration = Duration::from_millis(100);
/// The same when the server ends.
const LAST_PATIENCE: Duration = Duration::from_millis(500);
/// Warnings that wait for a result; the owner has been told of all of them.
const MAX_PENDING: usize = 100;

/// Which scope is meant.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// One scope that is watched.
pub struct ScopeGuard {
    id: u64,
    requests: Sender<Request>,
    shared: Arc<Shared>,
}

/// An operation that runs, until this is dropped.
pub struct Running {
    shared: Arc<Shared>,
    since: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.ended();
    }
}

/// What the guard and the operations of a scope both know.
pub(super) struct Shared {
    intervals: Mutex<Intervals>,
    /// Since when operations run without a pause.
    since: Mutex<Option<Instant>>,
    /// Whether the guard knows that operations ran since its last look.
    is_scheduled: AtomicBool,
    /// How long a look at everything takes, in nanoseconds.
    cost: AtomicU64,
    /// When an operation that ended last asked for one.
    asked: Mutex<Option<Instant>>,
    quick: Mutex<Vec<(PathBuf, Option<Identity>)>>,
    /// What the protected paths are; none before the first look.
    protected: Mutex<Option<Vec<ProtectedPath>>>,
    needs_renewal: AtomicBool,
    renewal_wanted: Notify,
    is_dead_told: AtomicBool,
    /// What only a host that starts from now on protects.
    in_place: Mutex<Arc<[PathBuf]>>,
    pending: Mutex<Vec<String>>,
    owner: Option<Arc<OwnerWarnings>>,
}

/// Number and birth of what is at a protected path, if anything is.
pub(super) type ProtectedPath = Option<(u64, Option<Moment>)>;

/// The moment it is by the clock of files.
pub(super) fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Moment::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(Moment::MAX)
}

impl ScopeGuard {
    pub(super) fn new(requests: Sender<Request>, owner: Option<Arc<OwnerWarnings>>) -> Self {
        ScopeGuard {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            requests,
            shared: Arc::new(Shared {
                intervals: Mutex::default(),
                since: Mutex::default(),
                is_scheduled: AtomicBool::new(false),
                cost: AtomicU64::new(0),
                asked: Mutex::default(),
                quick: Mutex::default(),
                protected: Mutex::default(),
                needs_renewal: AtomicBool::new(false),
                renewal_wanted: Notify::new(),
                is_dead_told: AtomicBool::new(false),
                in_place: Mutex::new(Arc::default()),
                pending: Mutex::default(),
                owner,
            }),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// An operation begins.
    pub async fn begin(&self) -> Running {
        // What the user changed before it is not its work, but may be something to protect from it.
        if self.shared.has_changed() {
            self.look(Reach::Top).await;
        }
        self.shared.began();
        self.schedule();
        Running {
            shared: Arc::clone(&self.shared),
            since: Instant::now(),
        }
    }

    /// An operation has ended: what is to be told with its result.
    pub async fn end(&self, running: Running) -> Vec<String> {
        let ran = running.since.elapsed();
        drop(running);
        self.schedule();
        if self.shared.is_worth_a_look(ran) {
            self.look(Reach::Everywhere).await;
        } else if self.shared.has_changed() {
            self.look(Reach::Top).await;
        }
        std::mem::take(&mut *lock(&self.shared.pending))
    }

    /// When there is a path now that only a new sandbox host protects: what it is to protect deep in the scope.
    pub fn renewal(&self) -> Option<Arc<[PathBuf]>> {
        let is_needed = self.shared.needs_renewal.swap(false, Ordering::AcqRel);
        is_needed.then(|| Arc::clone(&lock(&self.shared.in_place)))
    }

    /// Waits until there may be such a path.
    pub async fn renewal_wanted(&self) {
        self.shared.renewal_wanted.notified().await;
    }

    /// Tells the owner, and whoever gets the next result.
    pub fn tell(&self, warning: String) {
        self.shared.tell(vec![warning]);
    }

    /// Nothing runs any more: the last look, which no command can hide from. What is not seen in time is told by the next
    /// server.
    pub async fn finish(&self) {
        let (reply, answer) = oneshot::channel();
        if self.requests.send(Request::Finish(self.id, reply)).is_ok() {
            let _ = timeout(LAST_PATIENCE, answer).await;
        }
    }

    async fn look(&self, reach: Reach) {
        let (reply, answer) = oneshot::channel();
        // Before the first look at everything has been made, the guard may be busy with it.
        let is_first = self.shared.cost.load(Ordering::Relaxed) == 0;
        let patience = if is_first { FIRST_PATIENCE } else { PATIENCE };
        match self.requests.send(Request::Look(self.id, reach, reply)) {
            Ok(()) => drop(timeout(patience, answer).await),
            Err(_) => self.shared.tell_dead(),
        }
    }

    /// Wakes the guard, unless it knows.
    fn schedule(&self) {
        let is_known = self.shared.is_scheduled.swap(true, Ordering::Relaxed);
        if !is_known && self.requests.send(Request::Schedule(self.id)).is_err() {
            self.shared.tell_dead();
        }
    }
}

impl Shared {
    pub(super) fn intervals(&self) -> MutexGuard<'_, Intervals> {
        lock(&self.intervals)
    }

    fn began(&self) {
        self.intervals().begin(now());
        lock(&self.since).get_or_insert_with(Instant::now);
    }

    fn ended(&self) {
        let mut intervals = self.intervals();
        intervals.end(now());
        if intervals.running() == 0 {
            *lock(&self.since) = None;
        }
    }

    /// How long operations have been running without a pause.
    pub(super) fn runs_since(&self) -> Option<Duration> {
        lock(&self.since).map(|it| it.elapsed())
    }

    /// Whether no operation has begun or ended since the guard asked last.
    pub(super) fn is_done(&self) -> bool {
        !self.is_scheduled.swap(false, Ordering::Relaxed)
    }

    /// Whether an operation that ran so long and has ended waits for a look at everything.
    fn is_worth_a_look(&self, ran: Duration) -> bool {
        let cost = Duration::from_nanos(self.cost.load(Ordering::Relaxed));
        let worth = (cost + ASKING) * WORTH_WAITING;
        if cost == Duration::ZERO || ran < worth {
            return false;
        }
        let mut asked = lock(&self.asked);
        let is_due = asked.is_none_or(|it| it.elapsed() >= worth);
        if is_due {
            *asked = Some(Instant::now());
        }
        is_due
    }

    pub(super) fn set_cost(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.cost.store(nanoseconds.max(1), Ordering::Relaxed);
    }

    /// Tells the owner at once, and whoever gets the next result.
    pub(super) fn tell(&self, warnings: Vec<String>) {
        for warning in warnings {
            if let Some(owner) = &self.owner {
                owner.tell(&warning);
            }
            let mut pending = lock(&self.pending);
            if pending.len() < MAX_PENDING {
                pending.push(warning);
            }
        }
    }

    /// Nobody looks any more, which must not go unnoticed.
    pub(super) fn tell_dead(&self) {
        if !self.is_dead_told.swap(true, Ordering::Relaxed) {
            self.tell(vec![
                "what commands leave behind for programs outside is not looked at any more, because of a mistake in the \
                 server; look at it yourself, and restart the server"
                    .to_owned(),
            ]);
        }
    }

    pub(super) fn set_quick(&self, paths: Vec<PathBuf>) {
        let mut quick = lock(&self.quick);
        let known = quick.iter().map(|(path, _)| path);
        if !known.eq(paths.iter()) {
            *quick = paths.into_iter().map(|path| (path, None)).collect();
            for (path, seen) in quick.iter_mut() {
                *seen = look_at(path);
            }
        }
    }

    /// Whether one of the few paths has changed since this was asked last.
    fn has_changed(&self) -> bool {
        let mut has_changed = false;
        for (path, seen) in lock(&self.quick).iter_mut() {
            let now = look_at(path);
            has_changed |= *seen != now;
            *seen = now;
        }
        has_changed
    }

    pub(super) fn set_protected(&self, now: Vec<ProtectedPath>) {
        let mut before = lock(&self.protected);
        if let Some(before) = before.as_ref() {
            let mut paths = before.iter().zip(&now);
            if paths.any(|(before, now)| now.is_some() && before != now) {
                self.want_renewal();
            }
        }
        *before = Some(now);
    }

    fn want_renewal(&self) {
        self.needs_renewal.store(true, Ordering::Release);
        self.renewal_wanted.notify_one();
    }

    /// Protects paths deep in the scope from the next host on. Whether there is one more than before.
    pub(super) fn set_in_place(&self, paths: Vec<PathBuf>) -> bool {
        let mut before = lock(&self.in_place);
        let is_more = paths.iter().any(|path| !before.contains(path));
        if is_more {
            *before = paths.into();
            self.want_renewal();
        }
        is_more
    }
}

fn look_at(path: &Path) -> Option<Identity> {
    let looked: io::Result<Identity> = identity(rustix::fs::CWD, path);
    looked.ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holds plain values, which are right after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_end_together_share_a_look() {
        let (requests, _received) = std::sync::mpsc::channel();
        let guard = ScopeGuard::new(requests, None);
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(7200));
        assert!(!guard.shared.is_worth_a_look(long), "nobody has looked yet");
        guard.shared.set_cost(Duration::from_secs(180));
        assert!(!guard.shared.is_worth_a_look(short));
        assert!(guard.shared.is_worth_a_look(long));
        assert!(!guard.shared.is_worth_a_look(long), "just asked for");
    }

    /// Proves: S54.
    #[tokio::test]
    async fn a_guard_that_has_died_is_told_of_once() {
        let (requests, received) = std::sync::mpsc::channel();
        drop(received);
        let owner = Arc::new(OwnerWarnings::new(Path::new("/scope"), None, None));
        let guard = ScopeGuard::new(requests, Some(Arc::clone(&owner)));
        for _ in 0..2 {
            let running = guard.begin().await;
            guard.end(running).await;
        }
        let told = owner.recent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("not looked at any more"), "{told:?}");
    }
}

//! Which servers there are now, and which of them end because the operator's file names them no more. Must not start or end
//! any.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::upstream::Upstream;

/// Servers in the order of their file.
pub(super) type Upstreams = Arc<[Arc<Upstream>]>;

/// The servers.
pub(super) struct Members(Mutex<Inner>);

struct Inner {
    current: Upstreams,
    /// Those that serve until what takes their place is offered.
    leaving: Vec<Arc<Upstream>>,
    is_changing: bool,
}

impl Members {
    pub(super) fn new(current: Vec<Arc<Upstream>>) -> Self {
        Members(Mutex::new(Inner {
            current: current.into(),
            leaving: Vec::new(),
            is_changing: false,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing of it is left half changed by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that there are now.
    pub(super) fn current(&self) -> Upstreams {
        Arc::clone(&self.lock().current)
    }

    /// Those that have a process, or may have one.
    pub(super) fn all(&self) -> Vec<Arc<Upstream>> {
        let inner = self.lock();
        let all = inner.current.iter().chain(&inner.leaving);
        all.map(Arc::clone).collect()
    }

    /// Whether others are about to be offered: what is found out meanwhile is offered together with them.
    pub(super) fn is_changing(&self) -> bool {
        self.lock().is_changing
    }

    /// Puts others in the place of those that there are; those that leave.
    pub(super) fn change(&self, now: Vec<Arc<Upstream>>) -> Vec<Arc<Upstream>> {
        let mut inner = self.lock();
        let stays = |it: &&Arc<Upstream>| now.iter().any(|now| Arc::ptr_eq(now, it));
        let leaving: Vec<Arc<Upstream>> = inner
            .current
            .iter()
            .filter(|it| !stays(it))
            .map(Arc::clone)
            .collect();
        inner.leaving.extend(leaving.iter().map(Arc::clone));
        inner.current = now.into();
        inner.is_changing = true;
        leaving
    }

    /// What there is now is complete.
    pub(super) fn has_changed(&self) {
        self.lock().is_changing = false;
    }

    /// Those that were leaving have ended.
    pub(super) fn have_left(&self) {
        self.lock().leaving.clear();
    }
}

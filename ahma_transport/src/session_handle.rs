//! The handle on a session: its name, its end, and what keeps it open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

/// What a handler may know of the session it serves, among the extensions of every request.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    id: Arc<str>,
    closed: CancellationToken,
    guards: Arc<AtomicUsize>,
    is_locked: Arc<AtomicBool>,
}

impl SessionHandle {
    /// The handle on a new session of that name.
    pub fn new(id: Arc<str>) -> Self {
        SessionHandle {
            id,
            closed: CancellationToken::new(),
            guards: Arc::default(),
            is_locked: Arc::default(),
        }
    }

    /// The name of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Cancelled when the session ends.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Locks the roots: a client that says they have changed is refused, and its session ends.
    pub fn lock_roots(&self) {
        self.is_locked.store(true, Ordering::Relaxed);
    }

    /// Whether the roots are locked.
    pub fn are_roots_locked(&self) -> bool {
        self.is_locked.load(Ordering::Relaxed)
    }

    /// Keeps the session from ending for want of use until it is dropped.
    pub fn guard(&self) -> SessionGuard {
        self.guards.fetch_add(1, Ordering::Relaxed);
        SessionGuard(Arc::clone(&self.guards))
    }

    /// Whether something keeps the session open.
    pub fn is_guarded(&self) -> bool {
        self.guards.load(Ordering::Relaxed) > 0
    }
}

/// Keeps a session open until it is dropped.
#[derive(Debug)]
pub struct SessionGuard(Arc<AtomicUsize>);

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

//! The handle on a session: its name, its end, and what keeps it open.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// What a handler may know of the session it serves, among the extensions of every request.
#[derive(Clone)]
pub struct SessionHandle {
    id: Arc<str>,
    closed: CancellationToken,
    guards: Arc<AtomicUsize>,
    /// What ends the session when its client has done what it may not.
    revoke: Arc<OnceLock<Revoke>>,
}

type Revoke = Box<dyn Fn() + Send + Sync>;

impl SessionHandle {
    /// The handle on a new session of that name.
    pub fn new(id: Arc<str>) -> Self {
        SessionHandle {
            id,
            closed: CancellationToken::new(),
            guards: Arc::default(),
            revoke: Arc::default(),
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

    /// Ends the session, because its client has done what it may not.
    pub fn revoke(&self) {
        if let Some(revoke) = self.revoke.get() {
            revoke();
        }
    }

    /// Decides, once, what ends the session then.
    pub fn when_revoked(&self, revoke: impl Fn() + Send + Sync + 'static) {
        let _ = self.revoke.set(Box::new(revoke));
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

impl fmt::Debug for SessionHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("SessionHandle")
            .field(&self.id)
            .finish()
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

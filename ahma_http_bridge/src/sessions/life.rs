//! What a handler may know of the session it serves, and how it keeps it open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::transport::streamable_http_server::session::SessionId;
use tokio_util::sync::CancellationToken;

/// The life of a session, from the view of what runs for it.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    id: SessionId,
    over: CancellationToken,
    guards: Arc<AtomicUsize>,
    is_locked: Arc<AtomicBool>,
}

impl SessionHandle {
    pub(super) fn new(id: SessionId) -> Self {
        SessionHandle {
            id,
            over: CancellationToken::new(),
            guards: Arc::default(),
            is_locked: Arc::default(),
        }
    }

    /// The name of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Cancelled when the session is over.
    pub fn closed(&self) -> &CancellationToken {
        &self.over
    }

    /// From now on the client may not change its roots: if it says that it has, it is refused and the session ends.
    pub fn lock_roots(&self) {
        self.is_locked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_roots_locked(&self) -> bool {
        self.is_locked.load(Ordering::Relaxed)
    }

    /// The session does not end for want of use before this is dropped.
    pub fn guard(&self) -> SessionGuard {
        self.guards.fetch_add(1, Ordering::Relaxed);
        SessionGuard(Arc::clone(&self.guards))
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.guards.load(Ordering::Relaxed) > 0
    }
}

/// Keeps a session open.
#[derive(Debug)]
pub struct SessionGuard(Arc<AtomicUsize>);

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

//! What a handler may know of the session it serves, and how it keeps it open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::transport::streamable_http_server::session::SessionId;
use tokio_util::sync::CancellationToken;

/// The life of a session, from the view of what runs for it.
#[derive(Debug, Clone)]
pub struct SessionLife {
    id: SessionId,
    over: CancellationToken,
    leases: Arc<AtomicUsize>,
    is_locked: Arc<AtomicBool>,
}

impl SessionLife {
    pub(super) fn new(id: SessionId) -> Self {
        SessionLife {
            id,
            over: CancellationToken::new(),
            leases: Arc::default(),
            is_locked: Arc::default(),
        }
    }

    /// The name of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Cancelled when the session is over.
    pub fn over(&self) -> &CancellationToken {
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
    pub fn lease(&self) -> SessionLease {
        self.leases.fetch_add(1, Ordering::Relaxed);
        SessionLease(Arc::clone(&self.leases))
    }

    pub(super) fn is_leased(&self) -> bool {
        self.leases.load(Ordering::Relaxed) > 0
    }
}

/// Keeps a session open.
#[derive(Debug)]
pub struct SessionLease(Arc<AtomicUsize>);

impl Drop for SessionLease {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

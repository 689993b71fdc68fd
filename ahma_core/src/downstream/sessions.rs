//! Servers that have a process for each session: which one serves whom, how many there are, and their end with the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahma_transport::SessionHandle;
use futures_util::future::join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::upstream::Upstream;

/// Sessions that can have a process of one server at the same time.
const MAX_SESSIONS: usize = 20;

/// The processes of one server.
#[derive(Default)]
pub(super) struct Sessions {
    /// By the session's name. Those that do not run are here too, so that there are as many as sessions at most.
    upstreams: Mutex<HashMap<Arc<str>, Arc<Upstream>>>,
    seats: Seats,
}

/// How many processes may run.
#[derive(Clone)]
pub(super) struct Seats(Arc<Semaphore>);

impl Default for Seats {
    fn default() -> Self {
        Seats(Arc::new(Semaphore::new(MAX_SESSIONS)))
    }
}

impl Seats {
    /// A place for one more process of this server, until it is dropped.
    pub(super) fn take(&self, server: &str) -> Result<OwnedSemaphorePermit, String> {
        let seat = Arc::clone(&self.0).try_acquire_owned();
        seat.map_err(|_| {
            format!(
                "the server `{server}` has a process for each session, and {MAX_SESSIONS} sessions use it already, the most \
                 that can. Try again when one of them has ended or has not used it for its `idle_minutes`; or its owner \
                 leaves out `per_session`, so that all share one process"
            )
        })
    }
}

impl Sessions {
    fn upstreams(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Upstream>>> {
        // Nothing of it is left half changed by a panic.
        self.upstreams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Upstream>> {
        self.upstreams().values().map(Arc::clone).collect()
    }

    /// Ends them all.
    pub(super) async fn shut_down(&self, why: &'static str) {
        let all = self.all();
        join_all(all.iter().map(|it| it.shut_down(why))).await;
    }
}

impl Upstream {
    /// Whoever serves a session: a process of its own, where the operator wants that and there is a session, else the one
    /// for all.
    pub(super) fn serving(self: &Arc<Self>, session: Option<&SessionHandle>) -> Arc<Upstream> {
        let Some(session) = session.filter(|_| self.spec().per_session) else {
            return Arc::clone(self);
        };
        let id: Arc<str> = session.id().into();
        let mut upstreams = self.sessions.upstreams();
        if let Some(upstream) = upstreams.get(&id) {
            return Arc::clone(upstream);
        }
        let upstream = self.for_session(self.sessions.seats.clone());
        upstreams.insert(Arc::clone(&id), Arc::clone(&upstream));
        drop(upstreams);
        let (server, own, closed) = (
            Arc::downgrade(self),
            Arc::clone(&upstream),
            session.closed().clone(),
        );
        tokio::spawn(async move {
            tokio::select! {
                () = closed.cancelled() => own.shut_down("its session has ended").await,
                () = own.over.cancelled() => {}
            }
            if let Some(server) = server.upgrade() {
                server.sessions.upstreams().remove(&id);
            }
        });
        upstream
    }
}

//! Connections that have not shown the token: few, for a short time, and the first to go.
//!
//! Whoever can open connections, such as a confined command with a network, must not keep those out who have the token.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The strangers that are connected, the oldest first.
pub(crate) struct Strangers {
    connected: Mutex<VecDeque<Connection>>,
    most: usize,
}

/// A connection, until it is known to whom it belongs.
#[derive(Clone)]
pub(crate) struct Connection(Arc<State>);

struct State {
    is_known: AtomicBool,
    /// The place it takes among those who have the same token.
    place: OnceLock<OwnedSemaphorePermit>,
    /// It has to give way.
    gone: CancellationToken,
}

impl Strangers {
    pub(crate) fn new(most: usize) -> Self {
        Strangers {
            connected: Mutex::default(),
            most,
        }
    }

    /// A connection comes, and is a stranger at first. When there are too many, the oldest gives way.
    pub(crate) fn come(&self) -> Connection {
        let connection = Connection(Arc::new(State {
            is_known: AtomicBool::new(false),
            place: OnceLock::new(),
            gone: CancellationToken::new(),
        }));
        let mut connected = self.lock();
        connected.push_back(connection.clone());
        if connected.len() > self.most {
            // Those who are known by now are strangers no more.
            connected.retain(|it| !it.is_known());
        }
        if connected.len() > self.most
            && let Some(oldest) = connected.pop_front()
        {
            oldest.0.gone.cancel();
        }
        connection
    }

    /// A connection has ended.
    pub(crate) fn go(&self, connection: &Connection) {
        if !connection.is_known() {
            self.lock().retain(|it| !Arc::ptr_eq(&it.0, &connection.0));
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        // A list of pointers is consistent after any panic.
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// A token was shown on it, of which so many connections may be open. One too many is served like those of strangers:
    /// for a short time, and the first to go.
    pub(crate) fn becomes_known(&self, places: &Arc<Semaphore>) {
        if !self.is_known()
            && let Ok(place) = Arc::clone(places).try_acquire_owned()
        {
            let _ = self.0.place.set(place);
            self.0.is_known.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.is_known.load(Ordering::Relaxed)
    }

    /// Waits until it has to give way, which it need not when the token is shown before that.
    pub(crate) async fn gives_way(&self) {
        self.0.gone.cancelled().await;
        if self.is_known() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_gives_way_and_nobody_who_is_known() {
        let strangers = Strangers::new(2);
        let known = strangers.come();
        known.becomes_known(&Arc::new(Semaphore::new(1)));
        let full = Arc::new(Semaphore::new(0));
        let stranger = strangers.come();
        stranger.becomes_known(&full);
        assert!(!stranger.is_known(), "one too many");
        strangers.go(&stranger);
        let all: Vec<Connection> = (0..3).map(|_| strangers.come()).collect();
        let gone = |it: &Connection| it.0.gone.is_cancelled();
        assert_eq!(
            all.iter().map(gone).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert!(!gone(&known));
        strangers.go(&all[1]);
        strangers.come();
        assert!(!gone(&all[2]), "there was room again");
    }
}

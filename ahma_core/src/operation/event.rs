//! What happens to the operations of a scope, for whoever watches from outside.
//!
//! Bounded: a watcher that is too slow misses events and is told how many. Nobody waits for a watcher.

use std::sync::{Arc, OnceLock};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{OperationId, OperationRecord};

/// Events that are kept for a slow watcher.
const MAX_EVENTS: usize = 256;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationEvent {
    /// An operation began, changed its state or its step, or ended.
    Changed(Arc<OperationRecord>),
    /// An operation has written more.
    Output {
        /// The operation.
        id: OperationId,
        /// Bytes written so far.
        bytes: u64,
    },
    /// So many events came too fast and were dropped. What is true now can be asked of the store.
    Missed(u64),
}

/// A watcher's events, in order.
#[derive(Debug)]
pub struct OperationEvents(broadcast::Receiver<OperationEvent>);

impl OperationEvents {
    /// Waits for the next event; `None` when the store is gone.
    pub async fn next(&mut self) -> Option<OperationEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(OperationEvent::Missed(count)),
            Err(RecvError::Closed) => None,
        }
    }
}

/// Tells watchers. Takes no memory before somebody watches.
#[derive(Debug, Clone, Default)]
pub(super) struct Publisher(Arc<OnceLock<broadcast::Sender<OperationEvent>>>);

impl Publisher {
    pub(super) fn subscribe(&self) -> OperationEvents {
        let sender = self.0.get_or_init(|| broadcast::channel(MAX_EVENTS).0);
        OperationEvents(sender.subscribe())
    }

    /// Makes an event only when somebody watches.
    pub(super) fn publish(&self, event: impl FnOnce() -> OperationEvent) {
        if let Some(sender) = self.0.get().filter(|it| it.receiver_count() > 0) {
            let _ = sender.send(event());
        }
    }
}

//! The limit on how many commands run at the same time. Has the others wait in the order they came. Must not count them:
//! how many may wait is decided by the operation store, which refuses new ones.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::gate::{Gate, Pass};
use crate::operation::OperationHandle;

/// A number of operations that may run at the same time; others wait in the order they came.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<Semaphore>);

impl Slots {
    /// So many at the same time.
    pub(crate) fn new(count: usize) -> Self {
        Slots(Arc::new(Semaphore::new(count)))
    }
}

impl Gate for Slots {
    fn waits_for(&self) -> &'static str {
        "other operations to end"
    }

    fn pass<'a>(&'a self, _operation: &'a OperationHandle) -> BoxFuture<'a, Result<Pass, String>> {
        Box::pin(async {
            let slot = Arc::clone(&self.0).acquire_owned().await;
            let pass = |slot| Box::new(slot) as Pass;
            slot.map(pass).map_err(|error| error.to_string())
        })
    }
}

//! What an operation waits for before it may run.
//!
//! Gates are passed one after the other, in the order they were added; a cancelled operation stops waiting. The pass of
//! each gate is held until the operation has ended.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::operation::OperationHandle;

/// Something that decides when an operation may run, and whether.
pub trait Gate: Send + Sync {
    /// What an operation waits for here.
    fn waits_for(&self) -> &'static str;

    /// Waits until the operation may pass, or says why it may not run at all.
    fn pass<'a>(&'a self, operation: &'a OperationHandle) -> BoxFuture<'a, Result<Pass, String>>;
}

/// Held while an operation runs.
pub(crate) type Pass = Box<dyn Any + Send + Sync>;

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

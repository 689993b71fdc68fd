//! What an operation waits for before it may run.
//!
//! Gates are passed one after the other, in the order they were added; a cancelled operation stops waiting. The pass of
//! each gate is held until the operation has ended.

use std::any::Any;

use futures_util::future::BoxFuture;

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

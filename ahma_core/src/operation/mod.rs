//! Operations: what was started, how it stands, and how it ended.
//!
//! The [`OperationStore`] is the only writer of their state; everyone else reads it or waits on it.
//! It starts nothing and speaks to no client: the executor tells it what happens, and
//! whoever wants to know subscribes.

mod id;
mod record;
mod store;

pub use id::OperationId;
pub use record::{Completion, OperationRecord, OperationState};
pub use store::{AdmissionError, NewOperation, Operation, OperationStore, Retention};

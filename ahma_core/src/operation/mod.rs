//! Operations: what was started, its state, and how it ended.
//!
//! - [`OperationRecord`] is plain data about an operation, for whoever asks.
//! - [`OperationHandle`] is the live operation: its output, its end, a way to cancel it.
//! - [`OperationStore`] is the only writer of state, and answers questions about all operations of a scope.
//!
//! An operation is work that writes output and ends; a process is one kind of it. Must not start anything, speak to a
//! client, or know how a result is shown.

mod completion;
mod dialogue;
mod event;
mod filter;
mod handle;
mod input_writer;
mod result_parts;
mod store;

pub use ahma_contract::{OperationId, OperationRecord, OperationState};

pub use completion::Completion;
pub(crate) use dialogue::Untaken;
pub use dialogue::{Dialogue, MessageLevel, Question, ReportedError, Told};
pub use event::{OperationEvent, OperationEvents};
pub use filter::OperationFilter;
pub use handle::{NewOperation, OperationHandle, Origin};
pub use input_writer::InputWriter;
pub use result_parts::{NewResult, ResultParts};
pub use store::{AdmissionError, OperationStore, Retention};

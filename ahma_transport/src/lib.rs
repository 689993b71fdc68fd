//! What every transport of MCP messages needs, whichever way they travel.
//!
//! - [`parse_message`] turns bytes into a message, or says what is wrong with them.
//! - [`RequestIds`] gives every request an id of its own inside, and its client's id back outside.
//! - [`CatchPanic`] answers a request whose handler panicked, and names it in the log.
//! - [`RawResults`] sends results that the SDK does not know as they are.
//! - [`renamed`] brings subscriptions to a handler that the SDK cannot read.
//! - [`SessionHandle`] is what a handler may know of the session it serves.
//! - [`MessageTrace`] shows messages to whoever looks for a fault.
//!
//! Must not know HTTP, stdio, or what a message is for.

#![forbid(unsafe_code)]

mod catch_panic;
mod message;
mod message_trace;
mod raw_results;
mod request_ids;
mod session_handle;
mod task_subscription;

pub use catch_panic::CatchPanic;
pub use message::{
    MAX_NAME_LEN, MessageError, ParsedMessage, cancelling, cancels, parse_message, without_bom,
};
pub use message_trace::{Direction, MessageTrace};
pub use raw_results::{QUESTION, RawResults, RawSlot};
pub use request_ids::RequestIds;
pub use session_handle::{SessionGuard, SessionHandle};
pub use task_subscription::{LISTEN_WITH_TASKS, renamed};

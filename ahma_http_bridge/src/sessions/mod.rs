//! Sessions of protocol revisions up to 2025-11-25.

mod manager;
mod outbox;
mod session;
mod transport;

pub(crate) use manager::{ServeSession, SessionFault, Sessions, end_unused};
pub(crate) use session::Session;

//! A client that speaks HTTP by hand: every header is the test's own, and what comes back is seen as it is.

mod client;
mod reply;
mod request;
mod roots;

pub use client::{Client, initialize};
pub use reply::{Event, Opened, Reply};
pub use request::{BOTH, Connection, Request};
pub use roots::{initialize_with_roots, root_of};

//! MCP on a pair of byte streams, one message per line: stdin and stdout, or a socket.
//!
//! Takes the place of the SDK's own transport, for four reasons. What is not a message is answered with what is wrong
//! with it, and never ends the server. Requests with equal ids each get their own answer. The end of the input is
//! reported at once, so that commands end before answers that are still on their way are waited for. And no thread is
//! between the descriptors and the messages, where the kernel allows that.
//!
//! Must not know what messages mean beyond their ids.

mod connection;
mod descriptors;
mod line;
mod lines;
mod original_ids;
mod transport;

pub use connection::StdioConnection;
#[cfg(feature = "cli")]
pub(crate) use descriptors::SavedModes;
pub use descriptors::Streams;
pub use transport::{MAX_LINE_LEN, MAX_REQUESTS, MAX_UNREAD};

//! An MCP handler, served over HTTP.
//!
//! # Theory of operation
//!
//! [`HttpServer::start`] takes a listener, a [`BridgeConfig`] and a factory of handlers. The protocol itself,
//! of all revisions, is the SDK's Streamable HTTP service. Around it is what decides who may speak and how
//! much:
//!
//! ```text
//! connection (bounded, with time limits)
//!   → request id, log, panics            request_log, router
//!   → Host and Origin                    origin
//!   → token, rate                        admission
//!   → Accept, Content-Type, body         negotiation
//!   → SDK ⇄ sessions (ours)              sessions
//! ```
//!
//! Sessions (revisions up to 2025-11-25) are kept by `Sessions`, not by the SDK's manager: ids that are equal while
//! both are in work do not cross, one slow reader holds up nobody else, an answer whose connection broke can
//! be fetched again, and a session that nobody uses ends, unless something of it still runs.
//!
//! The crate knows nothing of what the handler does. A handler that runs work for a session finds a
//! [`SessionHandle`](ahma_transport::SessionHandle) among the extensions of a request: it keeps the session open while the work runs, and tells
//! when the session ends.

#![forbid(unsafe_code)]

mod admission;
mod bind;
mod bytes_in_work;
mod config;
mod drain;
mod endpoint;
mod handshake;
mod health;
mod listener;
mod lists;
mod log_throttle;
mod long_messages;
mod mcp;
mod negotiation;
mod origin;
mod problem;
mod request_id;
mod request_log;
mod router;
mod sdk;
mod server;
mod sessions;
mod socket_file;
mod state;
mod strangers;
mod whole_results;
mod workspace_path;
mod write_timeout;

pub use bind::{BindError, Bound, FIRST_PORT, LAST_PORT, bind, bind_socket};
pub use config::{Backend, BridgeConfig, Hints, Limits, RateLimit, WorkspaceRoute};
pub use endpoint::HandlerRequest;
pub use origin::{Origin, OriginError};
pub use server::HttpServer;
pub use socket_file::SocketError;

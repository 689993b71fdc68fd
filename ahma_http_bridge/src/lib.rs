//! An MCP handler, served over HTTP.
//!
//! # Theory of operation
//!
//! [`HttpServer::start`] takes a listener, a [`BridgeConfig`] and a factory of handlers. The protocol itself,
//! of both lifecycles, is the SDK's Streamable HTTP service. Around it is what decides who may speak and how
//! much:
//!
//! ```text
//! connection (bounded, with time limits)
//!   → request id, log, panics            router
//!   → Host and Origin                    guard
//!   → token, rate                        admission
//!   → Accept, Content-Type, body         negotiation
//!   → SDK ⇄ sessions (ours)              sessions
//! ```
//!
//! Sessions of the older lifecycle are kept by `Sessions`, not by the SDK's manager: ids that are equal while
//! both are in work do not cross, one slow reader holds up nobody else, an answer whose connection broke can
//! be fetched again, and a session that nobody uses ends, unless something of it still runs.
//!
//! The crate knows nothing of what the handler does. A handler that runs work for a session finds a
//! [`SessionHandle`] among the extensions of a request: it keeps the session open while the work runs, and tells
//! when the session is over.

#![forbid(unsafe_code)]

mod admission;
mod bind;
mod config;
mod echo;
mod endpoint;
mod handshake;
mod lists;
mod log_throttle;
mod mcp;
mod messages;
mod negotiation;
mod origin;
mod problem;
mod router;
mod server;
mod sessions;
mod steady;
mod token;
mod write_timeout;

pub use bind::{BindError, FIRST_PORT, LAST_PORT, bind};
pub use config::{BridgeConfig, Limits, RateLimit, WorkspaceActivator};
pub use echo::{Direction, MessageTrace};
pub use endpoint::HandlerRequest;
pub use messages::{MessageError, ParsedMessage, cancelling, cancels, parse_message};
pub use origin::{Origin, OriginError};
pub use server::HttpServer;
pub use sessions::{SessionGuard, SessionHandle};
pub use steady::CatchPanic;
pub use token::{Token, TokenError};

//! A client of MCP servers.
//!
//! # Theory of operation
//!
//! A [`ServerEntry`] says how to reach a server: given by hand, read from an `mcp.json` by [`McpConfig`], or
//! found by [`find_server`] through the file that a server leaves in its project. [`Connection::open`] reaches
//! it, starting it where it is given by a command, and agrees on a protocol version; the connection then asks
//! what the server offers. Everything has an end: what does not answer in time is an error with
//! what the server said on stderr, and a server that was started here ends with its connection.
//!
//! Servers are started with the rights of whoever runs the program, because it was they who named them.
//! Nothing that an AI chose is ever started here.

#![forbid(unsafe_code)]

pub mod auth;
mod authorization;
mod client;
mod config;
mod connection;
mod discovery;
mod error;
mod exchange;
mod header_marks;
mod http;
mod lifecycle;
mod link;
mod listing;
mod message;
mod process_group;
mod request;
mod request_error;
mod secret;
mod subscription;

pub use authorization::{Authorization, Refusal};
pub use client::{Client, ClientOptions};
pub use config::{CommandEntry, McpConfig, ServerEntry, UrlEntry};
pub use connection::Connection;
pub use discovery::{Secrets, find_server};
pub use error::{ConfigError, ConnectError, DiscoveryError};
pub use exchange::{OnProgress, ServerEvents};
pub use lifecycle::{ClientFacts, KNOWN, NEWEST_WITH_HANDSHAKE, PeerFacts, STATELESS};
pub use listing::Listed;
pub use message::Params;
pub use request::Request;
pub use request_error::{ErrorAnswer, RequestError};
pub use rmcp::model::Tool;
pub use secret::Secret;

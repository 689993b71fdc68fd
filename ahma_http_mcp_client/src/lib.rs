//! A client of MCP servers.
//!
//! # Theory of operation
//!
//! A [`ServerEntry`] says how to reach a server: given by hand, or read from an `mcp.json` by
//! [`McpConfig`]. [`Connection::open`] starts it and agrees on a protocol version; the connection then asks
//! what the server offers. Everything has an end: what does not answer in time is an error with
//! what the server said on stderr, and a server that was started here ends with its connection.
//!
//! Servers are started with the rights of whoever runs the program, because it was they who named them.
//! Nothing that an AI chose is ever started here.

#![forbid(unsafe_code)]

mod config;
mod connection;
mod error;

pub use config::{McpConfig, ServerEntry};
pub use connection::Connection;
pub use error::{ConfigError, ConnectError};
pub use rmcp::model::Tool;

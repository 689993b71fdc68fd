//! The engine of `ahma_mcp`: command-line tools as MCP tools, described by JSON files.
//!
//! # Theory of operation
//!
//! Data goes one way. Tool files are read and judged by [`config`], which turns bytes into a
//! [`Catalog`](config::Catalog) of leaves: each leaf is one MCP tool with its command line, its
//! arguments, what it inherits, and the JSON Schema clients see. Nothing downstream of `config`
//! looks at a tool file again.
//!
//! The [`executor`] runs commands in the sandbox and tells the [`operation`] store what happens; the
//! store is the only writer of operation state, and everyone else reads it or waits on it. What
//! commands write is kept by [`output`]: counted, shown in part, readable in full.
//!
//! The [`tamper`] names paths that commands must not write, and notices code that they leave for
//! programs outside.
//!
//! The [`registry`] holds the tools that are served now.
//!
//! The [`service`] answers MCP clients: it turns calls into plans for the executor, and operations
//! into results. [`stdio`] carries their messages. The [`audit`] log tells what ran, [`project`] what is
//! worked on.
//!
//! The `server` feature adds what only the `ahma_mcp` program needs; `ahma_validate` and
//! `generate_tool_schema` build without it.

#![forbid(unsafe_code)]

pub mod config;

#[cfg(feature = "server")]
pub mod app;
#[cfg(feature = "server")]
pub mod audit;
#[cfg(feature = "server")]
pub mod executor;
#[cfg(feature = "server")]
mod light_watch;
#[cfg(feature = "server")]
pub mod operation;
#[cfg(feature = "server")]
pub mod output;
#[cfg(feature = "server")]
pub mod project;
#[cfg(feature = "server")]
pub mod registry;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod stdio;
#[cfg(feature = "server")]
pub mod tamper;

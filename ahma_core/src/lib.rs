//! The engine of `ahma_mcp`: command-line tools as MCP tools, described by JSON files.
//!
//! # Theory of operation
//!
//! Data goes one way. Tool files are read and judged by [`config`], which turns bytes into a
//! [`Catalog`](config::Catalog) of leaves: each leaf is one MCP tool with its command line, its
//! arguments, what it inherits, and the JSON Schema clients see. Nothing downstream of `config`
//! looks at a tool file again.
//!
//! The `server` feature adds what only the `ahma_mcp` program needs; `ahma_validate` and
//! `generate_tool_schema` build without it.

#![forbid(unsafe_code)]

pub mod config;

#[cfg(feature = "server")]
pub mod app;

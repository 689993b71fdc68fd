//! Runs the real `ahma_validate` on good and bad files.

#![expect(clippy::disallowed_methods, reason = "tests may block")]

mod bad_bytes;
mod broken_fixtures;
mod command_line;
mod content_fixtures;
mod examples;
mod mcp_config;
mod several_files;

/// The program under test.
const AHMA_VALIDATE: &str = env!("CARGO_BIN_EXE_ahma_validate");

/// A tool file without fault.
const GOOD: &str = r#"{ "name": "demo", "description": "A demo.", "command": "echo" }"#;

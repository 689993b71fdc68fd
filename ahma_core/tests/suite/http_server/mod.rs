//! The server as clients over HTTP see it: a real process, real connections, real commands.

mod crashes;
mod discovery;
mod downstream;
mod downstream_scale;
mod downstream_sessions;
mod dual;
mod load;
mod logs;
mod serving;
mod sessions;
mod signing_in;
mod stopping;
mod task_news;
mod token;

use std::path::Path;

use ahma_tests::served::over_http::Served;
use serde_json::Value;

pub(super) use crate::stdio_server::{memory_kb, modern_with, sign_in_world};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
const STATE: &str = ".ahma/.mcp_server_state.json";

/// What the state file of a project says.
fn state(project: &Path) -> Value {
    let text = std::fs::read_to_string(project.join(STATE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

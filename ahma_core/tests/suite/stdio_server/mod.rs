//! The server as a client sees it: a real process, spoken to line by line.

mod audit;
mod availability;
mod behind;
mod calls;
mod cgroups;
mod completion;
mod confinement;
mod content_files;
mod cookbook;
mod cookbook_events;
mod declared;
mod developer;
mod downstream;
mod downstream_changes;
mod downstream_command_values;
mod downstream_example;
mod downstream_hostile;
mod downstream_life;
mod downstream_more;
mod downstream_ports;
mod downstream_questions;
mod downstream_reload;
mod downstream_running;
mod downstream_scale;
mod downstream_trust;
mod errors;
mod events;
mod events_as_text;
mod events_shown;
mod examples;
mod explained;
mod further_programs;
mod git_submodules;
mod git_worktrees;
mod inline;
mod input_required;
mod input_schema;
mod interactive;
mod kept_home;
mod life;
mod lifecycles;
mod listing;
mod logs;
mod long_outputs;
mod modes;
mod naughty;
mod needs;
mod pages;
mod pictures;
mod progress;
mod prompts;
mod questions;
mod reload;
mod resources;
mod results;
mod roots;
mod rubbish;
mod scripted;
mod sequences;
mod server_info;
mod shipped_json;
mod sign_in_clients;
mod sign_in_commands;
mod sign_in_keyring;
mod sign_in_scopes;
pub(crate) mod sign_in_world;
mod signing_in;
mod soak;
mod surface;
mod task_news;
mod tasks;
mod toolchains;
mod tools;

use ahma_tests::mcp::McpProcess;
use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, processes_marked};
use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A server nobody has spoken to yet.
fn unspoken_to(project: &Workspace) -> McpProcess {
    let arguments = ["--sandbox-scope", project.path().to_str().unwrap()];
    let arguments = ahma_tests::served::in_background(&arguments);
    McpProcess::start(AHMA_MCP, &arguments, project.path(), &[])
}

/// Parameters of a request of 2026-07-28, from a client with these capabilities.
pub(crate) fn modern_with(mut params: Value, capabilities: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    match params.get_mut("_meta").and_then(Value::as_object_mut) {
        Some(given) => given.extend(meta.as_object().unwrap().clone()),
        None => params["_meta"] = meta,
    }
    params
}

/// The same without any.
fn modern(params: Value) -> Value {
    modern_with(params, &json!({}))
}

/// A number of a process, most of them kB, by its name in `/proc/PID/status`.
pub(crate) fn memory_kb(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

//! Behaviour of the library and of `ahma_mcp`, through their public faces.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may block, and fail by panicking"
)]

mod arguments;
#[cfg(feature = "cli")]
mod argv;
#[cfg(feature = "cli")]
mod bench;
mod calls;
#[cfg(feature = "cli")]
mod cancellation;
mod command_lines;
#[cfg(feature = "cli")]
mod descriptions;
#[cfg(feature = "cli")]
mod doctor;
#[cfg(feature = "cli")]
mod downstream_commands;
mod downstream_config;
mod downstream_secrets;
#[cfg(feature = "cli")]
mod drafted_programs;
#[cfg(feature = "cli")]
mod drafts;
#[cfg(feature = "cli")]
mod embedded;
#[cfg(feature = "cli")]
mod files_written;
#[cfg(feature = "cli")]
mod hospitality;
#[cfg(feature = "cli")]
mod http_server;
mod inheritance;
mod input_schemas;
#[cfg(feature = "cli")]
mod isolation;
#[cfg(feature = "cli")]
mod list_tools;
mod loading;
#[cfg(feature = "cli")]
mod operations;
#[cfg(feature = "cli")]
mod outputs;
mod refusals;
#[cfg(feature = "cli")]
mod restrictions;
mod robustness;
#[cfg(feature = "cli")]
mod run_command;
mod schema_agreement;
#[cfg(feature = "cli")]
mod scopes;
mod sequences;
#[cfg(feature = "cli")]
mod setup;
#[cfg(feature = "cli")]
mod stdio_server;
#[cfg(feature = "cli")]
mod world;

use ahma_core::config::files::SourceFile;
use ahma_core::config::{Catalog, ToolSpec, load};
use serde_json::Value;

/// Loads files given as name and text.
fn load_texts(files: &[(&str, String)]) -> Catalog {
    let sources = files.iter().map(|(name, text)| SourceFile {
        path: name.into(),
        content: Ok(text.clone().into_bytes()),
    });
    load(sources.collect(), &ahma_core::server_facts())
}

/// The tools of one tool file that must be accepted.
fn tools_of(tool: &Value) -> Vec<ToolSpec> {
    let catalog = load_texts(&[("tool.json", tool.to_string())]);
    let faults: Vec<_> = catalog
        .rejected
        .iter()
        .flat_map(|file| &file.faults)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
    catalog
        .files
        .into_iter()
        .flat_map(|file| file.tools)
        .map(std::sync::Arc::unwrap_or_clone)
        .collect()
}

/// The tool of that name.
fn tool(tools: &[ToolSpec], name: &str) -> ToolSpec {
    let found = tools.iter().find(|tool| tool.name == name);
    let names: Vec<_> = tools.iter().map(|tool| &tool.name).collect();
    found
        .unwrap_or_else(|| panic!("no {name} among {names:?}"))
        .clone()
}

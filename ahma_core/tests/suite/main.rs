//! Behaviour of the library and of `ahma_mcp`, through their public faces.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may block, and fail by panicking"
)]

mod arguments;
#[cfg(feature = "server")]
mod argv;
#[cfg(feature = "server")]
mod bench;
mod calls;
#[cfg(feature = "server")]
mod cancellation;
mod command_lines;
mod descriptions;
#[cfg(feature = "server")]
mod http_server;
mod inheritance;
mod input_schemas;
#[cfg(feature = "server")]
mod isolation;
#[cfg(feature = "server")]
mod list_tools;
mod loading;
#[cfg(feature = "server")]
mod narrowing;
#[cfg(feature = "server")]
mod operations;
#[cfg(feature = "server")]
mod outputs;
#[cfg(feature = "server")]
mod retention;
mod robustness;
mod schema_agreement;
#[cfg(feature = "server")]
mod scopes;
mod sequences;
#[cfg(feature = "server")]
mod stdio_server;

use ahma_core::config::files::SourceFile;
use ahma_core::config::{Catalog, LeafSpec, load};
use serde_json::Value;

/// Loads files given as name and text.
fn load_texts(files: &[(&str, String)]) -> Catalog {
    let sources = files.iter().map(|(name, text)| SourceFile {
        path: name.into(),
        content: Ok(text.clone().into_bytes()),
    });
    load(sources.collect())
}

/// The leaves of one tool file that must be accepted.
fn leaves_of(tool: &Value) -> Vec<LeafSpec> {
    let catalog = load_texts(&[("tool.json", tool.to_string())]);
    let faults: Vec<_> = catalog
        .rejected
        .iter()
        .flat_map(|file| &file.faults)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
    catalog
        .tools
        .into_iter()
        .flat_map(|tool| tool.leaves)
        .map(std::sync::Arc::unwrap_or_clone)
        .collect()
}

/// The leaf of that name.
fn leaf(leaves: &[LeafSpec], name: &str) -> LeafSpec {
    let found = leaves.iter().find(|leaf| leaf.name == name);
    let names: Vec<_> = leaves.iter().map(|leaf| &leaf.name).collect();
    found
        .unwrap_or_else(|| panic!("no {name} among {names:?}"))
        .clone()
}

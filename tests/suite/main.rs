//! Tests that span several crates: the shipped tools, the documents, the workspace itself.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may block, and fail by panicking"
)]

mod documents;
mod module_graph;
mod requirements;
mod shipped_flags;
mod shipped_tools;
mod workspace;

use std::path::PathBuf;

use ahma_core::config::files::read_file;
use ahma_core::config::{ToolSpec, load};
use ahma_tests::repository;

/// The tools of one shipped tool file.
fn shipped(file: &str) -> Vec<ToolSpec> {
    let path: PathBuf = repository().join("tools").join(file);
    let catalog = load(vec![read_file(path)], &ahma_core::server_facts());
    assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
    catalog
        .files
        .into_iter()
        .flat_map(|file| file.tools)
        .map(std::sync::Arc::unwrap_or_clone)
        .collect()
}

//! A declared tool as clients see it. The text describes; it gives no orders.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};

use crate::config::ToolSpec;

/// What is said of every tool that runs in the background.
const BACKGROUND_NOTE: &str =
    "Runs in the background: the result may come later, and other work can go on.";

/// A description that says so.
pub(crate) fn with_background_note(description: &str, separator: &str) -> String {
    format!("{description}{separator}{BACKGROUND_NOTE}")
}

/// The definition of a declared tool, on a server whose calls wait always, or as declared.
pub fn definition(tool: &ToolSpec, always_sync: bool) -> Tool {
    let description = match tool.synchronous || always_sync {
        true => tool.description.clone(),
        false => with_background_note(&tool.description, "\n\n"),
    };
    let promised = tool.annotations;
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = promised.read_only;
    annotations.destructive_hint = promised.destructive;
    annotations.idempotent_hint = promised.idempotent;
    annotations.open_world_hint = promised.open_world;
    let schema = Arc::clone(&tool.input_schema);
    let mut definition = Tool::new(tool.name.clone(), description, schema);
    definition.title.clone_from(&tool.title);
    definition.with_annotations(annotations)
}

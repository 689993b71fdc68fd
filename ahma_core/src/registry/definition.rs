//! A declared tool as clients see it. The text describes; it gives no orders.

use std::sync::Arc;

use rmcp::model::{Icon, Tool, ToolAnnotations};

use crate::config::{IconSpec, ToolSpec};

/// What is said of every tool that runs in the background.
const BACKGROUND_NOTE: &str =
    "Runs in the background: the result may come later, and other work can go on.";

/// A description that says so.
pub(crate) fn with_background_note(description: &str, separator: &str) -> String {
    format!("{description}{separator}{BACKGROUND_NOTE}")
}

/// The definition of a declared tool, on a server whose calls wait always, or as declared.
pub fn definition(tool: &ToolSpec, always_sync: bool) -> Tool {
    let waits = tool.synchronous || always_sync || tool.result.schema.is_some();
    let description = match waits {
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
    let schema = tool.result.schema.as_ref();
    definition.output_schema = schema.map(|it| Arc::clone(it.document()));
    let icons: Vec<Icon> = tool.icons.iter().map(icon).collect();
    definition.icons = (!icons.is_empty()).then_some(icons);
    definition.with_annotations(annotations)
}

/// A picture of a tool, or of something else that files declare.
pub(crate) fn icon(spec: &IconSpec) -> Icon {
    let mut icon = Icon::new(spec.src.clone());
    icon.mime_type.clone_from(&spec.mime_type);
    icon.sizes = (!spec.sizes.is_empty()).then(|| spec.sizes.clone());
    icon
}

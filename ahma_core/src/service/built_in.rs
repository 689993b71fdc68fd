//! The built-in tools as clients see them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::config::{BACKGROUND_NOTE, input_schema, shell_arguments};

/// Every built-in tool, in the order it is listed.
pub(super) fn tools(always_sync: bool) -> Vec<Tool> {
    vec![
        shell(always_sync),
        tool(
            "await",
            "Wait for operations",
            "Waits for operations to end and returns their results. Ends by itself after timeout_seconds; the \
             operations go on.",
            &json!({
                "type": "object",
                "properties": {
                    "operation_id": {
                        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
                        "description": "One id, or several."
                    },
                    "tools": {
                        "type": "array", "items": { "type": "string" },
                        "description": "Wait for operations of tools whose names begin with one of these."
                    },
                    "timeout_seconds": {
                        "type": "integer", "minimum": 0, "maximum": 3600, "default": 45,
                        "description": "How long to wait."
                    }
                },
                "additionalProperties": false
            }),
            ToolAnnotations::new().read_only(true),
        ),
        tool(
            "status",
            "List operations",
            "Lists operations, the newest first, without their output.",
            &json!({
                "type": "object",
                "properties": {
                    "operation_id": { "type": "string", "description": "Only this one." },
                    "tools": {
                        "type": "array", "items": { "type": "string" },
                        "description": "Only operations of tools whose names begin with one of these."
                    },
                    "state": {
                        "type": "string",
                        "enum": ["queued", "running", "completed", "failed", "cancelled", "timed_out", "lost"],
                        "description": "Only operations in this state."
                    },
                    "limit": { "type": "integer", "minimum": 1, "default": 20, "description": "At most this many." }
                },
                "additionalProperties": false
            }),
            ToolAnnotations::new().read_only(true),
        ),
        tool(
            "cancel",
            "Stop an operation",
            "Stops an operation. Answers when no process of it is left.",
            &json!({
                "type": "object",
                "properties": {
                    "operation_id": { "type": "string", "description": "Which one." },
                    "reason": { "type": "string", "description": "Why; shown in its result." }
                },
                "required": ["operation_id"],
                "additionalProperties": false
            }),
            ToolAnnotations::new().destructive(true).idempotent(true),
        ),
        tool(
            "read_output",
            "Read output",
            "Reads a part of an operation's full output: from an offset, the end, or the lines that match a pattern.",
            &json!({
                "type": "object",
                "properties": {
                    "operation_id": { "type": "string", "description": "Which one." },
                    "offset": { "type": "integer", "minimum": 0, "description": "First byte. Default: 0." },
                    "length": { "type": "integer", "minimum": 1, "description": "At most this many bytes." },
                    "tail": { "type": "integer", "minimum": 1, "description": "The last bytes instead." },
                    "pattern": { "type": "string", "description": "Regular expression: the lines that match instead." }
                },
                "required": ["operation_id"],
                "additionalProperties": false
            }),
            ToolAnnotations::new().read_only(true),
        ),
        tool(
            "get_server_info",
            "About this server",
            "Tells about this server: version, sandbox with its layers and gaps, tools and rejected tool files, operations.",
            &json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            ToolAnnotations::new().read_only(true),
        ),
    ]
}

/// Its arguments are those that sequences check their steps against.
fn shell(always_sync: bool) -> Tool {
    let note = if always_sync { "" } else { BACKGROUND_NOTE };
    let description = format!("Runs a shell script, confined to the sandbox scope. {note}");
    let description = description.trim_end().to_owned();
    let schema = input_schema(&shell_arguments());
    let hints = ToolAnnotations::new().destructive(true).open_world(true);
    let mut tool = Tool::new("sandboxed_shell", description, Arc::new(schema));
    tool.title = Some("Shell".to_owned());
    tool.with_annotations(hints)
}

fn tool(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: &Value,
    hints: ToolAnnotations,
) -> Tool {
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(name, description, Arc::new(schema));
    tool.title = Some(title.to_owned());
    tool.with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BUILT_IN_TOOLS;

    #[test]
    fn the_built_in_tools_are_those_whose_names_are_taken() {
        let names: Vec<String> = tools(false)
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect();
        assert_eq!(names, BUILT_IN_TOOLS);
    }

    #[test]
    fn every_schema_is_valid_and_closed() {
        for tool in tools(false) {
            let schema = Value::Object((*tool.input_schema).clone());
            assert!(
                jsonschema::draft202012::meta::is_valid(&schema),
                "{}",
                tool.name
            );
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        }
    }
}

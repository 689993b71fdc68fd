//! The built-in tools as clients see them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Every built-in tool, in the order it is listed.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "sandboxed_shell",
            "Runs a shell script, confined to the sandbox scope. Runs in the background: a call answers at once with \
             an operation id, the result comes later, and other work can go on meanwhile.",
            &json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "description": "The script." },
                    "stdin": { "type": "string", "description": "What the script reads from standard input." },
                    "working_directory": {
                        "type": "string",
                        "description": "Directory to run in, inside the sandbox scope. Default: the scope."
                    },
                    "execution_mode": {
                        "type": "string",
                        "enum": ["async", "sync", "auto"],
                        "description": "async: answer at once with an operation id. sync: answer with the result. \
                                        auto: wait up to 10 seconds, then go on in the background."
                    },
                    "timeout_seconds": {
                        "type": "integer", "minimum": 1, "maximum": 86_400,
                        "description": "The command is stopped after this many seconds."
                    }
                },
                "required": ["command"],
                "additionalProperties": false
            }),
            ToolAnnotations::new().destructive(true).open_world(true),
        ),
        tool(
            "await",
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
            "Tells about this server: version, sandbox with its layers and gaps, operations.",
            &json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            ToolAnnotations::new().read_only(true),
        ),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    schema: &Value,
    hints: ToolAnnotations,
) -> Tool {
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema)).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BUILT_IN_TOOLS;

    #[test]
    fn the_built_in_tools_are_those_whose_names_are_taken() {
        let names: Vec<String> = tools()
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect();
        assert_eq!(names, BUILT_IN_TOOLS);
    }

    #[test]
    fn every_schema_is_valid_and_closed() {
        for tool in tools() {
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

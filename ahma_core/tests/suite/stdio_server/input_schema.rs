//! Tools that bring a schema of their own for their arguments.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::Served;
use super::scripted::{add_events, add_python};

/// Says what it read.
const READING: &str = r#"
import json, sys
line = sys.stdin.readline()
print(json.dumps({"line": line, "rest": sys.stdin.read(), "words": sys.argv[1:]}))
"#;

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Own", "type": "object", "x-own": { "n": 1 },
        "$defs": { "size": { "type": "object", "properties": { "w": { "type": "integer", "minimum": 1 } } } },
        "properties": {
            "where": { "type": "string", "x-mcp-header": "Where" },
            "size": { "$ref": "#/$defs/size" },
            "timeout_seconds": { "type": "string" }
        },
        "required": ["where"],
        "anyOf": [{ "required": ["size"] }, { "required": ["timeout_seconds"] }]
    })
}

fn project() -> Workspace {
    let project = Workspace::new();
    let fields = json!({ "output": "json", "input_schema": schema() });
    add_python(&project, "run", &fields, READING);
    project
}

/// Proves: T61.
#[test]
fn clients_get_the_schema_as_it_stands() {
    let mut served = Served::of(project(), &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let run = tools.iter().find(|tool| tool["name"] == "run").unwrap();
    assert_eq!(run["inputSchema"].to_string(), schema().to_string());
}

/// Proves: T61.
#[test]
fn the_command_reads_its_arguments_as_one_object() {
    let mut served = Served::of(project(), &[]);
    // No name is taken: every argument is the tool's own.
    let arguments =
        r#"{"where":"here\nthere","size":{"w":1.0},"timeout_seconds":"long","more":[null,1e400]}"#;
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let result = served.client.call("run", &arguments);
    assert!(!result.is_error, "{result:?}");
    let line = result.structured["line"].as_str().unwrap();
    assert_eq!(line, format!("{arguments}\n"));
    assert_eq!(result.structured["rest"], "");
    assert_eq!(result.structured["words"], json!([]));
}

/// Proves: T61.
#[test]
fn a_call_that_disagrees_is_refused_with_the_names_of_its_arguments() {
    let mut served = Served::of(project(), &[]);
    let result = served
        .client
        .call("run", &json!({ "where": 1, "size": { "w": 0 } }));
    assert!(result.is_error, "{result:?}");
    let expected = "where: 1 is not of type \"string\"\nsize/w: 0 is less than the minimum of 1";
    assert_eq!(result.text, expected);
    let result = served.client.call("run", &json!({ "size": {} }));
    assert_eq!(result.text, "run: \"where\" is a required property");
    let status = served.client.call("status", &json!({}));
    assert!(status.text.contains("no operations"), "{status:?}");
    // With `call_tool` it is the same.
    let inside = json!({ "name": "run", "arguments": { "where": "a", "size": { "w": "b" } } });
    let result = served.client.call("call_tool", &inside);
    assert!(
        result
            .text
            .contains("size/w: \"b\" is not of type \"integer\""),
        "{result:?}"
    );
}

/// Proves: T61.
#[test]
fn a_pattern_and_a_long_value_keep_nobody_waiting() {
    let project = Workspace::new();
    let fields = json!({
        "output": "json",
        "input_schema": { "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a+)+$" } } }
    });
    add_python(&project, "run", &fields, READING);
    let mut served = Served::of(project, &[]);
    let long = json!({ "a": "a".repeat(200_000) });
    let result = served.client.call("run", &long);
    assert_eq!(
        result.structured["line"].as_str().unwrap().len(),
        200_009,
        "{:.200}",
        result.text
    );
    let wrong = served
        .client
        .call("run", &json!({ "a": "a".repeat(200_000) + "!" }));
    assert!(wrong.is_error);
    assert!(
        wrong.text.starts_with("a: \"aaa") && wrong.text.len() < 1000,
        "{:.2000}",
        wrong.text
    );
}

/// Proves: T61.
#[test]
fn events_tools_and_steps_get_such_arguments_too() {
    let project = Workspace::new();
    let fields = json!({ "input_schema": schema() });
    add_events(
        &project,
        "run",
        &fields,
        "event('structured', value=arguments)\ntext(json.dumps(arguments))",
    );
    project.make_directory("sub");
    let steps = json!({
        "name": "flow", "description": "F.", "command": "sequence", "synchronous": true,
        "sequence": [{ "tool": "run", "args": { "where": "a", "size": {} } }]
    });
    project.write(".ahma/tools/flow.json", steps.to_string());
    let mut served = Served::of(project, &[]);
    let arguments = json!({ "where": "a", "timeout_seconds": "b" });
    let result = served.client.call("run", &arguments);
    assert_eq!(result.structured, arguments, "{result:?}");
    let result = served.client.call("flow", &json!({}));
    assert!(
        result.text.contains("{\"where\": \"a\", \"size\": {}}"),
        "{result:?}"
    );
}

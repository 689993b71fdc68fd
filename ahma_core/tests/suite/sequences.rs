//! Steps of sequences: targets, defaults, and what is checked across files.

use ahma_core::config::{Action, Sequence, ToolSpec};
use serde_json::json;

use crate::{load_texts, tool, tools_of};

fn sequence(tool: &ToolSpec) -> &Sequence {
    match &tool.action {
        Action::Sequence(sequence) => sequence,
        Action::Run(_) => panic!("{} is not a sequence", tool.name),
    }
}

fn targets(tool: &ToolSpec) -> Vec<&str> {
    sequence(tool)
        .steps
        .iter()
        .map(|step| step.target.as_str())
        .collect()
}

/// Proves: T19.
#[test]
fn steps_of_a_subcommand_default_to_the_enclosing_tool() {
    let tools = tools_of(&json!({
        "name": "cargo", "description": "C.", "command": "cargo", "step_delay_ms": 500,
        "subcommand": [
            { "name": "fmt", "description": "F." },
            { "name": "doc", "description": "D.", "subcommand": [
                { "name": "open", "description": "O." }] },
            { "name": "default", "description": "Help." },
            { "name": "check-all", "description": "All.", "sequence": [
                { "subcommand": "fmt" },
                { "subcommand": "doc_open" },
                { "subcommand": "default" },
                { "tool": "sandboxed_shell", "args": { "command": "true" } }
            ]}
        ]
    }));
    let all = tool(&tools, "cargo_check-all");
    assert_eq!(
        targets(&all),
        ["cargo_fmt", "cargo_doc_open", "cargo", "sandboxed_shell"]
    );
    assert_eq!(sequence(&all).step_delay_ms, 500);
}

/// Proves: T18.
#[test]
fn a_top_level_sequence_calls_tools_of_other_files() {
    let git = json!({ "name": "git", "description": "G.", "command": "git", "subcommand": [
        { "name": "add", "description": "Add.", "positional_args": [
            { "name": "paths", "type": "array", "required": true }] }] });
    let flow = json!({
        "name": "flow", "description": "F.", "command": "sequence",
        "sequence": [
            { "tool": "git", "subcommand": "add",
              "args": { "paths": ["."], "working_directory": "sub" },
              "description": "Stage", "skip_if_file_missing": ".git", "continue_on_error": true },
            { "tool": "git_add", "args": { "paths": ["a"] }, "skip_if_file_exists": "b/c" }
        ]
    });
    // The caller comes first: the order of the files does not matter for targets.
    let catalog = load_texts(&[
        ("flow.json", flow.to_string()),
        ("git.json", git.to_string()),
    ]);
    assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
    let flow = &catalog.files[0].tools[0];
    assert_eq!(targets(flow), ["git_add", "git_add"]);
    let steps = &sequence(flow).steps;
    assert_eq!(steps[0].description.as_deref(), Some("Stage"));
    assert_eq!(steps[0].skip_if_file_missing.as_deref(), Some(".git"));
    assert!(steps[0].continue_on_error);
    assert_eq!(steps[1].skip_if_file_exists.as_deref(), Some("b/c"));
    assert!(!steps[1].continue_on_error);
    assert_eq!(sequence(flow).step_delay_ms, 100);
}

#[test]
fn a_sequence_may_call_sequences_as_long_as_none_calls_back() {
    let step = |name: &str, calls: &[&str]| {
        let steps: Vec<_> = calls
            .iter()
            .map(|target| json!({ "tool": target }))
            .collect();
        json!({ "name": name, "description": "S.", "command": "sequence", "sequence": steps })
            .to_string()
    };
    let shell = ["status"].as_slice();
    let catalog = load_texts(&[
        ("a.json", step("a", &["b", "c", "c"])),
        ("b.json", step("b", &["c"])),
        ("c.json", step("c", shell)),
    ]);
    assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
}

#[test]
fn a_sequence_takes_only_the_meta_parameters() {
    let tools = tools_of(&json!({
        "name": "flow", "description": "F.", "command": "sequence",
        "sequence": [{ "tool": "status" }]
    }));
    let properties = tools[0].input_schema["properties"].as_object().unwrap();
    let names: Vec<&String> = properties.keys().collect();
    assert_eq!(
        names,
        ["working_directory", "execution_mode", "timeout_seconds"]
    );
}

//! Runs the real `generate_tool_schema`.

#![expect(clippy::disallowed_methods, reason = "tests may block")]

use std::fs;

use ahma_tests::{Workspace, repository};
use serde_json::Value;

/// The program under test.
const GENERATE_TOOL_SCHEMA: &str = env!("CARGO_BIN_EXE_generate_tool_schema");

/// Proves: P12.
#[test]
fn help_shows_an_example() {
    let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &["--help"]);
    assert_eq!(finished.code, 0);
    assert!(
        finished.stdout.contains("generate_tool_schema --check"),
        "{}",
        finished.stdout
    );
}

/// Proves: P12.
#[test]
fn version_is_that_of_the_package() {
    let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &["--version"]);
    let expected = concat!("generate_tool_schema ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((finished.code, finished.stdout.as_str()), (0, expected));
}

#[test]
fn it_prints_a_2020_12_schema() {
    let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &[]);
    let schema: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(schema["properties"]["name"]["type"], "string");
}

#[test]
fn what_it_writes_passes_its_own_check() {
    let workspace = Workspace::new();
    assert_eq!(
        workspace
            .run(GENERATE_TOOL_SCHEMA, &["--output", "s.json"])
            .code,
        0
    );
    let printed = workspace.run(GENERATE_TOOL_SCHEMA, &[]).stdout;
    assert_eq!(
        fs::read_to_string(workspace.path().join("s.json")).unwrap(),
        printed
    );
    assert_eq!(
        workspace
            .run(GENERATE_TOOL_SCHEMA, &["--check", "s.json"])
            .code,
        0
    );
}

#[test]
fn a_stale_copy_fails_the_check_and_the_next_step_is_named() {
    let workspace = Workspace::new();
    let current = workspace.run(GENERATE_TOOL_SCHEMA, &[]).stdout;
    workspace.write(
        "s.json",
        current.replacen("\"type\": \"object\"", "\"type\": \"array\"", 1),
    );
    let finished = workspace.run(GENERATE_TOOL_SCHEMA, &["--check", "s.json"]);
    assert_eq!(finished.code, 1);
    let expected = "hint: run `generate_tool_schema --output s.json`\n";
    assert!(finished.stderr.ends_with(expected), "{}", finished.stderr);
}

#[test]
fn the_schema_of_mcp_json_is_another_one_and_the_hint_says_so() {
    let workspace = Workspace::new();
    let finished = workspace.run(GENERATE_TOOL_SCHEMA, &["--mcp-config"]);
    let schema: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(schema["properties"]["mcpServers"]["type"], "object");
    workspace.run(GENERATE_TOOL_SCHEMA, &["--output", "s.json"]);
    let finished = workspace.run(GENERATE_TOOL_SCHEMA, &["--mcp-config", "--check", "s.json"]);
    assert_eq!(finished.code, 1);
    let expected = "hint: run `generate_tool_schema --mcp-config --output s.json`\n";
    assert!(finished.stderr.ends_with(expected), "{}", finished.stderr);
}

#[test]
fn writing_into_nowhere_is_a_failure() {
    let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &["--output", "no/such/file"]);
    assert_eq!(finished.code, 1);
    assert!(
        finished.stderr.contains("no/such/file cannot be written"),
        "{}",
        finished.stderr
    );
}

#[test]
fn output_and_check_together_are_bad_usage() {
    let args = ["--output", "a", "--check", "b"];
    assert_eq!(Workspace::new().run(GENERATE_TOOL_SCHEMA, &args).code, 2);
}

/// Proves: T27.
#[test]
fn the_committed_schema_is_up_to_date() {
    let committed = repository().join("docs/mtdf.schema.json");
    let args = ["--check", committed.to_str().unwrap()];
    let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &args);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
}

/// Proves: P39.
#[test]
fn the_other_committed_schemas_are_up_to_date() {
    for (flag, name) in [
        ("--mcp-config", "mcp-config"),
        ("--prompts", "prompt"),
        ("--resources", "resource"),
        ("--config", "ahma"),
    ] {
        let committed = repository().join(format!("docs/{name}.schema.json"));
        let args = [flag, "--check", committed.to_str().unwrap()];
        let finished = Workspace::new().run(GENERATE_TOOL_SCHEMA, &args);
        assert_eq!(finished.code, 0, "{name}: {}", finished.stderr);
    }
}

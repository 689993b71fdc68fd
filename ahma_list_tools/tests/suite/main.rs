//! The program as its user sees it, with a real server.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may block, and fail by panicking"
)]

mod running;

use ahma_tests::{Finished, Workspace, example, marked, unique_mark};
use serde_json::{Value, json};

const AHMA_LIST_TOOLS: &str = env!("CARGO_BIN_EXE_ahma_list_tools");

fn server() -> String {
    example("server").to_str().unwrap().to_owned()
}

fn list(workspace: &Workspace, arguments: &[&str]) -> Finished {
    let cache = workspace.path().join("cache");
    let private = Workspace::new();
    workspace.run_with(
        AHMA_LIST_TOOLS,
        arguments,
        &[
            ("XDG_CACHE_HOME", cache.to_str().unwrap()),
            ("TMPDIR", private.path().to_str().unwrap()),
        ],
    )
}

fn project() -> Workspace {
    let project = Workspace::new();
    for name in ["first", "second"] {
        let tool = json!({
            "name": format!("own_{name}"), "description": "A tool of the project.", "command": "true",
            "options": [{ "name": "level", "type": "integer", "description": "How much." }]
        });
        project.write(&format!(".ahma/tools/{name}.json"), tool.to_string());
    }
    project
}

/// Proves: P3.
#[test]
fn the_tools_of_a_command_are_listed_for_people() {
    let finished = list(&project(), &["--", &server()]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let text = finished.stdout;
    assert!(text.contains("\nown (2)\n  own_first\n"), "{text}");
    assert!(text.contains("level (integer)"), "{text}");
    assert!(text.contains("  sandboxed_shell\n"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_eq!(finished.stderr, "");
}

/// Proves: P3.
#[test]
fn the_tools_of_an_entry_are_listed_for_programs() {
    let project = project();
    let config =
        json!({ "mcpServers": { "ours": { "command": server(), "args": ["--no-shell"] } } });
    let file = project.write("config/mcp.json", config.to_string());
    let tools = project.write(
        "config/.ahma/tools/only.json",
        json!({
            "name": "only", "description": "Beside the mcp.json.", "command": "true"
        })
        .to_string(),
    );
    assert!(tools.exists());
    let arguments = [
        "--mcp-config",
        file.to_str().unwrap(),
        "--server",
        "ours",
        "--format",
        "json",
    ];
    let finished = list(&project, &arguments);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let listed: Value = serde_json::from_str(&finished.stdout).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "only").unwrap();
    assert_eq!(tool["inputSchema"]["type"], "object");
    assert!(tools.iter().all(|tool| tool["name"] != "sandboxed_shell"));
}

/// Proves: P3.
#[test]
fn what_goes_wrong_is_said_with_what_to_do() {
    let workspace = Workspace::new();
    let missing = list(&workspace, &["--", "no-such-program-here"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing
            .stderr
            .contains("`no-such-program-here` cannot be started"),
        "{}",
        missing.stderr
    );
    assert!(
        missing.stderr.contains("hint: is the program installed"),
        "{}",
        missing.stderr
    );

    let refused = list(&workspace, &["--", &server(), "--sandbox-scope", "/"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains("the scope would be the whole file system"),
        "{}",
        refused.stderr
    );

    let both = list(&workspace, &["--url", "http://127.0.0.1:1/mcp", "--", "x"]);
    assert_eq!(both.code, 2);
    assert!(both.stderr.contains("COMMAND"), "{}", both.stderr);

    let file = workspace.write("mcp.json", "{\n  \"servers\": []\n}");
    let file = file.to_str().unwrap();
    let broken = list(&workspace, &["--mcp-config", file, "--server", "x"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("mcp.json:2:"), "{}", broken.stderr);
    assert_eq!(broken.stdout, "");
}

/// Proves: P12.
#[test]
fn help_and_version_are_there() {
    let workspace = Workspace::new();
    let help = workspace.run(AHMA_LIST_TOOLS, &["--help"]);
    assert_eq!(help.code, 0);
    assert!(
        help.stdout.contains("\n  ahma_list_tools -- ahma_mcp"),
        "{}",
        help.stdout
    );
    let version = workspace.run(AHMA_LIST_TOOLS, &["--version"]);
    assert!(
        version.stdout.starts_with("ahma_list_tools "),
        "{}",
        version.stdout
    );
}

/// Proves: P26.
#[test]
fn nothing_is_left_of_a_server_that_was_started_to_be_asked() {
    let mark = unique_mark();
    let script = format!("sleep {mark} & sleep {mark} & exec {}", server());
    let finished = list(&project(), &["--", "sh", "-c", &script]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    ahma_tests::until(|| marked(&mark) == 0);
    // One that never answers neither.
    let script = format!("sleep {mark} & sleep {mark}");
    let finished = list(&project(), &["--timeout", "1", "--", "sh", "-c", &script]);
    assert_eq!(finished.code, 1, "{}", finished.stdout);
    ahma_tests::until(|| marked(&mark) == 0);
}

/// Proves: P26.
#[test]
fn an_entry_in_the_directory_of_an_editor_starts_its_server_in_the_project() {
    let project = project();
    let config = json!({ "mcpServers": { "Ahama": { "command": server() } } });
    project.write(".cursor/mcp.json", config.to_string());
    let arguments = ["--mcp-config", ".cursor/mcp.json", "--server", "Ahama"];
    let finished = list(&project, &arguments);
    assert!(finished.stdout.contains("own_first"), "{finished:?}");
}

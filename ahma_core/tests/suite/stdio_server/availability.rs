//! Tools that can be used only when a check says so.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::Served;

fn tool(name: &str, check: &Value) -> String {
    json!({
        "name": name, "description": "T.", "command": "echo", "fixed_args": ["ran"], "synchronous": true,
        "availability_check": check, "install_instructions": format!("install {name} first")
    })
    .to_string()
}

fn has(served: &mut Served, name: &str) -> bool {
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["name"] == name)
}

fn unavailable(served: &mut Served) -> Value {
    let info = served.client.call("get_server_info", &json!({}));
    info.structured["tools"]["unavailable"].clone()
}

/// Proves: T26.
#[test]
fn a_program_on_the_path_is_known_at_once_and_a_missing_one_explained() {
    let project = Workspace::new();
    project.write(".ahma/tools/there.json", tool("there", &json!("which sh")));
    project.write(
        ".ahma/tools/not.json",
        tool("not", &json!("command -v no-such-program")),
    );
    let mut served = Served::of(project, &["--no-shipped-tools"]);
    assert!(has(&mut served, "there") && !has(&mut served, "not"));
    let expected = json!([{ "name": "not", "install_instructions": "install not first" }]);
    assert_eq!(unavailable(&mut served), expected);
    let call = json!({ "name": "not", "arguments": {} });
    let refused = served.client.request("tools/call", &call);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// A program called `which` that says no would be believed if it were asked.
///
/// Proves: T25.
#[test]
fn asking_for_a_program_starts_nothing() {
    let (project, programs) = (Workspace::new(), Workspace::new());
    let which = programs.write("which", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(which, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    project.write(".ahma/tools/there.json", tool("there", &json!("which sh")));
    let runs = json!({ "command": "which", "args": ["sh", "-a"] });
    project.write(".ahma/tools/runs.json", tool("runs", &runs));
    let mut served = Served::start_in(project, &[], &[("PATH", &path)]);
    until(|| unavailable(&mut served)[0]["name"] == "runs");
    assert!(has(&mut served, "there"));
}

/// Proves: T25, T26.
#[test]
fn a_check_that_runs_a_command_is_listed_once_it_has_passed() {
    let project = Workspace::new();
    let go = project.path().canonicalize().unwrap().join("go");
    let after = format!("until test -e {}; do sleep 0.01; done", go.display());
    let check = json!({ "command": "sh", "args": ["-c", after] });
    project.write(".ahma/tools/later.json", tool("later", &check));
    let fails = json!({ "command": "sh", "args": ["-c", "exit 3"] });
    project.write(".ahma/tools/fails.json", tool("fails", &fails));
    let three = json!({ "command": "sh", "args": ["-c", "exit 3"], "success_exit_codes": [3] });
    project.write(".ahma/tools/three.json", tool("three", &three));
    let mut served = Served::of(project, &[]);
    assert!(!has(&mut served, "later"), "its check still runs");
    let result = served.client.call("later", &json!({}));
    assert!(result.text.starts_with("ran\n"), "{}", result.text);
    served.project.write("go", "");
    served
        .client
        .notification("notifications/tools/list_changed");
    until(|| has(&mut served, "later") && has(&mut served, "three"));
    assert!(!has(&mut served, "fails"));
    assert_eq!(unavailable(&mut served)[0]["name"], "fails");
    let result = served.client.call("later", &json!({}));
    assert!(result.text.starts_with("ran\n"), "{}", result.text);
}

/// Proves: T26.
#[test]
fn a_check_is_confined_like_any_command() {
    let (outside, project) = (Workspace::new(), Workspace::new());
    let secret = outside.write("secret", "x");
    let own = project.write("own", "x");
    for (name, path) in [("nosy", secret), ("usual", own)] {
        let path = path.canonicalize().unwrap();
        let check = json!({ "command": "cat", "args": [path] });
        project.write(&format!(".ahma/tools/{name}.json"), tool(name, &check));
    }
    let mut served = Served::of(project, &[]);
    until(|| unavailable(&mut served)[0]["name"] == "nosy" && has(&mut served, "usual"));
    assert!(!has(&mut served, "nosy"));
}

/// Proves: T26.
#[test]
fn checks_are_made_again_when_the_files_change() {
    let project = Workspace::new();
    project.write(
        ".ahma/tools/one.json",
        tool("one", &json!("which no-such-program")),
    );
    let mut served = Served::of(project, &["--no-shipped-tools"]);
    assert!(!has(&mut served, "one"));
    served
        .project
        .write(".ahma/tools/one.json", tool("one", &json!("which sh")));
    until(|| has(&mut served, "one"));
    assert_eq!(unavailable(&mut served), json!([]));
}

/// A link of the project must not tell what is outside: whoever may write tool files could ask for anything there.
///
/// Proves: T34.
#[test]
fn a_condition_does_not_look_through_a_link_that_leads_outside() {
    let (outside, project) = (Workspace::new(), Workspace::new());
    outside.write("there/file", "x");
    project.write("inside/there/file", "x");
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, project.path().join(name)).unwrap();
    };
    link(outside.path(), "out");
    link(&outside.path().join("there/file"), "file");
    for (name, path) in [
        ("directory", "out/there"),
        ("below", "out/there/file"),
        ("missing", "out/no-such-file"),
        ("linked", "file"),
        ("usual", "inside/there/file"),
    ] {
        let tool = json!({
            "name": name, "description": "T.", "command": "echo", "synchronous": true, "only_if": [path]
        });
        project.write(&format!(".ahma/tools/{name}.json"), tool.to_string());
    }
    let mut served = Served::of(project, &[]);
    let names = ["directory", "below", "missing", "linked", "usual"];
    let offered = names.map(|name| has(&mut served, name));
    assert_eq!(offered, [false, false, false, false, true]);
}

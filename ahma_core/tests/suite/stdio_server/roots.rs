//! A server that is started in no project: its client names one.

use std::path::Path;

use ahma_tests::Workspace;
use ahma_tests::http::root_of;
use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::{AHMA_MCP, modern};

/// A server that is started in `/`, with the home directory beside it.
fn started(home: &Workspace) -> McpProcess {
    let variables = [("HOME", home.path().to_str().unwrap())];
    McpProcess::start(AHMA_MCP, &[], Path::new("/"), &variables)
}

fn begin(client: &mut McpProcess, capabilities: &Value) {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" }
    });
    let answer = client.request("initialize", &params);
    assert!(answer["result"].is_object(), "{answer}");
    client.notify("notifications/initialized", &json!({}));
}

/// Answers the question for the roots.
fn answer(client: &mut McpProcess, roots: &[&Workspace]) {
    let roots: Vec<&Path> = roots.iter().map(|it| it.path()).collect();
    answer_with(client, &roots);
}

fn answer_with(client: &mut McpProcess, roots: &[&Path]) {
    let question = client.notification("roots/list");
    let roots: Vec<Value> = roots
        .iter()
        .map(|it| json!({ "uri": root_of(it) }))
        .collect();
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": roots } });
    client.send_line(line.to_string().as_bytes());
}

fn sync(client: &mut McpProcess, command: &str) -> ahma_tests::mcp::CallResult {
    let call = json!({ "command": command, "execution_mode": "sync" });
    client.call("sandboxed_shell", &call)
}

/// Proves: S63.
#[test]
fn the_first_root_of_the_client_becomes_the_scope_with_its_tools_once_and_for_good() {
    let (home, project, other) = (Workspace::new(), Workspace::new(), Workspace::new());
    let tool = json!({ "name": "own", "description": "T.", "command": "pwd", "synchronous": true });
    project.write(".ahma/tools/own.json", tool.to_string());
    other.write("secret", "s3cret");
    let mut client = started(&home);
    begin(&mut client, &json!({ "roots": { "listChanged": true } }));
    let listing = client.send("tools/list", &json!({}));
    answer(&mut client, &[&project, &other]);
    let listed = client.answer(listing);
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|it| it["name"] == "own"), "{listed}");
    let place = format!("{}\n", project.path().display());
    let ran = client.call("own", &json!({}));
    assert!(ran.text.starts_with(&place), "{ran:?}");
    let script = format!("pwd; touch made; cat {}/secret", other.path().display());
    let ran = sync(&mut client, &script);
    assert!(
        ran.text.starts_with(&place) && !ran.text.contains("s3cret"),
        "{ran:?}"
    );
    assert!(project.path().join("made").exists());
    // Another answer later changes nothing.
    client.notify("notifications/roots/list_changed", &json!({}));
    answer(&mut client, &[&other]);
    let ran = sync(&mut client, "pwd");
    assert!(ran.text.starts_with(&place), "{ran:?}");
    client.close();
    assert_eq!(client.wait().code(), Some(0));
}

/// Proves: S63.
#[test]
fn a_client_that_cannot_name_roots_ends_the_server_with_what_to_do() {
    let home = Workspace::new();
    let mut client = started(&home);
    begin(&mut client, &json!({}));
    assert_eq!(client.wait().code(), Some(2));
    ahma_tests::until(|| client.stderr().contains("whole file system"));
    assert!(
        client
            .stderr()
            .contains("the client names no project either"),
        "{}",
        client.stderr()
    );
}

/// Proves: S63.
#[test]
fn a_root_that_may_not_be_a_scope_runs_nothing() {
    let home = Workspace::new();
    home.write("notes", "s3cret");
    home.make_directory(".config");
    let mut client = started(&home);
    begin(&mut client, &json!({ "roots": {} }));
    answer(&mut client, &[&home]);
    let refused = sync(&mut client, "cat notes; touch made");
    assert!(
        refused.is_error && refused.text.contains("whole home directory"),
        "{refused:?}"
    );
    assert!(!home.path().join("made").exists());

    let mut client = started(&home);
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "touch made", "execution_mode": "sync" }
    });
    let refused = client.request("tools/call", &modern(call));
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("--sandbox-scope"),
        "2026-07-28 has no roots: {refused}"
    );
}

/// Proves: S63.
#[test]
fn a_directory_of_the_system_is_not_taken_as_the_scope() {
    let home = Workspace::new();
    for (root, why) in [
        ("/", "the whole file system"),
        ("/usr", "/usr belongs to the system, so it is not taken"),
        ("/usr/share", "/usr/share belongs to the system"),
        ("/etc", "/etc belongs to the system"),
        ("/home", "belongs to the system"),
    ] {
        let mut client = started(&home);
        begin(&mut client, &json!({ "roots": {} }));
        answer_with(&mut client, &[Path::new(root)]);
        let refused = sync(&mut client, "pwd");
        assert!(refused.is_error, "{root}: {refused:?}");
        assert!(refused.text.contains(why), "{root}: {refused:?}");
    }
    // A project at the same depth as one of them is.
    let project = Workspace::new();
    let mut client = started(&home);
    begin(&mut client, &json!({ "roots": {} }));
    answer(&mut client, &[&project]);
    let ran = sync(&mut client, "pwd");
    assert_eq!(ran.text.lines().next(), project.path().to_str(), "{ran:?}");
}

//! Calls that do not wait, and get their result all the same when it is there in a moment.

use ahma_tests::mcp::CallResult;
use serde_json::json;

use super::{Served, modern, modern_with, unspoken_to};
use ahma_tests::Workspace;

/// Proves: O28.
#[test]
fn a_quick_result_comes_with_the_answer() {
    let mut served = Served::with(&["--inline-ms", "60000"], &[]);
    let call = json!({ "command": "echo hello; exit 3" });
    let answer = served.client.call("sandboxed_shell", &call);
    assert!(answer.text.starts_with("hello\n"), "{answer:?}");
    assert_eq!(answer.record["exit_code"], 3);
    assert!(answer.operation_id().starts_with("op_"));
    // It has been given, so nothing is left to wait for, and nothing is pushed.
    let waited = served.client.call("await", &json!({}));
    assert!(
        waited.text.contains("no operation to wait for"),
        "{waited:?}"
    );
    for method in ["notifications/progress", "notifications/message"] {
        assert_eq!(served.client.notifications_so_far(method), 0, "{method}");
    }
}

/// Proves: O28.
#[test]
fn without_a_flag_a_call_waits_for_a_moment_and_then_hands_over() {
    let project = Workspace::new();
    let scope = project.path().to_str().unwrap();
    let arguments = ["--sandbox-scope", scope];
    let mut client =
        ahma_tests::mcp::McpProcess::connect(super::AHMA_MCP, &arguments, project.path(), &[]);
    let quick = client.call("sandboxed_shell", &json!({ "command": "echo hello" }));
    assert!(quick.text.starts_with("hello\n"), "{quick:?}");
    let script = "echo begun; while ! test -e go; do sleep 0.05; done; echo ended";
    let slow = client.call("sandboxed_shell", &json!({ "command": script }));
    assert!(slow.text.starts_with("started op_"), "{slow:?}");
    assert!(
        slow.text.contains("begun"),
        "the last lines so far: {slow:?}"
    );
    assert!(slow.text.contains("300 s after its start"), "{slow:?}");
    assert_eq!(slow.record["state"], "running");
    project.write("go", "");
    let waited = client.call("await", &json!({}));
    assert!(waited.text.starts_with("begun\nended\n"), "{waited:?}");
}

/// Proves: O28.
#[test]
fn clients_of_2026_07_28_get_quick_results_too_and_tasks_for_slow_ones() {
    let project = Workspace::new();
    let scope = project.path().to_str().unwrap();
    let arguments = ["--sandbox-scope", scope, "--inline-ms", "1000"];
    let start =
        || ahma_tests::mcp::McpProcess::start(super::AHMA_MCP, &arguments, project.path(), &[]);
    let mut client = start();
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let call =
        |command: &str| json!({ "name": "sandboxed_shell", "arguments": { "command": command } });
    let quick = client.request("tools/call", &modern_with(call("echo hello"), &tasks));
    let quick = CallResult::of(&quick);
    assert!(quick.text.starts_with("hello\n"), "{quick:?}");
    let script = "while ! test -e go; do sleep 0.05; done";
    let slow = client.request("tools/call", &modern_with(call(script), &tasks));
    assert_eq!(slow["result"]["resultType"], "task", "{slow}");
    let plain = client.request("tools/call", &modern(call(script)));
    let plain = CallResult::of(&plain);
    assert!(plain.text.starts_with("started op_"), "{plain:?}");
    project.write("go", "");
}

/// Proves: O29.
#[test]
fn a_call_that_waits_too_long_hands_over_and_says_what_that_means() {
    let mut served = Served::with(&["--sync-limit", "1"], &[]);
    let script = "echo begun; while ! test -e go; do sleep 0.05; done; echo ended";
    let answer = served.sync(script);
    assert!(answer.text.starts_with("started op_"), "{answer:?}");
    assert!(
        answer.text.contains("before doing anything that needs"),
        "{answer:?}"
    );
    assert!(!answer.is_error);
    served.project.write("go", "");
    let waited = served.client.call("await", &json!({}));
    assert!(waited.text.starts_with("begun\nended\n"), "{waited:?}");
}

/// Proves: O30.
#[test]
fn await_gives_what_ended_unread_once_and_to_the_one_who_asked_for_it() {
    let mut served = Served::new();
    let first = served.start("echo first");
    let second = served.start("echo second; exit 1");
    // They end before anybody waits.
    served.client.call(
        "await",
        &json!({ "operation_id": [first], "timeout_seconds": 30 }),
    );
    ahma_tests::until(|| {
        let status = served
            .client
            .call("status", &json!({ "operation_id": second }));
        status.text.contains("failed")
    });
    let waited = served.client.call("await", &json!({}));
    assert!(waited.text.starts_with("second\n"), "{waited:?}");
    assert!(
        !waited.text.contains("first"),
        "it was given before: {waited:?}"
    );
    let again = served.client.call("await", &json!({}));
    assert!(again.text.contains("no operation to wait for"), "{again:?}");

    // A client of 2026-07-28 is told from others by what it calls itself.
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let call = json!({ "name": "sandboxed_shell", "arguments": { "command": "echo mine" } });
    client.request("tools/call", &modern(call));
    let wait = json!({ "name": "await", "arguments": {} });
    let mut others = modern(wait.clone());
    others["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("another");
    let mut seen = false;
    ahma_tests::until(|| {
        let own = CallResult::of(&client.request("tools/call", &modern(wait.clone())));
        seen |= own.text.starts_with("mine\n");
        let other = CallResult::of(&client.request("tools/call", &others));
        assert!(other.text.contains("no operation"), "{other:?}");
        seen
    });
}

/// Proves: O30.
#[test]
fn who_waits_for_what_another_has_asked_for_takes_nothing_from_that_one() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let call = json!({ "name": "sandboxed_shell", "arguments": { "command": "echo mine" } });
    let started = CallResult::of(&client.request("tools/call", &modern(call)));
    let id = started.operation_id();
    for by_id in [json!(id), json!([id])] {
        let wait = json!({ "name": "await", "arguments": { "operation_id": by_id } });
        let mut other = modern(wait);
        other["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("another");
        let given = CallResult::of(&client.request("tools/call", &other));
        assert!(given.text.starts_with("mine\n"), "{given:?}");
    }
    let wait = modern(json!({ "name": "await", "arguments": {} }));
    let own = CallResult::of(&client.request("tools/call", &wait));
    assert!(own.text.starts_with("mine\n"), "{own:?}");
    let again = CallResult::of(&client.request("tools/call", &wait));
    assert!(again.text.contains("no operation to wait for"), "{again:?}");
}

/// Proves: O31.
#[test]
fn what_still_runs_is_shown_with_its_last_lines() {
    let mut served = Served::new();
    let id = served.start("echo one; echo two; while ! test -e go; do sleep 0.05; done");
    ahma_tests::until(|| {
        let waited = served.client.call(
            "await",
            &json!({ "operation_id": id, "timeout_seconds": 0 }),
        );
        assert!(waited.text.contains("still"), "{waited:?}");
        waited.text.contains("one\ntwo")
    });
    served.project.write("go", "");
}

/// Proves: O32.
#[test]
fn status_says_what_runs_since_when_until_when_and_for_whom() {
    let mut served = Served::new();
    let long = "x".repeat(500);
    let script = format!("# line\nsleep 60; echo {long}");
    let call = json!({ "command": script, "timeout_seconds": 77 });
    served.client.call("sandboxed_shell", &call);
    let mut text = String::new();
    let mut row = json!(null);
    ahma_tests::until(|| {
        let status = served.client.call("status", &json!({}));
        text = status.text;
        row = status.structured["operations"][0].clone();
        row["state"] == "running"
    });
    let command = row["command"].as_str().unwrap();
    assert!(command.starts_with("# line sleep 60; echo xxx"), "{row}");
    assert!(command.len() < 210 && command.ends_with('…'), "{row}");
    let moment = |name: &str| {
        let text = row[name].as_str().unwrap();
        chrono::DateTime::parse_from_rfc3339(text).unwrap()
    };
    let seconds = (moment("deadline_at") - moment("started_at")).num_seconds();
    assert!((77..97).contains(&seconds), "{row}");
    assert!(row["client"].as_str().unwrap().starts_with("test"), "{row}");
    for part in ["# line sleep 60", "deadline", "since", "for test"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

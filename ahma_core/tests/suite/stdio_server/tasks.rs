//! Operations as tasks, for clients that declare them.

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, marked, signal, unique_mark, until};
use serde_json::{Value, json};

use super::{Served, modern, modern_with, unspoken_to};

/// From a client that knows tasks.
fn with_tasks(params: Value) -> Value {
    let extensions = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    modern_with(params, &extensions)
}

fn start(client: &mut McpProcess, script: &str) -> Value {
    let call = json!({ "name": "sandboxed_shell", "arguments": { "command": script } });
    client.request("tools/call", &with_tasks(call))["result"].clone()
}

fn get(client: &mut McpProcess, id: &Value) -> Value {
    let answer = client.request("tasks/get", &with_tasks(json!({ "taskId": id })));
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

fn until_final(client: &mut McpProcess, id: &Value) -> Value {
    let mut task = Value::Null;
    until(|| {
        task = get(client, id);
        task["status"] != "working"
    });
    task
}

/// Proves: O20.
#[test]
fn a_call_in_the_background_is_a_task_with_the_id_of_its_operation() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let task = start(
        &mut client,
        "touch up; while ! test -e go; do sleep 0.02; done; echo done",
    );
    assert_eq!(task["resultType"], "task", "{task}");
    assert_eq!(task["status"], "working");
    let id = &task["taskId"];
    assert!(id.as_str().unwrap().starts_with("op_"), "{task}");
    for field in ["createdAt", "lastUpdatedAt"] {
        let moment = task[field].as_str().unwrap();
        assert!(moment.ends_with('Z') && moment.contains('T'), "{task}");
    }
    assert!(task["ttlMs"].as_u64().unwrap() >= 3_600_000, "{task}");
    assert_eq!(get(&mut client, id)["status"], "working");
    until(|| project.path().join("up").exists());
    let status = json!({ "name": "status", "arguments": { "operation_id": id } });
    let status = client.request("tools/call", &modern(status));
    assert_eq!(
        status["result"]["structuredContent"]["operations"][0]["state"],
        "running"
    );

    project.write("go", "");
    let ended = until_final(&mut client, id);
    assert_eq!(ended["status"], "completed");
    let text = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("done\n"), "{ended}");
    assert_eq!(ended["result"]["isError"], false, "{ended}");
}

/// Proves: O20.
#[test]
fn a_command_that_fails_is_a_completed_task_with_an_error_result() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let task = start(&mut client, "echo oh; exit 3");
    let ended = until_final(&mut client, &task["taskId"]);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "sleep 60", "timeout_seconds": 1 }
    });
    let task = client.request("tools/call", &with_tasks(call))["result"].clone();
    let ended = until_final(&mut client, &task["taskId"]);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["isError"], true, "{ended}");
}

/// Proves: O20.
#[test]
fn cancelling_a_task_ends_its_processes() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let mark = unique_mark();
    let task = start(&mut client, &format!("sleep {mark}"));
    until(|| marked(&mark) >= 1);
    let id = json!({ "taskId": task["taskId"] });
    let answer = client.request("tasks/cancel", &with_tasks(id.clone()));
    assert!(answer["result"].is_object(), "{answer}");
    let ended = until_final(&mut client, &task["taskId"]);
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(marked(&mark), 0);
    // Nobody waits for answers, so one more changes nothing.
    let update = json!({ "taskId": task["taskId"], "inputResponses": { "x": {} } });
    let answer = client.request("tasks/update", &with_tasks(update));
    assert!(answer["result"].is_object(), "{answer}");
}

/// Proves: O20.
#[test]
fn a_task_whose_host_died_has_failed() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let mark = unique_mark();
    let task = start(&mut client, &format!("sleep {mark}"));
    until(|| marked(&mark) >= 1);
    let info = json!({ "name": "get_server_info", "arguments": {} });
    let info = client.request("tools/call", &modern(info));
    let host = &info["result"]["structuredContent"]["sandbox"]["hosts"][0];
    assert!(signal("KILL", host));
    let ended = until_final(&mut client, &task["taskId"]);
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"]["code"].is_i64(), "{ended}");
}

/// Proves: O20.
#[test]
fn only_who_declares_tasks_gets_one() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let call = json!({ "name": "sandboxed_shell", "arguments": { "command": "true" } });
    let started = client.request("tools/call", &modern(call.clone()));
    let text = started["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("started op_"), "{started}");
    let id = started["result"]["_meta"]["ahma/operation"]["operation_id"].clone();
    let refused = client.request("tasks/get", &modern(json!({ "taskId": id })));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let unknown = client.request("tasks/get", &with_tasks(json!({ "taskId": "op_nothing" })));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");

    // The older lifecycle has none, whatever its client declares.
    let mut older = unspoken_to(&project);
    let initialize = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        "clientInfo": { "name": "t", "version": "1" }
    });
    let answer = older.request("initialize", &initialize);
    assert!(
        answer["result"]["capabilities"]["extensions"].is_null(),
        "{answer}"
    );
    let started = older.request("tools/call", &call);
    assert!(started["result"]["content"].is_array(), "{started}");
    let refused = older.request("tasks/get", &json!({ "taskId": id }));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

/// Proves: O20.
#[test]
fn a_call_that_waits_is_no_task() {
    let mut served = Served::new();
    let result = served.sync("echo hi");
    assert!(result.text.starts_with("hi\n"));
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "echo hi", "execution_mode": "sync" }
    });
    let answer = client.request("tools/call", &with_tasks(call));
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

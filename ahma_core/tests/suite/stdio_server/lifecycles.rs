//! Both lifecycles of MCP on the same stdin and stdout.

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::json;

use super::{Served, modern, unspoken_to as server};

/// Proves: P17, P37.
#[test]
fn every_older_version_is_spoken_and_an_unknown_one_gets_one_that_is() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let project = Workspace::new();
        let mut client = server(&project);
        let initialize = json!({
            "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" }
        });
        let answer = client.request("initialize", &initialize);
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], answered, "{asked}: {answer}");
        assert_eq!(
            result["capabilities"],
            json!({
                "logging": {}, "completions": {}, "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true }, "tools": { "listChanged": true }
            })
        );
        let about = json!({
            "name": "ahma_mcp", "version": env!("CARGO_PKG_VERSION"), "title": "Command-line tools, confined"
        });
        assert_eq!(result["serverInfo"], about);
        assert!(result["instructions"].as_str().unwrap().contains("await"));
        client.notify("notifications/initialized", &json!({}));
        let call = json!({ "command": "echo hi", "execution_mode": "sync" });
        let result = client.call("sandboxed_shell", &call);
        assert!(result.text.starts_with("hi\n"), "{asked}: {result:?}");
    }
}

/// Proves: P17.
#[test]
fn the_stateless_lifecycle_needs_no_handshake() {
    let project = Workspace::new();
    let mut client = server(&project);
    let found = client.request("server/discover", &modern(json!({})));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let capabilities = &found["result"]["capabilities"];
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    let offered = json!({
        "extensions": tasks, "completions": {}, "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true }, "tools": { "listChanged": true }
    });
    assert_eq!(*capabilities, offered);
    let listed = client.request("tools/list", &modern(json!({})));
    assert_eq!(listed["result"]["tools"][0]["name"], "sandboxed_shell");
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "echo hi", "execution_mode": "sync" }
    });
    let result = CallResult::of(&client.request("tools/call", &modern(call)));
    assert!(result.text.starts_with("hi\n"), "{result:?}");
}

/// Proves: P17.
#[test]
fn what_is_not_offered_is_unknown_in_both() {
    let project = Workspace::new();
    let mut stateless = server(&project);
    let mut legacy = Served::new();
    for method in ["no/such/method", "ahma/listenWithTasks"] {
        let answer = legacy.client.request(method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    // Removed in 2026-07-28.
    let params = json!({ "uri": "file:///a" });
    for method in ["no/such/method", "resources/subscribe", "logging/setLevel"] {
        let answer = stateless.request(method, &modern(params.clone()));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

/// Proves: H17.
#[test]
fn without_files_there_are_no_resources_and_prompts_and_asking_for_one_names_the_mistake() {
    let project = Workspace::new();
    let mut stateless = server(&project);
    let mut legacy = Served::new();
    for (method, list) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        let answer = stateless.request(method, &modern(json!({})));
        assert_eq!(answer["result"][list], json!([]), "{method}: {answer}");
        let answer = legacy.client.request(method, &json!({}));
        assert_eq!(answer["result"][list], json!([]), "{method}: {answer}");
    }
    let prompt = json!({ "name": "none" });
    let resource = json!({ "uri": "file:///none" });
    let answers = [
        stateless.request("prompts/get", &modern(prompt.clone())),
        legacy.client.request("prompts/get", &prompt),
        stateless.request("resources/read", &modern(resource.clone())),
        legacy.client.request("resources/read", &resource),
    ];
    let codes = answers.each_ref().map(|it| it["error"]["code"].clone());
    assert_eq!(codes, [-32602, -32602, -32602, -32002].map(|it| json!(it)));
    assert_eq!(answers[2]["error"]["data"]["uri"], "file:///none");
    assert_eq!(answers[3]["error"]["data"]["uri"], "file:///none");
}

/// Proves: P17.
#[test]
fn a_subscriber_is_told_of_a_changed_list() {
    let project = Workspace::new();
    let tool =
        |name: &str| json!({ "name": name, "description": "T.", "command": "true" }).to_string();
    project.write(".ahma/tools/first.json", tool("first"));
    let mut client = server(&project);
    let wanted = modern(json!({ "notifications": { "toolsListChanged": true } }));
    client.send("subscriptions/listen", &wanted);
    client.notification("notifications/subscriptions/acknowledged");
    project.write(".ahma/tools/second.json", tool("second"));
    client.notification("notifications/tools/list_changed");
    let listed = client.request("tools/list", &modern(json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "second"),
        "{listed}"
    );
}

/// Proves: O8.
#[test]
fn cancelling_a_call_stops_its_command_and_cancelling_a_wait_does_not() {
    let mut served = Served::new();
    let (called, waited) = (unique_mark(), unique_mark());
    let operation = served.start(&format!("sleep {waited}"));
    until(|| marked(&waited) >= 1);
    let wait = json!({ "name": "await", "arguments": { "operation_id": operation } });
    let wait = served.client.send("tools/call", &wait);
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": format!("sleep {called}"), "execution_mode": "sync" }
    });
    let call = served.client.send("tools/call", &call);
    until(|| marked(&called) >= 1);
    for request in [wait, call] {
        served
            .client
            .notify("notifications/cancelled", &json!({ "requestId": request }));
    }
    until(|| marked(&called) == 0);
    assert_eq!(marked(&waited), 1);
    let status = served
        .client
        .call("status", &json!({ "operation_id": operation }));
    assert!(status.text.contains("running"), "{}", status.text);
}

/// Proves: O3.
#[test]
fn the_end_of_a_background_operation_is_pushed_as_a_message_and_on_a_token_that_the_call_gave() {
    let mut served = Served::new();
    for token in [Some(json!("mine")), None] {
        let mut call =
            json!({ "name": "sandboxed_shell", "arguments": { "command": "echo done; exit 3" } });
        if let Some(token) = &token {
            call["_meta"] = json!({ "progressToken": token });
        }
        let started = CallResult::of(&served.client.request("tools/call", &call));
        let id = started.operation_id();
        let mut pushed = Vec::new();
        if let Some(token) = token {
            let progress = served.client.notification("notifications/progress")["params"].clone();
            assert_eq!(progress["progressToken"], token);
            pushed.push((progress["message"].clone(), progress));
        }
        let message = served.client.notification("notifications/message")["params"].clone();
        pushed.push((message["data"].clone(), message));
        for (text, news) in pushed {
            let text = text.as_str().unwrap();
            assert!(
                text.starts_with("done\n") && text.contains("exit code 3"),
                "{text}"
            );
            let record = &news["_meta"]["ahma/operation"];
            assert_eq!(record["operation_id"], json!(id));
            assert_eq!(record["state"], "failed");
        }
        for method in ["notifications/progress", "notifications/message"] {
            assert_eq!(served.client.notifications_so_far(method), 0, "{method}");
        }
    }
    served.sync("echo waited for");
    assert_eq!(
        served.client.notifications_so_far("notifications/progress"),
        0
    );
}

/// Proves: O3.
#[test]
fn a_client_that_wants_only_errors_gets_no_message_and_a_newer_one_no_push_at_all() {
    let mut served = Served::new();
    let level = json!({ "level": "error" });
    let answer = served.client.request("logging/setLevel", &level);
    assert!(answer["result"].is_object(), "{answer}");
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "echo quiet" },
        "_meta": { "progressToken": "t" }
    });
    served.client.request("tools/call", &call);
    served.client.notification("notifications/progress");
    assert_eq!(
        served.client.notifications_so_far("notifications/message"),
        0
    );

    let project = Workspace::new();
    let mut client = server(&project);
    let call = json!({ "name": "sandboxed_shell", "arguments": { "command": "touch ended" } });
    let started = CallResult::of(&client.request("tools/call", &modern(call)));
    let wait = json!({ "name": "await", "arguments": { "operation_id": started.operation_id() } });
    let waited = CallResult::of(&client.request("tools/call", &modern(wait)));
    assert!(waited.text.contains("completed"), "{waited:?}");
    let listed = client.request("tools/list", &modern(json!({})));
    assert!(listed["result"].is_object());
    assert_eq!(client.notifications_received("notifications/progress"), 0);
    assert_eq!(client.notifications_received("notifications/message"), 0);
}

/// Proves: O8.
#[test]
fn a_call_that_is_cancelled_before_it_is_answered_runs_nothing() {
    let mut served = Served::new();
    for _ in 0..20 {
        let call = json!({
            "jsonrpc": "2.0", "id": 500, "method": "tools/call",
            "params": { "name": "sandboxed_shell", "arguments": { "command": "echo x >> ran" } }
        });
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 500 }
        });
        let both = format!("{call}\n{cancelled}");
        served.client.send_line(both.as_bytes());
    }
    served.client.call("await", &json!({}));
    let listed = served
        .client
        .call("status", &json!({ "state": "completed" }));
    let ran = served.project.path().join("ran").exists();
    assert_eq!((listed.text.as_str(), ran), ("no operations", false));
}

/// Proves: O8.
#[test]
fn a_wait_that_is_cancelled_is_over() {
    let mut served = Served::new();
    let id = served.start("while ! test -e go; do echo busy; sleep 0.1; done");
    let wait = json!({
        "name": "await", "arguments": { "operation_id": id }, "_meta": { "progressToken": "w" }
    });
    let wait = served.client.send("tools/call", &wait);
    served.client.notification("notifications/progress");
    served
        .client
        .notify("notifications/cancelled", &json!({ "requestId": wait }));
    served.client.request("ping", &json!({}));
    let before = served.client.notifications_so_far("notifications/progress");
    served.sync("sleep 2.2");
    let after = served.client.notifications_so_far("notifications/progress");
    assert_eq!(after, before, "nobody is told any more");
}

#[test]
fn a_client_that_begins_twice_is_told_once_of_a_change() {
    let project = Workspace::new();
    let tool =
        |name: &str| json!({ "name": name, "description": "T.", "command": "true" }).to_string();
    project.write(".ahma/tools/first.json", tool("first"));
    let mut served = Served::of(project, &[]);
    for _ in 0..3 {
        served
            .client
            .notify("notifications/initialized", &json!({}));
    }
    served.client.request("tools/list", &json!({}));
    served
        .project
        .write(".ahma/tools/second.json", tool("second"));
    served
        .client
        .notification("notifications/tools/list_changed");
    served.sync("sleep 0.5");
    let more = served
        .client
        .notifications_so_far("notifications/tools/list_changed");
    assert_eq!(more, 0);
}

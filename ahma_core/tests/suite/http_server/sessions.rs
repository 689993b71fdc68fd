//! Sessions and what runs for them.

use ahma_tests::{marked, unique_mark, until};
use std::thread;

use ahma_tests::http::Request;
use serde_json::json;

use super::Served;

/// Proves: H12, I5.
#[test]
fn the_end_of_a_session_ends_its_operations_at_once_and_no_others() {
    let served = Served::new();
    let (ours, theirs) = (unique_mark(), unique_mark());
    let (client, other) = (served.connect(), served.connect());
    client.start(&format!("sleep {ours}"));
    other.start(&format!("sleep {theirs}"));
    let request = client.calling(
        "sandboxed_shell",
        &json!({ "command": format!("sleep {ours} & sleep {ours}"), "execution_mode": "sync" }),
    );
    let address = client.address;
    let call = thread::spawn(move || request.send(address));
    until(|| marked(&ours) >= 3);
    until(|| marked(&theirs) >= 1);
    assert_eq!(client.delete().status, 204);
    until(|| marked(&ours) == 0);
    let answer = call.join().unwrap().answer();
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("session has ended")
    );
    assert!(marked(&theirs) >= 1);
    let again = client.message(&json!(1), "ping", &json!({}));
    assert_eq!(again.send(address).status, 404);
}

/// Proves: H13.
#[test]
fn a_client_without_a_session_that_goes_takes_its_command_along() {
    let served = Served::new();
    let mark = unique_mark();
    let client = served.process.stateless();
    let script = json!({ "command": format!("sleep {mark}"), "execution_mode": "sync" });
    let mut connection = ahma_tests::http::Connection::to(client.address);
    connection.write(
        &client
            .calling("sandboxed_shell", &script)
            .bytes(client.address),
    );
    until(|| marked(&mark) >= 1);
    drop(connection);
    until(|| marked(&mark) == 0);
}

/// Proves: H13.
#[test]
fn a_call_of_a_session_survives_its_connection_and_its_answer_can_be_fetched() {
    let served = Served::new();
    let token = served.process.token.as_deref();
    let client =
        ahma_tests::http::Client::connect_with(served.process.address, token, "2025-11-25");
    let script = "until [ -e go ]; do sleep 0.01; done; echo survived";
    let arguments = json!({ "command": script, "execution_mode": "sync" });
    let mut opened = client
        .calling("sandboxed_shell", &arguments)
        .open(client.address);
    let event = opened.event().unwrap();
    drop(opened);
    served.project.write("go", "");
    let rest = client.stream_after(&event.id.unwrap()).rest().answer();
    let text = rest["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("survived\n"), "{rest}");
}

/// Proves: H13.
#[test]
fn cancelling_a_call_stops_its_command() {
    let served = Served::new();
    let mark = unique_mark();
    let client = served.connect();
    let params = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": format!("sleep {mark}"), "execution_mode": "sync" },
    });
    let request = client.message(&json!("mine"), "tools/call", &params);
    let address = client.address;
    let call = thread::spawn(move || request.send(address));
    until(|| marked(&mark) >= 1);
    client.notify("notifications/cancelled", &json!({ "requestId": "mine" }));
    until(|| marked(&mark) == 0);
    assert_eq!(
        call.join().unwrap().events(),
        Vec::<serde_json::Value>::new()
    );
}

/// Proves: H2.
#[test]
fn equal_ids_from_many_callers_never_cross() {
    let served = Served::with(&["--rate-limit", "0"]);
    let shared = served.connect();
    let callers: Vec<_> = (0..24)
        .map(|number| {
            let client = match number % 3 {
                0 => shared.clone(),
                1 => served.connect(),
                _ => served.process.stateless(),
            };
            thread::spawn(move || {
                for round in 0..4 {
                    let said = format!("caller {number} round {round}");
                    let result = client.sync(&format!("sleep 0.0{}; echo {said}", round % 3));
                    assert!(result.text.starts_with(&format!("{said}\n")), "{result:?}");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
}

#[test]
fn a_task_is_followed_without_a_session() {
    let served = Served::new();
    let client = served.process.stateless();
    let mut params = json!({
        "name": "sandboxed_shell", "arguments": { "command": "echo done" },
        "_meta": { "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } } },
    });
    let created = ask(&client, "tools/call", &params, None);
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let id = created["result"]["taskId"].as_str().unwrap().to_owned();
    params = json!({ "taskId": id, "_meta": params["_meta"] });
    until(|| {
        let task = ask(&client, "tasks/get", &params, Some(&id));
        task["result"]["status"] == "completed"
    });
}

/// A request of a client that says itself what it can do.
fn ask(
    client: &ahma_tests::http::Client,
    method: &str,
    params: &serde_json::Value,
    name: Option<&str>,
) -> serde_json::Value {
    let mut params = params.clone();
    let meta = params["_meta"].as_object_mut().unwrap();
    meta.insert(
        "io.modelcontextprotocol/protocolVersion".to_owned(),
        json!("2026-07-28"),
    );
    meta.insert(
        "io.modelcontextprotocol/clientInfo".to_owned(),
        json!({ "name": "test", "version": "1" }),
    );
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let name = name
        .or(params["name"].as_str())
        .unwrap_or_default()
        .to_owned();
    let request = Request::message(&message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", &name);
    client.prepared(request).send(client.address).answer()
}

#[test]
fn a_session_stays_what_was_agreed_on() {
    let served = Served::new();
    let client = served.connect();
    let newer = json!({
        "protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    let again = client.request("initialize", &newer);
    assert_eq!(again["result"]["protocolVersion"], "2025-11-25", "{again}");
    let level = client.request("logging/setLevel", &json!({ "level": "info" }));
    assert_eq!(level["result"], json!({}), "{level}");
    let listed = client.request("tools/list", &json!({}));
    assert!(listed["result"]["resultType"].is_null(), "{listed}");
}

/// Proves: I1, S7, S8.
#[test]
fn without_isolation_all_clients_share_one_scope_and_none_can_change_it() {
    let served = Served::new();
    let elsewhere = ahma_tests::Workspace::new();
    let scope = served.project.path().canonicalize().unwrap();
    let root = ahma_tests::http::root_of(elsewhere.path());
    let rooted = served.process.stateless().with_roots(&[root]);
    let [session, stateless] = served.clients();
    for (number, client) in [rooted.clone(), session, stateless].iter().enumerate() {
        let result = client.sync(&format!("pwd; ls; touch seen-{number}"));
        assert!(
            result.text.starts_with(scope.to_str().unwrap()),
            "{result:?}"
        );
        for earlier in 0..number {
            assert!(
                result.text.contains(&format!("seen-{earlier}")),
                "{result:?}"
            );
        }
    }
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert_eq!(rooted.send(&changed).status, 202, "it is nobody's business");
    assert!(rooted.sync("pwd").text.starts_with(scope.to_str().unwrap()));
}

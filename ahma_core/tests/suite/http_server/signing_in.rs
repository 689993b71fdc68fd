//! A server behind ours that wants to know who asks, and clients that reach ours over HTTP.

use ahma_tests::http::{Client, Request, initialize};
use ahma_tests::http_process::HttpProcess;
use ahma_tests::mcp::CallResult;
use serde_json::{Value, json};

use super::modern_with;
use super::sign_in_world::{World, open, url_in};

/// Tools of the server are known, and nobody is signed in.
fn signed_out() -> (World, HttpProcess) {
    let world = World::new();
    world.known_and_signed_out();
    let process = world.serve();
    (world, process)
}

fn echo(client: &Client) -> CallResult {
    client.call("notes_echo", &json!({ "text": "hello" }))
}

fn assert_echoed(result: &CallResult) {
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{result:?}"
    );
}

/// Proves: C69.
#[test]
fn a_session_is_given_the_url_or_asked_to_open_it() {
    let (world, process) = signed_out();
    let told = process.connect();
    let refused = echo(&told);
    assert!(refused.is_error, "{refused:?}");
    let mut first = initialize("2025-11-25");
    first["params"]["capabilities"] = json!({ "elicitation": { "url": {} } });
    let asked = process.stateless().connected(&first);
    let calling = asked.calling("notes_echo", &json!({ "text": "hello" }));
    let mut stream = calling.open(asked.address);
    let question = stream.message("elicitation/create");
    assert_eq!(question["params"]["mode"], "url", "{question}");
    // Whoever calls meanwhile is given the same.
    let url = question["params"]["url"].as_str().unwrap();
    assert_eq!(url, url_in(&refused.text));
    open(url);
    asked.answer(&question["id"], &json!({ "action": "accept" }));
    assert_echoed(&CallResult::of(&stream.rest().answer()));
    assert_echoed(&echo(&told));
    assert_eq!(world.sign_ins(), 2);
}

/// Proves: C69.
#[test]
fn a_client_without_a_session_is_given_the_url_or_asked_by_a_result() {
    let (world, process) = signed_out();
    let client = process.stateless();
    let refused = echo(&client);
    assert!(refused.is_error, "{refused:?}");
    let call = |further: Value| {
        let mut params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
        let fields = params.as_object_mut().unwrap();
        fields.extend(further.as_object().unwrap().clone());
        let params = modern_with(params, &json!({ "elicitation": { "url": {} } }));
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = Request::message(&message)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "notes_echo");
        client.prepared(request).send(client.address).answer()
    };
    let asked = call(json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["ahma_sign_in"]["params"];
    assert_eq!(question["mode"], "url", "{asked}");
    let url = question["url"].as_str().unwrap();
    assert_eq!(url, url_in(&refused.text));
    open(url);
    let answered = call(json!({ "inputResponses": { "ahma_sign_in": { "action": "accept" } } }));
    assert_echoed(&CallResult::of(&answered));
    assert_echoed(&echo(&client));
    assert_eq!(world.sign_ins(), 2);
}

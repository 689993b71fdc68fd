//! Questions that servers behind ours have for its clients: each pair of lifecycles works, or says why not.

use ahma_tests::mcp::{CallResult, McpProcess};
use serde_json::{Value, json};

use super::behind::{Behind, entry};
use super::modern_with;

fn behind(revision: &str) -> Behind {
    let revision = format!("--revision={revision}");
    Behind::new(&json!({ "up": entry(&["--asks", &revision]) }))
}

/// A client of 2025-11-25 with these capabilities.
fn with_session(behind: &Behind, capabilities: &Value) -> McpProcess {
    let mut client = behind.start_stateless(true);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" }
    });
    let answer = client.request("initialize", &params);
    assert!(answer["result"].is_object(), "{answer}");
    client.notify("notifications/initialized", &json!({}));
    client
}

fn reply(client: &mut McpProcess, question: &Value, result: &Value) {
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
    client.send_line(line.to_string().as_bytes());
}

/// Calls the tool that asks, as a client of 2026-07-28.
fn ask_stateless(client: &mut McpProcess, capabilities: &Value, further: &Value) -> Value {
    let mut params = json!({ "name": "up_ask", "arguments": {} });
    let params = params.as_object_mut().unwrap();
    params.extend(further.as_object().unwrap().clone());
    let params = modern_with(Value::Object(params.clone()), capabilities);
    client.request("tools/call", &params)
}

/// Proves: C37.
#[test]
fn a_question_with_sessions_on_both_sides_reaches_the_client_and_its_answer_the_server() {
    let behind = behind("legacy");
    let mut client = with_session(&behind, &json!({ "elicitation": {} }));
    let call = client.send("tools/call", &json!({ "name": "up_ask", "arguments": {} }));
    let question = client.notification("elicitation/create");
    // Whole, whatever is in it.
    let expected = json!({
        "mode": "form", "message": "Who?", "vendor": 1,
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string", "x-vendor": 2 } } }
    });
    let mut asked = question["params"].clone();
    asked.as_object_mut().unwrap().remove("_meta");
    assert_eq!(asked, expected);
    let answer = json!({ "action": "accept", "content": { "name": "Ada", "n": 1.10 } });
    reply(&mut client, &question, &answer);
    let result = CallResult::of(&client.answer(call));
    let given: Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!(given, answer);
}

/// Proves: C37.
#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let behind = behind("legacy");
    let mut client = with_session(&behind, &json!({ "elicitation": {} }));
    let call = client.send("tools/call", &json!({ "name": "up_ask", "arguments": {} }));
    let question = client.notification("elicitation/create");
    client.notify("notifications/cancelled", &json!({ "requestId": call }));
    let cancelled = client.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
}

/// Proves: C37.
#[test]
fn a_client_that_cannot_be_asked_is_not_and_the_server_is_told_why() {
    let behind = behind("legacy");
    let mut client = with_session(&behind, &json!({}));
    let result = client.call("up_ask", &json!({}));
    assert!(
        result.text.contains("-32601") && result.text.contains("does not declare the capability"),
        "{result:?}"
    );
    assert_eq!(client.notifications_received("elicitation/create"), 0);
    // A client of 2026-07-28 cannot be asked by a request.
    let mut client = behind.start_stateless(true);
    let answer = ask_stateless(&mut client, &json!({ "elicitation": {} }), &json!({}));
    let result = CallResult::of(&answer);
    assert!(
        result.text.contains("-32601") && result.text.contains("by results only"),
        "{result:?}"
    );
}

/// Proves: C37.
#[test]
fn a_question_without_sessions_on_both_sides_is_a_result_and_is_answered_by_the_next_call() {
    let behind = behind("stateless");
    let mut client = behind.start_stateless(true);
    let capabilities = json!({ "elicitation": { "form": {} } });
    let answer = ask_stateless(&mut client, &capabilities, &json!({}));
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    assert_eq!(result["requestState"], "opaque");
    assert_eq!(result["vendor"], 1);
    let question = &result["inputRequests"]["who"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(
        question["params"]["requestedSchema"]["properties"]["name"]["x-vendor"],
        2
    );
    let given = json!({ "action": "accept", "content": { "name": "Ada" } });
    let further = json!({ "inputResponses": { "who": given }, "requestState": "opaque" });
    let answer = ask_stateless(&mut client, &capabilities, &further);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    let heard: Value = serde_json::from_str(&CallResult::of(&answer).text).unwrap();
    assert_eq!(
        heard,
        json!({ "declared": capabilities, "given": given, "state": "opaque" })
    );
}

/// Proves: C37.
#[test]
fn a_question_in_the_way_of_another_lifecycle_is_an_error_that_says_so() {
    let behind = behind("stateless");
    let mut client = with_session(&behind, &json!({ "elicitation": {} }));
    let result = client.call("up_ask", &json!({}));
    assert!(result.is_error, "{result:?}");
    assert!(
        result.text.contains("the server `up` has a question")
            && result.text.contains("2026-07-28"),
        "{result:?}"
    );
    // The same lifecycle, and a client that does not say that it can be asked.
    let mut client = behind.start_stateless(true);
    let answer = ask_stateless(&mut client, &json!({}), &json!({}));
    let result = CallResult::of(&answer);
    assert!(result.is_error, "{answer}");
    assert!(
        result
            .text
            .contains("does not declare the capability `elicitation`"),
        "{result:?}"
    );
}

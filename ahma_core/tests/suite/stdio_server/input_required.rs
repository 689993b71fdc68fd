//! Questions of programs to a client of 2026-07-28: it is asked by the result of its call, and calls again.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::scripted::{Modern, add_events, events};

const TWO_ROUNDS: &str = r#"
first = ask(name=form("Who?", name={"type": "string"}), color=form("Which?", color={"type": "string"}))
second = ask(age=form("How old?", age={"type": "number", "minimum": 0.5}))
event("structured", value={**first, **second})
"#;

fn forms() -> Value {
    json!({ "elicitation": {} })
}

fn accepted(field: &str, value: &str) -> Value {
    json!({ "action": "accept", "content": { field: value } })
}

/// What a call brings to one that asked.
fn answers(asked: &Value, responses: &Value) -> Value {
    json!({ "requestState": asked["requestState"], "inputResponses": responses })
}

fn assert_asks(result: &Value, keys: &[&str]) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result["requestState"].is_string(), "{result}");
    let open = result["inputRequests"].as_object().unwrap();
    assert_eq!(open.keys().collect::<Vec<_>>(), keys, "{result}");
}

/// Proves: T60.
#[test]
fn questions_are_results_and_the_next_calls_answer_them_in_several_rounds() {
    let project = events(TWO_ROUNDS);
    let mut client = Modern::of(&project, forms());
    let first = client.call("run", &json!({}));
    assert_asks(&first, &["name", "color"]);
    let expected = json!({
        "method": "elicitation/create",
        "params": {
            "message": "Who?", "mode": "form",
            "requestedSchema": {
                "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"]
            }
        }
    });
    assert_eq!(first["inputRequests"]["name"], expected);
    // A part of the answers is kept, and the rest asked for.
    let name = accepted("name", "Ada");
    let partial = client.call("run", &answers(&first, &json!({ "name": name })));
    assert_asks(&partial, &["color"]);
    // What is no answer is none.
    let wrong = json!({ "color": accepted("shade", "red") });
    let again = client.call("run", &answers(&partial, &wrong));
    assert_asks(&again, &["color"]);
    let color = json!({ "action": "decline" });
    let second = client.call("run", &answers(&again, &json!({ "color": color })));
    assert_asks(&second, &["age"]);
    let age = &second["inputRequests"]["age"]["params"]["requestedSchema"]["properties"]["age"];
    assert_eq!(*age, json!({ "type": "number", "minimum": 0.5 }));
    let age = json!({ "action": "accept", "content": { "age": 36 } });
    let last = client.call("run", &answers(&second, &json!({ "age": age })));
    assert_eq!(last["resultType"], "complete", "{last}");
    let expected = json!({ "name": name, "color": color, "age": age });
    assert_eq!(last["structuredContent"], expected);
    // One program has heard it all.
    let status = client.call("status", &json!({}));
    let operations = &status["structuredContent"]["operations"];
    assert_eq!(operations.as_array().unwrap().len(), 1, "{status}");
}

/// Proves: T60.
#[test]
fn a_state_that_is_not_of_this_server_and_tool_is_refused() {
    let project = events(TWO_ROUNDS);
    add_events(&project, "other", &json!({}), TWO_ROUNDS);
    let mut client = Modern::of(&project, forms());
    let first = client.call("run", &json!({}));
    let state = first["requestState"].as_str().unwrap();
    let middle = state.len() / 2;
    let changed = match &state[middle..=middle] {
        "A" => "B",
        _ => "A",
    };
    let tampered = format!("{}{changed}{}", &state[..middle], &state[middle + 1..]);
    let expected =
        "requestState: it is not of this server and this tool, or too old; call again without it";
    for (tool, state) in [
        ("run", tampered.as_str()),
        ("run", ""),
        ("run", "op_1"),
        ("other", state),
    ] {
        let both = json!({ "name": accepted("name", "A"), "color": accepted("color", "B") });
        let further = json!({ "requestState": state, "inputResponses": both });
        let answer = client.answer(tool, &further);
        let error = json!({ "code": -32602, "message": expected });
        assert_eq!(answer["error"], error, "{tool}: {answer}");
    }
    // A server that was started later has another key.
    let mut later = Modern::of(&project, forms());
    let answer = later.answer("run", &answers(&first, &json!({})));
    assert_eq!(answer["error"]["message"], expected, "{answer}");
    // The question waits all the same.
    let both = json!({ "name": accepted("name", "A"), "color": accepted("color", "B") });
    let second = client.call("run", &answers(&first, &both));
    assert_asks(&second, &["age"]);
}

/// Proves: T60.
#[test]
fn an_old_state_answers_nothing_anew() {
    let project = events(TWO_ROUNDS);
    let mut client = Modern::of(&project, forms());
    let first = client.call("run", &json!({}));
    let both = json!({ "name": accepted("name", "A"), "color": accepted("color", "B") });
    let second = client.call("run", &answers(&first, &both));
    assert_asks(&second, &["age"]);
    // The first state again, with an answer to what is asked now: it was not meant for it.
    let age = json!({ "age": { "action": "accept", "content": { "age": 1 } } });
    let again = client.call("run", &answers(&first, &age));
    assert_asks(&again, &["age"]);
    let last = client.call("run", &answers(&again, &age));
    assert_eq!(last["resultType"], "complete", "{last}");
    // After the end, it gives the result.
    let late = client.call("run", &answers(&again, &age));
    assert_eq!(
        late["structuredContent"], last["structuredContent"],
        "{late}"
    );
}

/// Proves: T60.
#[test]
fn answers_without_a_state_belong_to_a_new_call() {
    let project = events(TWO_ROUNDS);
    let mut client = Modern::of(&project, forms());
    let both = json!({ "name": accepted("name", "A"), "color": accepted("color", "B") });
    let result = client.call("run", &json!({ "inputResponses": both }));
    assert_asks(&result, &["age"]);
}

/// Proves: T60.
#[test]
fn what_the_client_cannot_be_asked_is_answered_with_an_error_and_the_rest_is_asked() {
    let program = r#"
sample = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5, "temperature": 0.5}}
event("structured", value=ask(said=sample, where={"method": "roots/list"}))
"#;
    let project = events(program);
    let mut client = Modern::of(&project, json!({ "sampling": {} }));
    let asked = client.call("run", &json!({}));
    assert_asks(&asked, &["said"]);
    let params = &asked["inputRequests"]["said"]["params"];
    assert_eq!(params["temperature"], 0.5, "{asked}");
    let said =
        json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" });
    let result = client.call("run", &answers(&asked, &json!({ "said": said })));
    let expected = json!({
        "said": said, "where": { "error": "the client of this call does not take roots/list" }
    });
    assert_eq!(result["structuredContent"], expected);
}

/// Proves: T60.
#[test]
fn a_call_that_answers_and_is_cancelled_ends_the_program() {
    let mark = ahma_tests::unique_mark();
    let program = format!(
        "import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\n\
         ask(name=form('Who?', name={{'type': 'string'}}))\nuntil('never')"
    );
    let project = Workspace::new();
    add_events(&project, "run", &json!({}), &program);
    let mut client = Modern::of(&project, forms());
    let asked = client.call("run", &json!({}));
    assert_eq!(ahma_tests::marked(&mark), 1);
    let mut params = answers(&asked, &json!({ "name": accepted("name", "A") }));
    params["name"] = json!("run");
    params["arguments"] = json!({});
    let params = super::modern_with(params, &client.capabilities);
    let id = client.client.send("tools/call", &params);
    let cancel = super::modern_with(json!({ "requestId": id }), &client.capabilities);
    client.client.notify("notifications/cancelled", &cancel);
    ahma_tests::until(|| ahma_tests::marked(&mark) == 0);
}

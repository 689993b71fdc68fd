//! Questions of programs to a client with a session: it is asked by requests while they wait.

use ahma_tests::Workspace;
use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::until;
use serde_json::{Value, json};

use super::scripted::{Modern, add_events, events, legacy, reply};

/// Asks for a name and says what it was told.
const ASKING: &str = r#"
answer = ask(who=form("Who?", name={"type": "string"}))["who"]
event("structured", value=answer)
"#;

fn forms() -> Value {
    json!({ "elicitation": {} })
}

/// Sends a call of the tool `run`, and waits for the question.
fn asked(client: &mut McpProcess) -> (u64, Value) {
    let id = client.send("tools/call", &json!({ "name": "run", "arguments": {} }));
    (id, client.notification("elicitation/create"))
}

/// Proves: T60.
#[test]
fn a_question_reaches_the_client_and_its_answer_the_program() {
    let project = events(ASKING);
    let mut client = legacy(&project, &forms());
    for answer in [
        json!({ "action": "accept", "content": { "name": "Ada" } }),
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
    ] {
        let (id, question) = asked(&mut client);
        assert_eq!(question["params"]["message"], "Who?");
        let properties = &question["params"]["requestedSchema"]["properties"];
        assert_eq!(*properties, json!({ "name": { "type": "string" } }));
        reply(&mut client, &question, &answer);
        let result = CallResult::of(&client.answer(id));
        assert_eq!(result.structured, answer);
    }
    let (id, question) = asked(&mut client);
    let error = json!({
        "jsonrpc": "2.0", "id": question["id"], "error": { "code": -32000, "message": "the window is closed" }
    });
    client.send_line(error.to_string().as_bytes());
    let result = CallResult::of(&client.answer(id));
    assert_eq!(
        result.structured,
        json!({ "error": "the window is closed" })
    );
}

/// Proves: T60.
#[test]
fn an_answer_that_is_none_reaches_the_program_as_an_error() {
    let project = events(ASKING);
    let mut client = legacy(&project, &forms());
    for answer in [
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept", "content": { "name": 7 } }),
        json!({ "action": "perhaps" }),
    ] {
        let (id, question) = asked(&mut client);
        reply(&mut client, &question, &answer);
        let result = CallResult::of(&client.answer(id));
        let why = "the client's answer is not what was asked for";
        assert_eq!(result.structured, json!({ "error": why }), "{answer}");
    }
}

/// Proves: T60.
#[test]
fn several_questions_are_answered_together_and_one_after_the_other() {
    let program = r#"
sample = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}
answers = ask(name=form("Who?", name={"type": "string"}), said=sample, where={"method": "roots/list"})
again = ask(more=form("More?", more={"type": "boolean"}))
event("structured", value={**answers, **again})
"#;
    let project = events(program);
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let mut client = legacy(&project, &capabilities);
    let id = client.send("tools/call", &json!({ "name": "run", "arguments": {} }));
    let name = json!({ "action": "accept", "content": { "name": "Ada" } });
    let said =
        json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" });
    let roots = json!({ "roots": [{ "uri": "file:///a" }] });
    let more = json!({ "action": "accept", "content": { "more": true } });
    for (method, answer) in [
        ("elicitation/create", &name),
        ("sampling/createMessage", &said),
        ("roots/list", &roots),
        ("elicitation/create", &more),
    ] {
        let question = client.notification(method);
        reply(&mut client, &question, answer);
    }
    let result = CallResult::of(&client.answer(id));
    let expected = json!({ "name": name, "said": said, "where": roots, "more": more });
    assert_eq!(result.structured, expected);
}

/// Proves: T60.
#[test]
fn a_client_that_cannot_be_asked_is_not_and_the_program_is_told_why() {
    let project = events(ASKING);
    let mut client = legacy(&project, &json!({}));
    let result = client.call("run", &json!({}));
    let why = "the client of this call does not take elicitation/create";
    assert_eq!(result.structured, json!({ "error": why }));
    assert_eq!(client.notifications_received("elicitation/create"), 0);
    // One that takes URLs only takes no forms.
    let mut client = legacy(&project, &json!({ "elicitation": { "url": {} } }));
    let result = client.call("run", &json!({}));
    assert_eq!(result.structured, json!({ "error": why }));
    let mut client = Modern::of(&project, json!({}));
    let result = client.call("run", &json!({}));
    assert_eq!(result["structuredContent"], json!({ "error": why }));
}

/// Proves: T60.
#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let mark = ahma_tests::unique_mark();
    let program = format!("import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\n{ASKING}");
    let project = events(&program);
    let mut client = legacy(&project, &forms());
    let (id, question) = asked(&mut client);
    assert_eq!(ahma_tests::marked(&mark), 1);
    client.notify("notifications/cancelled", &json!({ "requestId": id }));
    let cancelled = client.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    until(|| ahma_tests::marked(&mark) == 0);
}

/// Proves: T60.
#[test]
fn time_in_which_somebody_thinks_does_not_count() {
    let project = Workspace::new();
    let fields = json!({ "timeout_seconds": 1 });
    add_events(&project, "run", &fields, ASKING);
    add_events(&project, "slow", &fields, "until('never')");
    let mut client = legacy(&project, &forms());
    let (id, question) = asked(&mut client);
    // Another call of the same deadline, which began later, is over.
    let slow = client.call("slow", &json!({}));
    assert_eq!(slow.record["state"], "timed_out", "{slow:?}");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    reply(&mut client, &question, &answer);
    let result = CallResult::of(&client.answer(id));
    assert_eq!(result.structured, answer, "{result:?}");
    // After the answer it counts again.
    add_events(
        &project,
        "run",
        &fields,
        &format!("{ASKING}\nuntil('never')"),
    );
    let (id, question) = asked(&mut client);
    reply(&mut client, &question, &answer);
    let result = CallResult::of(&client.answer(id));
    assert_eq!(result.record["state"], "timed_out", "{result:?}");
}

/// Proves: T60.
#[test]
fn one_question_is_open_at_a_time_and_an_impossible_one_is_refused() {
    let program = r#"
event("ask", questions={"a": form("A?", a={"type": "string"})})
event("ask", questions={"b": form("B?", b={"type": "string"})})
refused = json.loads(sys.stdin.readline())
event("ask", questions={"c": {"method": "tools/call", "params": {}}})
impossible = json.loads(sys.stdin.readline())
answered = json.loads(sys.stdin.readline())
event("structured", value={"refused": refused, "impossible": impossible, "answered": answered})
"#;
    let project = events(program);
    let mut client = legacy(&project, &forms());
    let (id, question) = asked(&mut client);
    until(|| {
        let status = client.call("status", &json!({}));
        let id = status.structured["operations"][0]["operation_id"].clone();
        let read = client.call("read_output", &json!({ "operation_id": id }));
        read.text.contains("one to ten requests")
    });
    reply(&mut client, &question, &json!({ "action": "decline" }));
    let result = client.answer(id)["result"].clone();
    let expected = json!({
        "refused": { "answers": { "b": { "error": "another question waits for its answer" } } },
        "impossible": { "answers": { "c": { "error": "a question has one to ten requests, each with a method that clients take, \
            and with its parameters" } } },
        "answered": { "answers": { "a": { "action": "decline" } } }
    });
    assert_eq!(result["structuredContent"], expected);
    assert_eq!(client.notifications_received("elicitation/create"), 0);
}

/// Proves: T60.
#[test]
fn a_command_in_the_background_asks_a_session_and_no_client_without_one() {
    let program = format!("event('detach')\nuntil('go')\n{ASKING}");
    let project = events(&program);
    let mut client = legacy(&project, &forms());
    let started = client.call("run", &json!({}));
    assert!(started.text.starts_with("started op_"), "{started:?}");
    project.write("go", "");
    let question = client.notification("elicitation/create");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    reply(&mut client, &question, &answer);
    let id = json!({ "operation_id": started.operation_id() });
    let waited = client.call("await", &id);
    assert_eq!(waited.structured["operations"][0]["result"], answer);

    let project = events(&program);
    let mut client = Modern::of(&project, forms());
    let started = client.call("run", &json!({}));
    project.write("go", "");
    let id = &started["_meta"]["ahma/operation"]["operation_id"];
    let wait = json!({ "arguments": { "operation_id": id } });
    let waited = client.call("await", &wait);
    let why = "its call has been answered, so that nobody can be asked";
    let result = &waited["structuredContent"]["operations"][0]["result"];
    assert_eq!(*result, json!({ "error": why }), "{waited}");
}

/// Proves: T60.
#[test]
fn a_step_of_a_sequence_asks_nobody() {
    let project = events("print(ask(who=form('Who?', name={'type': 'string'})))");
    let steps = json!({
        "name": "flow", "description": "F.", "command": "sequence", "synchronous": true,
        "sequence": [{ "tool": "run" }]
    });
    project.write(".ahma/tools/flow.json", steps.to_string());
    let mut client = legacy(&project, &forms());
    let result = client.call("flow", &json!({}));
    let why = "{'who': {'error': 'a step of a sequence has nobody to ask'}}";
    assert!(result.text.contains(why), "{result:?}");
    assert_eq!(client.notifications_received("elicitation/create"), 0);
}

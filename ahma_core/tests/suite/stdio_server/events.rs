//! Programs that write events.

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::scripted::{Modern, add_events, add_python, call, events, legacy, texts, whole};
use super::{Served, modern_with};

/// A call of the tool `run`, with a token.
pub(super) fn with_token() -> Value {
    json!({ "name": "run", "arguments": {}, "_meta": { "progressToken": "mine" } })
}

/// The parameters of the next notification of this kind.
pub(super) fn told(client: &mut McpProcess, method: &str) -> Value {
    let mut params = client.notification(method)["params"].clone();
    // The SDK adds an empty one.
    params.as_object_mut().unwrap().remove("_meta");
    params
}

/// Proves: T59.
#[test]
fn progress_is_told_on_the_token_of_the_call_while_it_runs() {
    let program = r#"
event("progress", progress=1, total=4, message="one of four")
until("seen")
event("progress", progress=0.5)
event("progress", progress=2.5)
text("done")
"#;
    let mut served = Served::of(events(program), &[]);
    let id = served.client.send("tools/call", &with_token());
    let first = told(&mut served.client, "notifications/progress");
    let expected = json!({
        "progressToken": "mine", "progress": 1.0, "total": 4.0, "message": "one of four"
    });
    assert_eq!(first, expected);
    served.project.write("seen", "");
    // Progress only grows.
    let second = told(&mut served.client, "notifications/progress");
    let expected = json!({ "progressToken": "mine", "progress": 2.5 });
    assert_eq!(second, expected);
    let result = served.client.answer(id);
    assert_eq!(texts(&result["result"])[0], "done");
    let more = served.client.notifications_so_far("notifications/progress");
    assert_eq!(more, 0);
    // Without a token there is nothing to tell it on.
    call(&mut served.client, "run");
    let more = served.client.notifications_so_far("notifications/progress");
    assert_eq!(more, 0);
}

const LOGGING: &str = r#"
event("log", level="debug", data="small")
event("log", data={"a": [1]}, logger="part")
event("log", level="error", data="large")
"#;

/// The messages of one call, as they came before its answer.
fn messages(client: &mut McpProcess, params: &Value) -> Vec<Value> {
    client.request("tools/call", params);
    let count = client.notifications_received("notifications/message");
    let all = (0..count).map(|_| told(client, "notifications/message"));
    all.collect()
}

/// Proves: T59.
#[test]
fn messages_come_as_far_as_the_client_wants_them_in_both_lifecycles() {
    let debug = json!({ "level": "debug", "data": "small" });
    let info = json!({ "level": "info", "data": { "a": [1] }, "logger": "part" });
    let error = json!({ "level": "error", "data": "large" });
    let call = json!({ "name": "run", "arguments": {} });

    let project = events(LOGGING);
    let mut client = legacy(&project, &json!({}));
    let usual = messages(&mut client, &call);
    assert_eq!(usual, [info.clone(), error.clone()]);
    let levels = [
        ("debug", vec![debug.clone(), info.clone(), error.clone()]),
        ("warning", vec![error.clone()]),
        ("critical", vec![]),
    ];
    for (level, expected) in &levels {
        client.request("logging/setLevel", &json!({ "level": level }));
        assert_eq!(messages(&mut client, &call), *expected, "{level}");
    }

    let mut client = super::unspoken_to(&project);
    let unasked = modern_with(call.clone(), &json!({}));
    assert_eq!(messages(&mut client, &unasked), Vec::<Value>::new());
    for (level, expected) in &levels {
        let mut call = unasked.clone();
        call["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        assert_eq!(messages(&mut client, &call), *expected, "{level}");
    }
    // Whoever reads the output finds them there.
    let status = json!({ "name": "status", "arguments": {} });
    let status = client.request("tools/call", &modern_with(status, &json!({})));
    let id = &status["result"]["structuredContent"]["operations"][0]["operation_id"];
    let read = json!({ "name": "read_output", "arguments": { "operation_id": id } });
    let read = client.request("tools/call", &modern_with(read, &json!({})));
    let text = texts(&read["result"])[0];
    assert!(
        text.contains("debug: small\ninfo: {\"a\":[1]}\nerror: large\n"),
        "{text}"
    );
}

/// Proves: T59.
#[test]
fn content_comes_in_its_order_with_text_between_and_the_last_structured_result() {
    let program = r#"
print("before", flush=True)
text("one")
event("structured", value={"n": 1})
event("content", content={"type": "image", "data": "AQID", "mimeType": "image/png"})
print("between", flush=True)
print("and more", flush=True)
resource = {"uri": "a:b", "mimeType": "text/plain", "text": "inside"}
event("content", content={"type": "resource", "resource": resource})
event("content", content={"type": "resource_link", "uri": "a:c", "name": "c"})
event("content", content={"type": "audio", "data": "AQID", "mimeType": "audio/wav"})
event("structured", value={"n": 2})
sys.stderr.write("aside\n")
"#;
    let mut served = Served::of(events(program), &[]);
    let result = whole(&mut served.client, "run");
    let content = result["content"].as_array().unwrap();
    let shown: Vec<Value> = content[..7].to_vec();
    let resource = json!({ "uri": "a:b", "mimeType": "text/plain", "text": "inside" });
    assert_eq!(
        shown,
        [
            json!({ "type": "text", "text": "before\n" }),
            json!({ "type": "text", "text": "one" }),
            json!({ "type": "image", "data": "AQID", "mimeType": "image/png" }),
            json!({ "type": "text", "text": "between\nand more\n" }),
            json!({ "type": "resource", "resource": resource }),
            json!({ "type": "resource_link", "uri": "a:c", "name": "c" }),
            json!({ "type": "audio", "data": "AQID", "mimeType": "audio/wav" }),
        ]
    );
    assert_eq!(content.len(), 8, "{result}");
    assert_eq!(result["structuredContent"], json!({ "n": 2 }));
    assert_eq!(result["isError"], false);
}

/// Proves: T59.
#[test]
fn an_error_fails_the_call_and_one_with_a_code_is_one_of_the_protocol() {
    let program = r#"
text("so far")
event("content", content={"type": "image", "data": "AQID", "mimeType": "image/png"})
event("error", message="the disk is full")
event("error", message="and again")
"#;
    let mut served = Served::of(events(program), &[]);
    let result = whole(&mut served.client, "run");
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["_meta"]["ahma/error"]["kind"], "failed");
    assert_eq!(result["content"][0]["type"], "image", "{result}");
    let text = texts(&result)[0];
    let expected = "so far\n[image, image/png, about 3 bytes]\nthe disk is full\nand again\n[op_";
    assert!(text.starts_with(expected), "{text}");

    let program = "event('error', message='no such thing', code=-32602)";
    let mut served = Served::of(events(program), &[]);
    let answer = served.client.request("tools/call", &with_token());
    let expected = json!({ "code": -32602, "message": "no such thing" });
    assert_eq!(answer["error"], expected);

    // A command that just fails.
    let program = "text('so far'); sys.exit(4)";
    let mut served = Served::of(events(program), &[]);
    let failed = call(&mut served.client, "run");
    assert!(failed.is_error, "{failed:?}");
    assert!(failed.text.starts_with("so far\n[op_"), "{failed:?}");
}

/// Proves: T57, T59.
#[test]
fn a_structured_result_is_checked_against_the_schema_of_the_tool() {
    let schema = json!({
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"]
    });
    let fields = json!({ "output_schema": schema });
    let project = Workspace::new();
    let programs = [
        ("right", "event('structured', value={'n': 1})"),
        ("wrong", "event('structured', value={'n': 'one'})"),
        ("none", "text('n is 1')"),
    ];
    for (name, program) in programs {
        add_events(&project, name, &fields, program);
    }
    let mut served = Served::of(project, &[]);
    let right = call(&mut served.client, "right");
    assert_eq!(right.structured, json!({ "n": 1 }));
    let wrong = whole(&mut served.client, "wrong");
    assert_eq!(wrong["isError"], true, "{wrong}");
    let text = texts(&wrong)[0];
    assert!(
        text.contains("what the tool promises:\n/n: \"one\" is not of type"),
        "{text}"
    );
    let none = call(&mut served.client, "none");
    assert!(none.is_error, "{none:?}");
    let expected = "n is 1\nthe command wrote no structured result, which its tool promises\n";
    assert!(none.text.starts_with(expected), "{none:?}");
}

/// Proves: T59.
#[test]
fn a_command_goes_on_in_the_background_when_it_wants_to() {
    let program = r#"
event("detach")
until("go")
text("done")
event("structured", value={"n": 1})
"#;
    let mut served = Served::of(events(program), &[]);
    let started = call(&mut served.client, "run");
    assert!(started.text.starts_with("started op_"), "{started:?}");
    served.project.write("go", "");
    let id = json!({ "operation_id": started.operation_id() });
    let waited = served.client.call("await", &id);
    assert_eq!(waited.text, "done");
    assert_eq!(
        waited.structured["operations"][0]["result"],
        json!({ "n": 1 })
    );

    let project = events(program);
    let mut client = Modern::with_tasks(&project);
    let task = client.call("run", &json!({}));
    assert_eq!(task["resultType"], "task", "{task}");
    project.write("go", "");
    let mut ended = Value::Null;
    ahma_tests::until(|| {
        ended = client.task(&task["taskId"]);
        ended["status"] != "working"
    });
    assert_eq!(
        ended["result"]["structuredContent"],
        json!({ "n": 1 }),
        "{ended}"
    );
}

/// Proves: T59.
#[test]
fn the_first_line_has_version_arguments_and_what_the_client_can_be_asked() {
    let fields = json!({
        "options": [{ "name": "level", "type": "integer" }], "output": "events"
    });
    let program = r#"
import json, sys
print(json.dumps({"type": "structured", "value": {"line": sys.stdin.readline(), "words": sys.argv[1:]}}))
"#;
    let project = Workspace::new();
    add_python(&project, "run", &fields, program);
    let mut client = legacy(&project, &json!({ "elicitation": {}, "sampling": {} }));
    let result = client.call("run", &json!({ "level": 3, "execution_mode": "sync" }));
    let line = result.structured["line"].as_str().unwrap();
    let first: Value = serde_json::from_str(line).unwrap();
    let expected = json!({
        "version": 1, "arguments": { "level": 3 },
        "client": ["elicitation/create", "sampling/createMessage"]
    });
    assert_eq!(first, expected);
    assert_eq!(result.structured["words"], json!(["--level=3"]));
}

/// Proves: T59.
#[test]
fn a_step_that_reports_an_error_has_failed() {
    let project = Workspace::new();
    add_events(&project, "bad", &json!({}), "event('error', message='no')");
    add_events(&project, "good", &json!({}), "text('reached')");
    let steps = json!({
        "name": "both", "description": "B.", "command": "sequence", "synchronous": true,
        "sequence": [{ "tool": "bad" }, { "tool": "good" }]
    });
    project.write(".ahma/tools/both.json", steps.to_string());
    let mut served = Served::of(project, &[]);
    let result = call(&mut served.client, "both");
    assert!(result.is_error, "{result:?}");
    assert!(!result.text.contains("reached"), "{result:?}");
    assert!(result.text.contains("no\n"), "{result:?}");
    assert!(!call(&mut served.client, "good").is_error);
}

/// Proves: T59.
#[test]
fn much_content_is_cut_and_the_call_answers_all_the_same() {
    let program = r#"
block = {"type": "image", "data": "QUFB" * (1 << 20), "mimeType": "image/png"}
for _ in range(7):
    event("content", content=block)
text("end")
"#;
    let mut served = Served::of(events(program), &[]);
    let result = whole(&mut served.client, "run");
    let content = result["content"].as_array().unwrap();
    let pictures = content.iter().filter(|it| it["type"] == "image").count();
    assert_eq!(pictures, 5);
    let left_out = "[content beyond 24 MiB is left out of the result]\n";
    assert!(texts(&result).contains(&left_out), "{:?}", texts(&result));
}

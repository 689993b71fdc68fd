//! What tools want of their clients: abilities, and tasks.

use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::Served;
use super::scripted::{Modern, add_events, add_python, events, legacy};

const ASKING: &str = r#"
first = ask(name=form("Who?", name={"type": "string"}), age=form("How old?", age={"type": "number", "minimum": 0.5}))
sample = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5, "temperature": 0.5}}
second = ask(name=form("Who else?", name={"type": "string"}), said=sample)
event("structured", value={"first": first, "second": second})
"#;

fn tasks() -> Value {
    json!({ "io.modelcontextprotocol/tasks": {} })
}

/// Proves: T62.
#[test]
fn a_call_of_a_client_that_lacks_what_a_tool_requires_is_refused_before_anything_runs() {
    let project = Workspace::new();
    let fields = json!({ "requires": ["elicitation", "roots"] });
    add_python(&project, "run", &fields, "open('ran', 'w')");
    let ran = project.path().join("ran");
    let mut client = Modern::of(&project, json!({ "sampling": {}, "roots": {} }));
    let refused = client.answer("run", &json!({}));
    let expected = json!({
        "code": -32021,
        "message": "`run` needs a client that declares these capabilities: {\"elicitation\":{}}",
        "data": { "requiredCapabilities": { "elicitation": {} } }
    });
    assert_eq!(refused["error"], expected);
    let mut session = legacy(&project, &json!({}));
    let params = json!({ "name": "run", "arguments": {} });
    let refused = session.request("tools/call", &params);
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let lacking = json!({ "elicitation": {}, "roots": {} });
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], lacking);
    assert!(!ran.exists());
    // The same call of clients that have it.
    client.capabilities = json!({ "elicitation": { "form": {} }, "roots": {} });
    assert_eq!(client.call("run", &json!({}))["isError"], false);
    assert!(ran.exists());
    let mut session = legacy(&project, &lacking);
    assert!(!session.call("run", &json!({})).is_error);
}

/// Proves: T62.
#[test]
fn a_tool_says_whether_its_calls_are_tasks() {
    let project = Workspace::new();
    let program = "open(__file__ + '.ran', 'a').write('x'); print('done')";
    for task in ["never", "optional", "required"] {
        add_python(&project, task, &json!({ "task": task }), program);
    }
    add_python(&project, "unsaid", &json!({}), program);
    let mut knowing = Modern::of(&project, json!({ "extensions": tasks() }));
    for (tool, is_task) in [
        ("never", false),
        ("optional", true),
        ("required", true),
        ("unsaid", false),
    ] {
        let result = knowing.call(tool, &json!({}));
        let kind = if is_task { "task" } else { "complete" };
        assert_eq!(result["resultType"], kind, "{tool}: {result}");
        if is_task {
            let mut ended = Value::Null;
            until(|| {
                ended = knowing.task(&result["taskId"]);
                ended["status"] != "working"
            });
            assert_eq!(
                ended["result"]["content"][0]["text"].as_str().unwrap()[..5],
                *"done\n"
            );
        }
    }
    // A call that is not to be one goes on in the background as for a client without tasks.
    let started = knowing.call(
        "never",
        &json!({ "arguments": { "execution_mode": "async" } }),
    );
    assert_eq!(started["resultType"], "complete", "{started}");
    let text = started["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("started op_"), "{text}");

    std::fs::remove_file(project.path().join("required.py.ran")).unwrap();
    let mut without = Modern::of(&project, json!({}));
    for tool in ["never", "optional", "unsaid"] {
        let result = without.call(tool, &json!({}));
        assert_eq!(result["resultType"], "complete", "{tool}: {result}");
    }
    let refused = without.answer("required", &json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let lacking = json!({ "requiredCapabilities": { "extensions": tasks() } });
    assert_eq!(refused["error"]["data"], lacking);
    let mut session = legacy(&project, &json!({}));
    let params = json!({ "name": "required", "arguments": {} });
    let refused = session.request("tools/call", &params);
    assert_eq!(refused["error"]["data"], lacking);
    assert!(!project.path().join("required.py.ran").exists());
    assert!(!session.call("optional", &json!({})).is_error);
}

/// The state of a task once it is as expected.
fn until_status(client: &mut Modern, id: &Value, status: &str) -> Value {
    let mut task = Value::Null;
    until(|| {
        task = client.task(id);
        task["status"] == status
    });
    task
}

/// The keys of what a task asks.
fn open(task: &Value) -> Vec<&str> {
    let open = task["inputRequests"].as_object().unwrap();
    open.keys().map(String::as_str).collect()
}

fn update(client: &mut Modern, id: &Value, responses: &Value) {
    let params = json!({ "taskId": id, "inputResponses": responses });
    let answer = client.request("tasks/update", params);
    assert!(answer["result"].is_object(), "{answer}");
}

/// Proves: T62.
#[test]
fn a_task_asks_and_is_answered_by_updates() {
    let project = Workspace::new();
    add_events(&project, "run", &json!({ "task": "optional" }), ASKING);
    let mut client = Modern::with_tasks(&project);
    let id = client.call("run", &json!({}))["taskId"].clone();
    let task = until_status(&mut client, &id, "input_required");
    assert_eq!(open(&task), ["1.age", "1.name"]);
    let params = &task["inputRequests"]["1.age"]["params"];
    let expected = json!({ "age": { "type": "number", "minimum": 0.5 } });
    assert_eq!(params["requestedSchema"]["properties"], expected);
    // What is no answer, or an answer to something else, changes nothing.
    let ada = json!({ "action": "accept", "content": { "name": "Ada" } });
    let wrong =
        json!({ "1.name": { "action": "accept", "content": {} }, "name": ada, "2.name": ada });
    update(&mut client, &id, &wrong);
    assert_eq!(open(&client.task(&id)), ["1.age", "1.name"]);
    update(&mut client, &id, &json!({ "1.name": ada }));
    assert_eq!(open(&client.task(&id)), ["1.age"]);
    let decline = json!({ "action": "decline" });
    update(&mut client, &id, &json!({ "1.age": decline }));
    // The same name in a later question is another one.
    let mut task = Value::Null;
    until(|| {
        task = client.task(&id);
        task["status"] == "input_required"
    });
    assert_eq!(open(&task), ["2.name", "2.said"]);
    let said = &task["inputRequests"]["2.said"];
    assert_eq!(said["params"]["temperature"], 0.5, "{task}");
    update(&mut client, &id, &json!({ "1.name": ada }));
    assert_eq!(open(&client.task(&id)), ["2.name", "2.said"]);
    let said =
        json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" });
    update(
        &mut client,
        &id,
        &json!({ "2.name": decline, "2.said": said }),
    );
    let ended = until_status(&mut client, &id, "completed");
    let expected = json!({ "first": { "name": ada, "age": decline }, "second": { "name": decline, "said": said } });
    assert_eq!(ended["result"]["structuredContent"], expected);
}

/// Proves: T60, T62.
#[test]
fn a_task_of_a_client_that_cannot_be_asked_hears_so_at_once() {
    let program = r#"
event("structured", value=ask(where={"method": "roots/list"}, name=form("Who?", name={"type": "string"})))
"#;
    let project = Workspace::new();
    add_events(&project, "run", &json!({ "task": "required" }), program);
    let mut client = Modern::with_tasks(&project);
    let id = client.call("run", &json!({}))["taskId"].clone();
    let task = until_status(&mut client, &id, "input_required");
    assert_eq!(open(&task), ["1.name"]);
    update(
        &mut client,
        &id,
        &json!({ "1.name": { "action": "cancel" } }),
    );
    let ended = until_status(&mut client, &id, "completed");
    let expected = json!({
        "name": { "action": "cancel" },
        "where": { "error": "the client of this call does not take roots/list" }
    });
    assert_eq!(ended["result"]["structuredContent"], expected);
}

/// Proves: T59, T62.
#[test]
fn a_task_whose_command_reports_an_error_of_the_protocol_has_failed_with_it() {
    let project = Workspace::new();
    let fields = json!({ "task": "required" });
    let coded = "event('error', message='no such thing', code=-32602)";
    add_events(&project, "coded", &fields, coded);
    add_events(
        &project,
        "plain",
        &fields,
        "event('error', message='the disk is full')",
    );
    let mut client = Modern::with_tasks(&project);
    let id = client.call("coded", &json!({}))["taskId"].clone();
    let ended = until_status(&mut client, &id, "failed");
    let expected = json!({ "code": -32602, "message": "no such thing" });
    assert_eq!(ended["error"], expected);
    let id = client.call("plain", &json!({}))["taskId"].clone();
    let ended = until_status(&mut client, &id, "completed");
    assert_eq!(ended["result"]["isError"], true, "{ended}");
}

/// Proves: T63.
#[test]
fn tools_are_listed_with_titles_and_icons() {
    let project = Workspace::new();
    let icons = json!([
        { "src": "https://example.com/a.png", "mime_type": "image/png", "sizes": ["48x48", "96x96"] },
        { "src": "data:image/svg+xml;base64,PHN2Zy8+" }
    ]);
    let tool = json!({
        "name": "run", "description": "R.", "command": "true", "title": "Runs it", "icons": icons,
        "subcommand": [
            { "name": "default", "description": "D." },
            { "name": "other", "description": "O.", "title": "Another", "icons": [{ "src": "https://example.com/b.png" }] }
        ]
    });
    project.write(".ahma/tools/run.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let find = |name: &str| {
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()
    };
    let expected = json!([
        { "src": "https://example.com/a.png", "mimeType": "image/png", "sizes": ["48x48", "96x96"] },
        { "src": "data:image/svg+xml;base64,PHN2Zy8+" }
    ]);
    assert_eq!(find("run")["icons"], expected);
    let other = find("run_other");
    assert_eq!(
        other["icons"],
        json!([{ "src": "https://example.com/b.png" }])
    );
    assert_eq!(other["title"], "Another");
}

/// Proves: T59.
#[test]
fn a_service_that_writes_events_asks_after_its_start() {
    let program = r#"
print("up", flush=True)
until("go")
event("structured", value=ask(name=form("Who?", name={"type": "string"})))
"#;
    let project = events(program);
    let tool = std::fs::read_to_string(project.path().join(".ahma/tools/run.json")).unwrap();
    let mut tool: Value = serde_json::from_str(&tool).unwrap();
    tool["service"] = json!(true);
    project.write(".ahma/tools/run.json", tool.to_string());
    let mut client = legacy(&project, &json!({ "elicitation": {} }));
    let ready = json!({ "execution_mode": "service", "ready": { "pattern": "^up" } });
    let started = client.call("run", &ready);
    assert!(started.text.contains("The service is ready"), "{started:?}");
    project.write("go", "");
    let question = client.notification("elicitation/create");
    let decline = json!({ "action": "decline" });
    super::scripted::reply(&mut client, &question, &decline);
    let id = json!({ "operation_id": started.operation_id() });
    let waited = client.call("await", &id);
    assert_eq!(
        waited.structured["operations"][0]["result"],
        json!({ "name": decline })
    );
}

//! News of tasks over HTTP: on the stream of whoever has subscribed to them.

use ahma_tests::Workspace;
use ahma_tests::http::{Client, Opened};
use ahma_tests::served::over_http::Served;
use serde_json::{Value, json};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The same parameters, from a client that knows tasks and takes questions.
fn knowing(mut params: Value) -> Value {
    let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
    let capabilities = json!({ "extensions": extensions, "elicitation": {} });
    params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
    params
}

/// Starts a task; its id.
fn started(client: &Client, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = client.request("tools/call", &knowing(params));
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].clone()
}

/// Sends a request about a task, which stands in a header too.
fn about(client: &Client, method: &str, mut params: Value, id: &Value) {
    params["taskId"] = id.clone();
    let request = client.message(&json!(1), method, &knowing(params));
    let request = request.header("mcp-name", id.as_str().unwrap());
    let answer = request.send(client.address).answer();
    assert!(answer["result"].is_object(), "{answer}");
}

fn subscribe(client: &Client, wanted: &Value) -> (Opened, Value) {
    let params = knowing(json!({ "notifications": wanted }));
    let listen = client.message(&json!("mine"), "subscriptions/listen", &params);
    let mut stream = listen.open(client.address);
    let accepted = stream.message("notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["_meta"][SUBSCRIPTION], "mine");
    (stream, accepted["params"]["notifications"].clone())
}

fn told(stream: &mut Opened) -> Value {
    let told = stream.message("notifications/tasks")["params"].clone();
    assert_eq!(told["_meta"][SUBSCRIPTION], "mine", "{told}");
    told
}

/// Which task is said to be in which state.
fn state(news: &Value) -> Value {
    json!([news["taskId"], news["status"]])
}

/// Proves: O21.
#[test]
fn each_state_of_a_task_is_told_on_the_stream_of_its_subscriber() {
    let project = Workspace::new();
    let tool = json!({
        "name": "run", "description": "R.", "command": "python3", "fixed_args": ["run.py"],
        "output": "events", "task": "required"
    });
    let program = r#"
import json, os, sys, time
sys.stdin.readline()
params = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
print(json.dumps({"type": "ask", "questions": {"who": {"method": "elicitation/create", "params": params}}}), flush=True)
answer = json.loads(sys.stdin.readline())["answers"]["who"]
while not os.path.exists("end"):
    time.sleep(0.01)
print(json.dumps({"type": "structured", "value": answer}), flush=True)
"#;
    project.write(".ahma/tools/run.json", tool.to_string());
    project.write("run.py", program);
    let served = Served::of(project, &[]);
    let client = served.process.stateless();
    let id = started(&client, "run", &json!({}));
    let wanted = json!({ "taskIds": [id, "op_none"], "toolsListChanged": true });
    let (mut stream, accepted) = subscribe(&client, &wanted);
    assert_eq!(
        accepted,
        json!({ "taskIds": [id], "toolsListChanged": true })
    );
    let mut news = told(&mut stream);
    while news["status"] == "working" {
        news = told(&mut stream);
    }
    assert_eq!(news["status"], "input_required");
    let question = &news["inputRequests"]["1.who"];
    assert_eq!(question["params"]["message"], "Who?", "{news}");
    let answer = json!({ "action": "decline" });
    let responses = json!({ "inputResponses": { "1.who": answer } });
    about(&client, "tasks/update", responses, &id);
    assert_eq!(told(&mut stream)["status"], "working");
    served.project.write("end", "");
    let ended = told(&mut stream);
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["taskId"], id);
    assert_eq!(ended["result"]["structuredContent"], answer, "{ended}");
}

/// Proves: O21.
#[test]
fn a_cancelled_task_is_told_and_the_stream_ends_with_the_server() {
    let mut served = Served::new();
    let client = served.process.stateless();
    let id = started(
        &client,
        "sandboxed_shell",
        &json!({ "command": "sleep 60" }),
    );
    let (mut stream, accepted) = subscribe(&client, &json!({ "taskIds": [id] }));
    assert_eq!(accepted, json!({ "taskIds": [id] }));
    assert_eq!(told(&mut stream)["status"], "working");
    about(&client, "tasks/cancel", json!({}), &id);
    let news = told(&mut stream);
    assert_eq!(state(&news), json!([id, "cancelled"]));
    // A server that goes keeps no stream open.
    served.process.terminate();
    while stream.event().is_some() {}
    assert_eq!(served.process.wait().code(), Some(0));
}

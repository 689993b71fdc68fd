//! Tools whose programs are written in the tests that call them.

use ahma_tests::Workspace;
use ahma_tests::mcp::{CallResult, McpProcess};
use serde_json::{Map, Value, json};

use super::{modern_with, unspoken_to};

/// What programs that write events say and hear.
const EVENTS: &str = r#"
import json, os, sys, time

def event(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)

def text(line):
    event("content", content={"type": "text", "text": line})

def ask(**questions):
    event("ask", questions=questions)
    return json.loads(sys.stdin.readline())["answers"]

def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}

def until(name):
    while not os.path.exists(name):
        time.sleep(0.01)

first = json.loads(sys.stdin.readline())
arguments = first["arguments"]
"#;

/// Adds a synchronous tool that runs a Python program; `fields` stand in its file besides.
pub(super) fn add_python(project: &Workspace, name: &str, fields: &Value, program: &str) {
    let file = format!("{name}.py");
    let mut tool = json!({
        "name": name, "description": "A tool.", "command": "python3", "fixed_args": [file],
        "synchronous": true
    });
    let tool_fields = tool.as_object_mut().unwrap();
    tool_fields.extend(fields.as_object().unwrap().clone());
    project.write(&format!(".ahma/tools/{name}.json"), tool.to_string());
    project.write(&file, program);
}

/// The same for a program that writes events.
pub(super) fn add_events(project: &Workspace, name: &str, fields: &Value, program: &str) {
    let mut all = fields.clone();
    all["output"] = json!("events");
    add_python(project, name, &all, &format!("{EVENTS}{program}"));
}

/// A project with one tool, called `run`, that writes events.
pub(super) fn events(program: &str) -> Workspace {
    let project = Workspace::new();
    add_events(&project, "run", &json!({}), program);
    project
}

/// A server for a client of 2025-11-25 with these capabilities.
pub(super) fn legacy(project: &Workspace, capabilities: &Value) -> McpProcess {
    let mut client = unspoken_to(project);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" }
    });
    let answer = client.request("initialize", &params);
    assert!(answer["result"].is_object(), "{answer}");
    client.notify("notifications/initialized", &json!({}));
    client
}

/// Answers a request of the server.
pub(super) fn reply(client: &mut McpProcess, question: &Value, result: &Value) {
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
    client.send_line(line.to_string().as_bytes());
}

/// A client of 2026-07-28.
pub(super) struct Modern {
    pub(super) client: McpProcess,
    pub(super) capabilities: Value,
}

impl Modern {
    pub(super) fn of(project: &Workspace, capabilities: Value) -> Self {
        Modern {
            client: unspoken_to(project),
            capabilities,
        }
    }

    /// One that knows tasks, and takes questions.
    pub(super) fn with_tasks(project: &Workspace) -> Self {
        let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
        Modern::of(
            project,
            json!({ "extensions": extensions, "elicitation": {}, "sampling": {} }),
        )
    }

    /// The answer to a request.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let params = modern_with(params, &self.capabilities);
        self.client.request(method, &params)
    }

    /// The result of a call; `further` stands beside its arguments.
    pub(super) fn call(&mut self, tool: &str, further: &Value) -> Value {
        let answer = self.answer(tool, further);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The answer to a call.
    pub(super) fn answer(&mut self, tool: &str, further: &Value) -> Value {
        let mut params: Map<String, Value> = Map::new();
        params.insert("name".to_owned(), json!(tool));
        params.insert("arguments".to_owned(), json!({}));
        params.extend(further.as_object().unwrap().clone());
        self.request("tools/call", Value::Object(params))
    }

    /// What is known of a task.
    pub(super) fn task(&mut self, id: &Value) -> Value {
        let answer = self.request("tasks/get", json!({ "taskId": id }));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }
}

/// The texts of a result, a block each.
pub(super) fn texts(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().unwrap().iter();
    blocks.filter_map(|it| it["text"].as_str()).collect()
}

/// Calls a tool without arguments, and gives the whole result.
pub(super) fn whole(client: &mut McpProcess, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {} });
    let answer = client.request("tools/call", &params);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// Calls a tool without arguments.
pub(super) fn call(client: &mut McpProcess, tool: &str) -> CallResult {
    client.call(tool, &json!({}))
}

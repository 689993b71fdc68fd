//! The engine used by a program other than `ahma_mcp`, through the public face of the library alone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

use ahma_tests::{Workspace, example, processes_marked, until};
use serde_json::{Value, json};

struct Embedded {
    program: Child,
    lines: BufReader<UnixStream>,
}

impl Embedded {
    fn start(project: &Workspace, tools: &Workspace) -> Self {
        let socket = tools.path().join("socket");
        let program = Command::new(example("embedded"))
            .args([project.path(), tools.path(), &socket])
            .spawn()
            .unwrap();
        // The file is there a moment before somebody listens.
        let mut stream = None;
        until(|| {
            stream = UnixStream::connect(&socket).ok();
            stream.is_some()
        });
        let stream = stream.unwrap();
        let mut embedded = Embedded {
            program,
            lines: BufReader::new(stream),
        };
        let client = json!({ "name": "t", "version": "1" });
        let begin = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client
        });
        embedded.request(1, "initialize", &begin);
        embedded.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        embedded
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.lines.get_mut().write_all(line.as_bytes()).unwrap();
    }

    fn request(&mut self, id: i64, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request);
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }
}

/// Proves: B2, P84.
#[test]
fn another_program_serves_confined_tools_with_the_library() {
    let (project, tools) = (Workspace::new(), Workspace::new());
    let secret = Workspace::new();
    secret.write("secret", "not for commands\n");
    let show = json!({
        "name": "show", "description": "Shows a file.", "command": "cat", "synchronous": true,
        "positional_args": [{ "name": "file", "type": "string", "required": true }]
    });
    let count = json!({
        "name": "count", "description": "Counts lines.", "command": "wc", "synchronous": true,
        "fixed_args": ["-l"],
        "positional_args": [{ "name": "file", "type": "string", "required": true }]
    });
    tools.write("show.json", show.to_string());
    tools.write("count.json", count.to_string());
    project.write("inside", "one\ntwo\n");
    let mut embedded = Embedded::start(&project, &tools);

    let listed = embedded.request(2, "tools/list", &json!({}));
    let listed = listed["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = listed.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"show") && names.contains(&"count"),
        "{names:?}"
    );
    assert!(!names.contains(&"sandboxed_shell"), "{names:?}");

    let mut call = |id: i64, tool: &str, file: &str| {
        let params = json!({ "name": tool, "arguments": { "file": file } });
        let result = embedded.request(id, "tools/call", &params);
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"] == true)
    };
    let (shown, is_error) = call(3, "show", "inside");
    assert!(shown.starts_with("one\ntwo\n") && !is_error, "{shown}");
    let (counted, _) = call(4, "count", "inside");
    assert!(counted.starts_with("2 inside\n"), "{counted}");
    let outside = secret.path().join("secret");
    let (refused, is_error) = call(5, "show", outside.to_str().unwrap());
    assert!(
        is_error && !refused.contains("not for commands"),
        "{refused}"
    );

    let Embedded {
        mut program, lines, ..
    } = embedded;
    drop(lines);
    assert!(program.wait().unwrap().success());
    let left = processes_marked(tools.path().to_str().unwrap());
    assert_eq!(left, Vec::<String>::new());
}

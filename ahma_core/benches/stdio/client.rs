//! A client that costs little, the same for every server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A server that has listed its tools. It is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    tool: &'static str,
    /// The argument that a call is about.
    argument: &'static str,
    /// What every call says beside it.
    further: Value,
    next: u64,
}

impl Server {
    pub(crate) fn start(scope: &Path, arguments: &[&str], tool: &'static str) -> Self {
        let mut command = Command::new(AHMA_MCP);
        command.args(["--audit-log", "off"]).args(arguments);
        let further = json!({ "execution_mode": "sync" });
        Self::of(command, scope, (tool, "command"), further)
    }

    /// The calls from now on say this beside their argument.
    pub(crate) fn say(&mut self, further: Value) {
        self.further = further;
    }

    /// Any server, with the tool that is called and its argument.
    pub(crate) fn of(
        command: Command,
        scope: &Path,
        tool: (&'static str, &'static str),
        further: Value,
    ) -> Self {
        let mut server = Self::begun(command, scope, tool, further);
        server.list();
        server
    }

    /// The same before it has listed its tools.
    pub(crate) fn begun(
        mut command: Command,
        scope: &Path,
        (tool, argument): (&'static str, &'static str),
        further: Value,
    ) -> Self {
        let mut child = command
            .current_dir(scope)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            tool,
            argument,
            further,
            next: 1,
        };
        let initialize = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" }
        });
        let id = server.send("initialize", &initialize);
        server.answer(id);
        server
    }

    pub(crate) fn list(&mut self) {
        let id = self.send("tools/list", &json!({}));
        self.answer(id);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let line = format!("{message}\n");
        self.input
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        id
    }

    fn ask(&mut self, script: &str) -> u64 {
        let mut arguments = self.further.clone();
        arguments[self.argument] = json!(script);
        let call = json!({ "name": self.tool, "arguments": arguments });
        self.send("tools/call", &call)
    }

    /// Any answer, in the order they come.
    fn any(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the server ended"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    fn answer(&mut self, id: u64) {
        let answer = self.any();
        assert_eq!(answer["id"], id, "{answer}");
        assert!(has_worked(&answer), "{answer}");
    }

    /// One call and its answer.
    pub(crate) fn call(&mut self, script: &str) {
        let id = self.ask(script);
        self.answer(id);
    }

    /// Many calls, so many at the same time.
    pub(crate) fn many(&mut self, script: &str, count: usize, at_once: usize) {
        for number in 0..count + at_once {
            if number < count {
                self.ask(script);
            }
            if number >= at_once {
                let answer = self.any();
                assert!(has_worked(&answer), "{answer}");
            }
        }
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }
}

fn has_worked(answer: &Value) -> bool {
    answer["result"].is_object() && answer["result"]["isError"] != true
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A client that calls tools by their names and does not look at what they answer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A server. It is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The last line that was read.
    line: Vec<u8>,
    next: u64,
}

impl Server {
    /// With the tools of a project.
    pub(crate) fn start(scope: &Path) -> Self {
        let mut child = Command::new(AHMA_MCP)
            .args(["--audit-log", "off"])
            .current_dir(scope)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            line: Vec::new(),
            next: 1,
        };
        let initialize = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" }
        });
        server.request("initialize", &initialize);
        server.request("tools/list", &json!({}));
        server
    }

    fn request(&mut self, method: &str, params: &Value) {
        let id = self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\"");
        loop {
            self.line.clear();
            let length = self.output.read_until(b'\n', &mut self.line).unwrap();
            assert!(length > 0, "the server ended");
            if self.line.starts_with(answer.as_bytes()) {
                return;
            }
            let begin = String::from_utf8_lossy(&self.line[..length.min(1000)]);
            assert!(begin.contains("\"method\""), "{begin}");
        }
    }

    /// Calls a tool; how long the answer is.
    pub(crate) fn call(&mut self, tool: &str) -> usize {
        let call = json!({ "name": tool, "arguments": {} });
        self.request("tools/call", &call);
        let failed = b"\"isError\":true";
        let has_failed = self.line.windows(failed.len()).any(|it| it == failed);
        let begin = String::from_utf8_lossy(&self.line[..self.line.len().min(1000)]);
        assert!(!has_failed, "{begin}");
        self.line.len()
    }

    /// Memory of the server in kB, by its name in `/proc/PID/status`.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The peak is what there is now.
    pub(crate) fn forget_peak(&self) {
        let path = format!("/proc/{}/clear_refs", self.child.id());
        std::fs::write(path, "5").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The server as a client sees it: a real process, spoken to line by line.

mod audit;
mod availability;
mod before_a_call;
mod calls;
mod confinement;
mod declared;
mod developer;
mod further_programs;
mod life;
mod lifecycles;
mod listing;
mod logs;
mod modes;
mod naughty;
mod oracle;
mod planted;
mod planted_deep;
mod progress;
mod reload;
mod rubbish;
mod sequences;
mod server_info;
mod soak;
mod tasks;
mod toolchains;
mod tools;

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Workspace, processes_marked, until};
use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A server for a project, with its own place for private directories.
struct Served {
    client: McpProcess,
    project: Workspace,
    private: Workspace,
}

impl Served {
    fn new() -> Self {
        Self::with(&[], &[])
    }

    fn of(project: Workspace, arguments: &[&str]) -> Self {
        Self::start_in(project, arguments, &[])
    }

    fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_in(Workspace::new(), arguments, environment)
    }

    fn start_in(project: Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let private = Workspace::new();
        let temporary = [("TMPDIR", private.path().to_str().unwrap())];
        let environment = [&temporary, environment].concat();
        let client = McpProcess::connect(AHMA_MCP, arguments, project.path(), &environment);
        Served {
            client,
            project,
            private,
        }
    }

    fn sync(&mut self, command: &str) -> CallResult {
        let arguments = json!({ "command": command, "execution_mode": "sync" });
        self.client.call("sandboxed_shell", &arguments)
    }

    fn start(&mut self, command: &str) -> String {
        let started = self
            .client
            .call("sandboxed_shell", &json!({ "command": command }));
        assert!(started.text.starts_with("started op_"), "{started:?}");
        assert!(!started.is_error);
        started.operation_id()
    }

    fn until_exists(&self, name: &str) {
        let path = self.project.path().join(name);
        until(|| path.exists());
    }
}

/// A server nobody has spoken to yet.
fn unspoken_to(project: &Workspace) -> McpProcess {
    let arguments = ["--sandbox-scope", project.path().to_str().unwrap()];
    McpProcess::start(AHMA_MCP, &arguments, project.path(), &[])
}

/// Parameters of a request of 2026-07-28, from a client with these capabilities.
fn modern_with(mut params: Value, capabilities: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    match params.get_mut("_meta").and_then(Value::as_object_mut) {
        Some(given) => given.extend(meta.as_object().unwrap().clone()),
        None => params["_meta"] = meta,
    }
    params
}

/// The same without any.
fn modern(params: Value) -> Value {
    modern_with(params, &json!({}))
}

/// A number of a process, most of them kB, by its name in `/proc/PID/status`.
pub(crate) fn memory_kb(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

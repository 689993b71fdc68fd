//! The server as a client sees it: a real process, spoken to line by line.

mod availability;
mod calls;
mod confinement;
mod declared;
mod life;
mod lifecycles;
mod naughty;
mod planted;
mod reload;
mod sequences;
mod toolchains;
mod tools;

use std::time::{Duration, Instant};

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Workspace, processes_marked};
use serde_json::json;

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

fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < end, "it did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn marked(mark: &str) -> usize {
    processes_marked(mark).len()
}

fn mark(number: u32) -> String {
    format!("9{number}{:06}.5", std::process::id())
}

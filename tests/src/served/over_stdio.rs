//! A server that is spoken to line by line.

use serde_json::json;

use super::{ahma_mcp, in_background};
use crate::mcp::{CallResult, McpProcess};
use crate::{Workspace, until};

/// A server for a project, with its own place for private directories.
pub struct Served {
    /// The client of it.
    pub client: McpProcess,
    /// What it serves.
    pub project: Workspace,
    /// Where its private directories are.
    pub private: Workspace,
}

impl Served {
    /// For an empty project.
    #[expect(clippy::new_without_default, reason = "it starts a process")]
    pub fn new() -> Self {
        Self::with(&[], &[])
    }

    /// For this project.
    pub fn of(project: Workspace, arguments: &[&str]) -> Self {
        Self::start_in(project, arguments, &[])
    }

    /// For an empty project, with these arguments and variables.
    pub fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_in(Workspace::new(), arguments, environment)
    }

    /// For this project, with these arguments and variables.
    pub fn start_in(project: Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let private = Workspace::new();
        let temporary = [("TMPDIR", private.path().to_str().expect("UTF-8"))];
        let environment = [&temporary, environment].concat();
        let arguments = in_background(arguments);
        let client = McpProcess::connect(&ahma_mcp(), &arguments, project.path(), &environment);
        Served {
            client,
            project,
            private,
        }
    }

    /// Runs a script and waits for it.
    pub fn sync(&mut self, command: &str) -> CallResult {
        let arguments = json!({ "command": command, "execution_mode": "sync" });
        self.client.call("sandboxed_shell", &arguments)
    }

    /// Starts a script, and gives the id of its operation.
    pub fn start(&mut self, command: &str) -> String {
        let started = self
            .client
            .call("sandboxed_shell", &json!({ "command": command }));
        assert!(started.text.starts_with("started op_"), "{started:?}");
        assert!(!started.is_error);
        started.operation_id()
    }

    /// Waits for a file of the project.
    pub fn until_exists(&self, name: &str) {
        let path = self.project.path().join(name);
        until(|| path.exists());
    }
}

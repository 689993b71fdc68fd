//! A server of ours with others behind it, for tests: real processes that behave well, or as badly as they are told to.

use std::fs;
use std::path::{Path, PathBuf};

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::AHMA_MCP;

/// A project, a file that names servers, and what is kept of them from one server of ours to the next.
pub(super) struct Behind {
    pub(super) project: Workspace,
    pub(super) place: Workspace,
}

impl Behind {
    pub(super) fn new(servers: &Value) -> Self {
        let behind = Behind {
            project: Workspace::new(),
            place: Workspace::new(),
        };
        behind.name(servers);
        behind
    }

    /// Names other servers.
    pub(super) fn name(&self, servers: &Value) {
        let text = json!({ "servers": servers }).to_string();
        self.place.write("mcp.json", &text);
    }

    pub(super) fn project(&self) -> &Path {
        self.project.path()
    }

    pub(super) fn log(&self) -> PathBuf {
        self.place.path().join("log")
    }

    /// How often a line of the log begins so.
    pub(super) fn count(&self, beginning: &str) -> usize {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().filter(|it| it.starts_with(beginning)).count()
    }

    pub(super) fn start_with(&self, further: &[&str], environment: &[(&str, &str)]) -> McpProcess {
        let state = self.place.path().join("state");
        let config = self.place.path().join("mcp.json");
        let scope = self.project.path().to_str().unwrap();
        let mut arguments = vec!["--sandbox-scope", scope, "--mcp-config"];
        arguments.push(config.to_str().unwrap());
        arguments.extend(further);
        let mut variables = vec![("XDG_STATE_HOME", state.to_str().unwrap())];
        variables.extend(environment);
        McpProcess::connect(AHMA_MCP, &arguments, self.project.path(), &variables)
    }

    pub(super) fn start(&self) -> McpProcess {
        self.start_with(&[], &[])
    }

    /// Starts it without a handshake, with the other servers or without.
    pub(super) fn start_stateless(&self, with_others: bool) -> McpProcess {
        let config = self.place.path().join("mcp.json");
        let scope = self.project.path().to_str().unwrap();
        let mut arguments = vec!["--sandbox-scope", scope];
        if with_others {
            arguments.extend(["--mcp-config", config.to_str().unwrap()]);
        }
        McpProcess::start(AHMA_MCP, &arguments, self.project.path(), &[])
    }
}

pub(super) fn script() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("../tests/fixtures/upstream/server.py");
    script.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// An entry of a server that is told to behave so.
pub(super) fn entry(options: &[&str]) -> Value {
    let options = options.iter().map(|it| (*it).to_owned());
    let args: Vec<String> = [script()].into_iter().chain(options).collect();
    json!({ "command": "python3", "args": args })
}

pub(super) fn names(client: &mut McpProcess) -> Vec<String> {
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(super) fn info(client: &mut McpProcess) -> Vec<Value> {
    let info = client.call("get_server_info", &json!({})).structured;
    info["downstream"].as_array().unwrap().clone()
}

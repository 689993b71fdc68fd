//! The server as clients over HTTP see it: a real process, real connections, real commands.

mod crashes;
mod discovery;
mod dual;
mod flood;
mod freezing;
mod keys;
mod load;
mod logs;
mod loopback;
mod serving;
mod sessions;
mod stopping;
mod token;

use std::path::Path;

use ahma_tests::http::Client;
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, until};
use serde_json::Value;

pub(super) use crate::stdio_server::memory_kb;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
const STATE: &str = ".ahma/.mcp_server_state.json";

/// A server for a project.
struct Served {
    process: HttpProcess,
    project: Workspace,
}

impl Served {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(arguments: &[&str]) -> Self {
        Self::of(Workspace::new(), arguments)
    }

    fn of(project: Workspace, arguments: &[&str]) -> Self {
        let process = HttpProcess::start(AHMA_MCP, arguments, project.path());
        Served { process, project }
    }

    fn connect(&self) -> Client {
        self.process.connect()
    }

    /// Both kinds of clients.
    fn clients(&self) -> [Client; 2] {
        [self.process.connect(), self.process.stateless()]
    }

    fn until_exists(&self, name: &str) {
        let path = self.project.path().join(name);
        until(|| path.exists());
    }
}

/// What the state file of a project says.
fn state(project: &Path) -> Value {
    let text = std::fs::read_to_string(project.join(STATE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

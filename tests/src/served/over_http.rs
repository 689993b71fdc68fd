//! A server that is reached over HTTP.

use super::ahma_mcp;
use crate::http::Client;
use crate::http_process::HttpProcess;
use crate::{Workspace, until};

/// A server for a project.
pub struct Served {
    /// The server.
    pub process: HttpProcess,
    /// What it serves.
    pub project: Workspace,
}

impl Served {
    /// For an empty project.
    #[expect(clippy::new_without_default, reason = "it starts a process")]
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// For an empty project, with these arguments.
    pub fn with(arguments: &[&str]) -> Self {
        Self::of(Workspace::new(), arguments)
    }

    /// For this project.
    pub fn of(project: Workspace, arguments: &[&str]) -> Self {
        let process = HttpProcess::start(&ahma_mcp(), arguments, project.path());
        Served { process, project }
    }

    /// A session.
    pub fn connect(&self) -> Client {
        self.process.connect()
    }

    /// Both kinds of clients.
    pub fn clients(&self) -> [Client; 2] {
        [self.process.connect(), self.process.stateless()]
    }

    /// Waits for a file of the project.
    pub fn until_exists(&self, name: &str) {
        let path = self.project.path().join(name);
        until(|| path.exists());
    }
}

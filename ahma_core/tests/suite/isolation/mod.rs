//! Sessions and workspaces that have nothing to do with each other, in one server.

mod attacks;
mod content;
mod ends;
mod many;
mod opening;
mod roots;
mod workspaces;

use std::path::PathBuf;

use ahma_tests::Workspace;
use ahma_tests::http::{Client, root_of};
use ahma_tests::http_process::HttpProcess;

pub(super) const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// A server that gives every session a scope of its own, below one directory.
struct Isolated {
    process: HttpProcess,
    /// Where scopes are.
    projects: Workspace,
    /// The server's own scope.
    own: Workspace,
}

impl Isolated {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(arguments: &[&str]) -> Self {
        Self::of(Workspace::new(), arguments)
    }

    fn of(projects: Workspace, arguments: &[&str]) -> Self {
        let own = Workspace::new();
        let root = projects.path().to_str().unwrap().to_owned();
        let usual = [
            "--session-isolation",
            "--scope-root",
            &root,
            "--rate-limit",
            "0",
        ];
        let process = HttpProcess::start(AHMA_MCP, &[&usual, arguments].concat(), own.path());
        Isolated {
            process,
            projects,
            own,
        }
    }

    /// The directory of a project, which is made.
    fn project(&self, name: &str) -> PathBuf {
        self.projects.make_directory(name);
        self.projects.path().join(name).canonicalize().unwrap()
    }

    /// A session whose scope this project is.
    fn session(&self, name: &str) -> Client {
        let root = root_of(&self.project(name));
        self.process.stateless().with_roots(&[root])
    }
}

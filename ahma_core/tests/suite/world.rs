//! A user with a project and a home beside it, who starts the program by hand.

use std::process::{Command, Stdio};

use ahma_tests::served::ahma_mcp;
use ahma_tests::{Finished, Workspace};

/// The user.
pub(crate) struct World {
    pub(crate) project: Workspace,
    pub(crate) home: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        World {
            project: Workspace::new(),
            home: Workspace::new(),
        }
    }

    /// A program that the user starts in the project, with nothing to read.
    pub(crate) fn command_of(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        let home = self.home.path();
        command
            .args(words)
            .current_dir(self.project.path())
            .env("HOME", home)
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The same of this program.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(&ahma_mcp(), words)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Finished {
        Finished::of(self.command(words).output().unwrap())
    }

    /// A path in the home.
    pub(crate) fn home(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }
}

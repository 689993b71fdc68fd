//! A command that is ready to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Input};

use super::command_line::Arg;
use crate::audit::CommandLine;
use crate::config::Restrictions;

/// Everything a command finds in its environment. Shared, because most commands have the same.
pub type Environment = Arc<Vec<(OsString, OsString)>>;

/// What a plan runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// A script for the shell; a shell that waits can take it.
    Script,
    /// A program with its arguments.
    Program,
}

/// A command that is ready to run.
#[derive(Debug, Clone)]
pub struct CommandPlan {
    /// The tool it belongs to.
    pub tool: String,
    /// What it is.
    pub kind: CommandKind,
    /// Program and arguments.
    pub arguments: Vec<Arg>,
    /// Everything it finds in its environment.
    pub environment: Environment,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// What it reads.
    pub input: Input,
    /// It is stopped when it has run this long.
    pub deadline: Duration,
    /// What its tool gives up of what the operator granted.
    pub restrictions: Restrictions,
}

impl CommandPlan {
    pub(super) fn request(&self, arguments: Vec<OsString>) -> CommandRequest {
        CommandRequest {
            arguments,
            environment: self.environment.to_vec(),
            directory: self.working_directory.clone(),
            input: self.input.clone(),
        }
    }

    /// Its command line, as it is recorded.
    pub fn command_line(&self) -> CommandLine<'_> {
        CommandLine {
            words: self.arguments.iter().map(Arg::text).collect(),
            input: match &self.input {
                Input::Nothing => None,
                Input::Bytes(bytes) => Some(bytes),
            },
        }
    }
}

//! A command that is ready to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{CommandRequest, Input};
use serde_json::Value;

use super::command_line::Arg;
use crate::audit::CommandLine;
use crate::config::{OutputKind, Restrictions, ResultSpec};
use crate::operation::{Dialogue, InputWriter, NewResult};

/// Everything a command finds in its environment. Shared, because most commands have the same.
pub type Environment = Arc<Vec<(OsString, OsString)>>;

/// Bytes of a command line that are worth showing.
const MAX_SHOWN_LEN: usize = 400;

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
    /// Where its input can be written while it runs, when that is a pipe.
    pub input_writer: Option<Arc<InputWriter>>,
    /// It is stopped when it has run this long.
    pub deadline: Option<Duration>,
    /// Whether it is meant to go on until somebody ends it.
    pub is_service: bool,
    /// What its tool gives up of what the operator granted.
    pub restrictions: Restrictions,
    /// Exit codes that mean success; none means 0 alone.
    pub success_exit_codes: Vec<u8>,
    /// What becomes of what it writes.
    pub output: ResultSpec,
    /// How it is spoken with, when it writes events.
    pub events: Option<EventPlan>,
}

/// How a command that writes events is spoken with.
#[derive(Debug, Clone)]
pub struct EventPlan {
    /// Where it is spoken with.
    pub dialogue: Arc<Dialogue>,
    /// The first line that it reads.
    pub first_line: Arc<Value>,
}

/// As much of a script, or of a word, as anybody is shown; a caller decides how long it is.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN_LEN)]
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

    /// What its result is made of, where that is more than its output.
    pub(super) fn result(&self) -> Option<NewResult> {
        (self.output.kind != OutputKind::Text).then(|| NewResult {
            spec: self.output.clone(),
            dialogue: self.events.as_ref().map(|it| Arc::clone(&it.dialogue)),
        })
    }

    /// Its command line for people: the script itself, or the program with its arguments.
    pub(super) fn shown(&self) -> String {
        if let (CommandKind::Script, Some(script)) = (self.kind, self.arguments.last()) {
            return beginning(script.text()).to_owned();
        }
        let mut line = String::new();
        for word in self.arguments.iter().map(Arg::text) {
            if line.len() > MAX_SHOWN_LEN {
                break;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&shell_words::quote(beginning(word)));
        }
        line
    }

    /// Its command line, as it is recorded.
    pub fn command_line(&self) -> CommandLine<'_> {
        CommandLine {
            words: self.arguments.iter().map(Arg::text).collect(),
            input: match &self.input {
                Input::Nothing | Input::Pipe(_) => None,
                Input::Bytes(bytes) => Some(bytes),
            },
        }
    }
}

//! What an operation does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::plan::CommandPlan;
use super::run::Run;
use crate::audit::CommandLine;
use crate::operation::{Completion, InputWriter, NewResult};

/// Work that becomes one operation. It runs commands through the [`Run`] it is given, or does without any.
pub trait Job: Send + Sync + 'static {
    /// What is known of it before it runs.
    fn describe(&self) -> JobDescription;

    /// The command lines it will run, for the audit log.
    fn command_lines(&self) -> Vec<CommandLine<'_>>;

    /// Does it, to its end.
    fn run(self, run: &Run) -> impl Future<Output = Completion> + Send;
}

/// What is known of a job before it runs.
#[derive(Debug, Clone)]
pub struct JobDescription {
    /// The tool that was called.
    pub tool: String,
    /// Where it works.
    pub working_directory: PathBuf,
    /// Output that is kept, in bytes.
    pub output_limit: Option<u64>,
    /// What it runs, for people.
    pub command: String,
    /// How long it may run.
    pub deadline: Option<Duration>,
    /// Whether it is meant to go on until somebody ends it.
    pub is_service: bool,
    /// Where its input can be written, where it was asked for.
    pub input: Option<Arc<InputWriter>>,
    /// What its result is made of, where that is more than its output.
    pub result: Option<NewResult>,
}

impl Job for CommandPlan {
    fn describe(&self) -> JobDescription {
        JobDescription {
            tool: self.tool.clone(),
            working_directory: self.working_directory.clone(),
            output_limit: self.restrictions.output_mb.map(|mb| u64::from(mb) << 20),
            command: self.shown(),
            deadline: self.deadline,
            is_service: self.is_service,
            input: self.input_writer.clone(),
            result: self.result(),
        }
    }

    fn command_lines(&self) -> Vec<CommandLine<'_>> {
        vec![self.command_line()]
    }

    async fn run(self, run: &Run) -> Completion {
        run.command(&self).await
    }
}

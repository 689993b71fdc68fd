//! What a program needs that runs one script in a scope by itself, without operations: the shell, and why it failed. Must not run it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use ahma_sandbox::{Exit, Input};

use super::Scope;
use crate::config::{Restrictions, ResultSpec};
use crate::executor::command_line::Arg;
use crate::executor::{CommandKind, CommandPlan, ExplainFailure, FailedCommand};
use crate::operation::OperationState;

impl Scope {
    /// The shell that scripts run in.
    pub(crate) fn shell(&self) -> OsString {
        self.context().commands.shell.clone().into()
    }

    /// Whether commands see a path.
    pub(crate) async fn sees(&self, path: &Path) -> bool {
        let words = ["test".into(), "-r".into(), path.as_os_str().to_owned()];
        let tested = self.context().internal.run(words.to_vec()).await;
        tested.is_some_and(|it| it.code == 0)
    }

    /// Does something, and says what commands have left meanwhile for programs outside.
    pub(crate) async fn guarded<T>(&self, doing: impl Future<Output = T>) -> (T, Vec<String>) {
        let running = self.guard().begin().await;
        let done = doing.await;
        (done, self.guard().end(running).await)
    }

    /// Says why the sandbox was in the way; none where there is no sandbox.
    pub(crate) fn explainer(&self) -> Option<ExplainFailure> {
        self.context().executor.explainer()
    }

    /// A script that has failed, with what it wrote and whether some of that is missing.
    pub(crate) fn failed_script(
        &self,
        script: &str,
        exit: Exit,
        (output, is_cut): (String, bool),
    ) -> FailedCommand {
        let commands = &self.context().commands;
        let shell = commands.shell.to_string_lossy().into_owned();
        let arguments = vec![
            Arg::Text(shell),
            Arg::from("-c"),
            Arg::from("--"),
            Arg::Text(script.to_owned()),
        ];
        FailedCommand {
            plan: CommandPlan {
                tool: "run".to_owned(),
                kind: CommandKind::Script,
                arguments,
                environment: Arc::clone(&commands.environment),
                working_directory: self.directory().to_owned(),
                input: Input::Nothing,
                input_writer: None,
                deadline: None,
                is_service: false,
                restrictions: Restrictions::default(),
                success_exit_codes: Vec::new(),
                output: ResultSpec::default(),
                events: None,
            },
            state: OperationState::Failed,
            exit_code: exit.code,
            signal: exit.signal,
            output,
            is_cut,
            limit_reached: None,
        }
    }
}

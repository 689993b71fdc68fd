//! A sequence at work: its steps one after the other, on one operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::exists_beneath;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};

use super::caller::Caller;
use super::result_text;
use super::sequence_plan::{SequencePlan, Skip, Step, StepAction};
use super::tools::{BuiltIn, Request};
use crate::audit::CommandLine;
use crate::executor::{Job, JobDescription, Run};
use crate::operation::{Completion, OperationState};

impl Job for SequencePlan {
    fn describe(&self) -> JobDescription {
        JobDescription {
            tool: self.tool.clone(),
            working_directory: self.working_directory.clone(),
            output_limit: None,
            command: self.shown(),
            deadline: self.deadline,
            is_service: false,
            input: None,
            result: None,
        }
    }

    fn command_lines(&self) -> Vec<CommandLine<'_>> {
        let commands = self.steps.iter().filter_map(|step| match &step.action {
            StepAction::Command(command) => Some(command.command_line()),
            StepAction::Answer(..) => None,
        });
        commands.collect()
    }

    /// Runs the steps until one fails, unless that does not matter, or the operation is cancelled.
    async fn run(self, run: &Run) -> Completion {
        let progress = Progress {
            end: self.deadline.map(|deadline| Instant::now() + deadline),
            count: self.steps.len(),
            plan: &self,
            run,
        };
        let mut warnings = Vec::new();
        let mut last = progress.steps(&mut warnings).await;
        last.warnings = warnings;
        last
    }
}

struct Progress<'s> {
    plan: &'s SequencePlan,
    run: &'s Run,
    count: usize,
    /// When all of it is stopped.
    end: Option<Instant>,
}

impl Progress<'_> {
    async fn steps(&self, warnings: &mut Vec<String>) -> Completion {
        for (number, step) in (1..).zip(&self.plan.steps) {
            if number > 1
                && let Some(reason) = self.pause(step.delay).await
            {
                return Completion::cancelled(reason);
            }
            if self.time_left().is_some_and(|left| left.is_zero()) {
                return self.too_late(number);
            }
            let name = format!("step {number} of {}: {}", self.count, step.title);
            if let Some(reason) = skipped(self.run.scope(), step).await {
                let line = format!("== {name}: skipped, {reason}");
                self.run.write_line(&line).await;
                continue;
            }
            self.run.at_step(name.clone());
            self.run.write_line(&format!("== {name}")).await;
            let Some(mut ended) = self.step(step).await else {
                return self.too_late(number);
            };
            warnings.append(&mut ended.warnings);
            if ended.state == OperationState::Completed {
                continue;
            }
            let (count, title, state) = (self.count, &step.title, ended.state.name());
            let failed = format!("step {number} of {count} ({title}) {state}");
            if ended.state != OperationState::Failed || !step.continue_on_error {
                let why = ended.explanation.take().map(|why| format!(": {why}"));
                ended.explanation = Some(format!("{failed}{}", why.unwrap_or_default()));
                return ended;
            }
            self.run.write_line(&format!("== {failed}; going on")).await;
        }
        let mut completed = Completion::new(OperationState::Completed, None);
        completed.exit_code = Some(0);
        completed
    }

    /// Does a step; `None` when the time of the whole sequence is over.
    async fn step(&self, step: &Step) -> Option<Completion> {
        match &step.action {
            StepAction::Command(command) => {
                let mut command = command.clone();
                let left = self.time_left();
                let left = left.into_iter().chain(command.deadline);
                command.deadline = left.min();
                Some(self.run.command(&command).await)
            }
            StepAction::Answer(tool, arguments) => tokio::select! {
                ended = self.answer(*tool, arguments.clone()) => Some(ended),
                () = at(self.end) => None,
            },
        }
    }

    /// Asks a built-in tool; its answer is output like any other.
    async fn answer(
        &self,
        tool: &'static dyn BuiltIn,
        arguments: Map<String, Value>,
    ) -> Completion {
        self.run.working();
        let operation = self.run.operation();
        let caller = Caller::nobody();
        let request = Request {
            context: &self.plan.context,
            caller: &caller,
            on_behalf: Some(operation.id()),
        };
        let Some(answering) = tool.answer_step(request, arguments) else {
            let why = "it is not available now".to_owned();
            return Completion::new(OperationState::Failed, why);
        };
        let answer = tokio::select! {
            biased;
            reason = operation.cancelled() => return Completion::cancelled(reason),
            answer = answering => answer,
        };
        let answer = answer.map_err(|error| error.to_string());
        let (state, text) = match answer.and_then(|result| result_text::text_of(&result)) {
            Ok(text) => (OperationState::Completed, text),
            Err(text) => (OperationState::Failed, text),
        };
        self.run.write_line(&text).await;
        Completion::new(state, None)
    }

    /// Waits between two steps; the reason when the operation is cancelled meanwhile.
    async fn pause(&self, delay: Duration) -> Option<String> {
        tokio::select! {
            biased;
            reason = self.run.operation().cancelled() => Some(reason),
            () = at(self.end) => None,
            () = sleep(delay) => None,
        }
    }

    fn time_left(&self) -> Option<Duration> {
        self.end
            .map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn too_late(&self, number: usize) -> Completion {
        let seconds = self.plan.deadline.unwrap_or_default().as_secs_f64();
        let count = self.count;
        let why = format!("stopped after {seconds} seconds, at step {number} of {count}");
        Completion::new(OperationState::TimedOut, why)
    }
}

async fn at(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Why a step is left out, if it is. What is outside the scope is not looked at: commands do not see it either.
async fn skipped(scope: &Path, step: &Step) -> Option<String> {
    for skip in &step.skip {
        let (path, wanted) = match skip {
            Skip::IfExists(path) => (path, true),
            Skip::IfMissing(path) => (path, false),
        };
        if exists(scope, step.directory.join(path)).await == wanted {
            return Some(match wanted {
                true => format!("{path} exists"),
                false => format!("{path} is missing"),
            });
        }
    }
    None
}

/// Whether a path exists in the scope, without following a link out of it. A disk may be slow.
async fn exists(scope: &Path, path: PathBuf) -> bool {
    let scope: Arc<Path> = scope.into();
    let looking = spawn_blocking(move || {
        let inside = path.strip_prefix(&scope);
        inside.is_ok_and(|inside| exists_beneath(&scope, inside))
    });
    looking.await.unwrap_or(false)
}

//! Several commands, one after the other, as one operation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::exists_beneath;
use tokio::time::{Instant, sleep, sleep_until};

use super::CommandPlan;
use super::run::{Run, cancelled};
use crate::operation::{Completion, OperationId, OperationState};

/// Commands that belong together.
#[derive(Debug, Clone)]
pub struct SequencePlan {
    /// The tool they belong to.
    pub tool: String,
    /// Where they run unless they say otherwise.
    pub working_directory: PathBuf,
    /// The steps, in order.
    pub steps: Vec<StepPlan>,
    /// All of it is stopped when it has run this long; each step has a deadline of its own besides.
    pub deadline: Option<Duration>,
}

impl SequencePlan {
    /// The commands among its steps.
    pub fn commands(&self) -> impl Iterator<Item = &CommandPlan> {
        self.steps.iter().filter_map(|step| match &step.action {
            StepAction::Command(command) => Some(command),
            StepAction::Answer(_) => None,
        })
    }
}

/// One step of a sequence.
#[derive(Debug, Clone)]
pub struct StepPlan {
    /// What it is called in the output.
    pub title: String,
    /// What it does.
    pub action: StepAction,
    /// Where it does it.
    pub directory: PathBuf,
    /// When it is left out.
    pub skip: Vec<Skip>,
    /// Whether the next steps run although it failed.
    pub continue_on_error: bool,
    /// The pause before it, unless it is the first.
    pub delay: Duration,
}

/// What a step does.
#[derive(Clone)]
pub enum StepAction {
    /// Runs a command.
    Command(CommandPlan),
    /// Asks the server something. It is told the operation it is asked for; an error means that the step failed.
    Answer(Arc<AnswerStep>),
}

/// A question to the server.
pub type AnswerStep = dyn Fn(OperationId) -> Answered + Send + Sync;
/// Its answer, some time.
pub type Answered = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

impl fmt::Debug for StepAction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepAction::Command(command) => command.fmt(formatter),
            StepAction::Answer(_) => formatter.write_str("a question to the server"),
        }
    }
}

/// When a step is left out, by a path below its working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// When it is there.
    IfExists(String),
    /// When it is not.
    IfMissing(String),
}

impl Skip {
    /// Why the step is left out, if it is.
    fn reason(&self, scope: &Path, directory: &Path) -> Option<String> {
        // What is outside the scope is not looked at: commands do not see it either.
        let exists = |path: &String| {
            let whole = directory.join(path);
            let inside = whole.strip_prefix(scope);
            inside.is_ok_and(|inside| exists_beneath(scope, inside))
        };
        match self {
            Skip::IfExists(path) => exists(path).then(|| format!("{path} exists")),
            Skip::IfMissing(path) => (!exists(path)).then(|| format!("{path} is missing")),
        }
    }
}

/// Runs the steps until one fails, unless that does not matter, or the operation is cancelled.
pub(super) async fn run(run: &Run, plan: &SequencePlan) -> Completion {
    let count = plan.steps.len();
    let end = plan.deadline.map(|deadline| Instant::now() + deadline);
    let mut warnings = Vec::new();
    let mut last = Completion::of(OperationState::Completed, None);
    for (number, step) in (1..).zip(&plan.steps) {
        if number > 1 {
            tokio::select! {
                biased;
                reason = run.operation.cancelled() => return cancelled(reason),
                () = at(end) => {}
                () = sleep(step.delay) => {}
            }
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return too_late(number, count, plan, warnings);
        }
        let heading = format!("== step {number} of {count}: {}", step.title);
        let scope = &run.hosts.policy().scope;
        let directory = &step.directory;
        let mut reasons = step.skip.iter();
        if let Some(reason) = reasons.find_map(|skip| skip.reason(scope, directory)) {
            say(run, &format!("{heading}: skipped, {reason}")).await;
            continue;
        }
        let what = format!("step {number} of {count}: {}", step.title);
        run.store.at_step(&run.operation, what);
        say(run, &heading).await;
        last = match &step.action {
            StepAction::Command(command) => {
                let mut command = command.clone();
                command.deadline = left.map_or(command.deadline, |left| left.min(command.deadline));
                run.command(&command).await
            }
            StepAction::Answer(question) => tokio::select! {
                answered = answer(run, question.as_ref()) => answered,
                () = at(end) => return too_late(number, count, plan, warnings),
            },
        };
        warnings.append(&mut last.warnings);
        if last.state == OperationState::Completed {
            continue;
        }
        let failed = format!(
            "step {number} of {count} ({}) {}",
            step.title,
            last.state.name()
        );
        if last.state != OperationState::Failed || !step.continue_on_error {
            let why = last.explanation.take().map(|why| format!(": {why}"));
            last.explanation = Some(format!("{failed}{}", why.unwrap_or_default()));
            last.warnings = warnings;
            return last;
        }
        say(run, &format!("== {failed}; going on")).await;
        last = Completion::of(OperationState::Completed, None);
    }
    last.exit_code = Some(0);
    last.warnings = warnings;
    last
}

async fn at(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

fn too_late(number: usize, count: usize, plan: &SequencePlan, warnings: Vec<String>) -> Completion {
    let seconds = plan.deadline.unwrap_or_default().as_secs_f64();
    let why = format!("stopped after {seconds} seconds, at step {number} of {count}");
    let mut completion = Completion::of(OperationState::TimedOut, why);
    completion.warnings = warnings;
    completion
}

/// Asks the server; what it says is output like any other.
async fn answer(run: &Run, question: &AnswerStep) -> Completion {
    run.store.running(&run.operation);
    let answer = tokio::select! {
        biased;
        reason = run.operation.cancelled() => return cancelled(reason),
        answer = question(run.operation.id().clone()) => answer,
    };
    let (state, text) = match answer {
        Ok(text) => (OperationState::Completed, text),
        Err(text) => (OperationState::Failed, text),
    };
    say(run, &text).await;
    Completion::of(state, None)
}

/// Adds a line of our own to the output.
async fn say(run: &Run, line: &str) {
    // Counts, beginning and end are right even when the disk is full.
    let line = format!("{line}\n").into_bytes();
    let _ = run.operation.output.append(line).await;
}

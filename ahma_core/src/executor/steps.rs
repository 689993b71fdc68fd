//! Several commands, one after the other, as one operation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_sandbox::exists_beneath;
use tokio::time::sleep;

use super::CommandPlan;
use super::run::{Run, cancelled};
use crate::operation::{Ending, OperationState};

/// Commands that belong together.
#[derive(Debug, Clone)]
pub struct SequencePlan {
    /// The tool they belong to.
    pub tool: String,
    /// Where they run unless they say otherwise.
    pub working_directory: PathBuf,
    /// The steps, in order.
    pub steps: Vec<StepPlan>,
}

/// One command of a sequence.
#[derive(Debug, Clone)]
pub struct StepPlan {
    /// What it is called in the output.
    pub title: String,
    /// What it runs.
    pub command: CommandPlan,
    /// When it is left out.
    pub skip: Vec<Skip>,
    /// Whether the next steps run although it failed.
    pub continue_on_error: bool,
    /// The pause before it, unless it is the first.
    pub delay: Duration,
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
pub(super) async fn run(run: &Run, plan: &SequencePlan) -> Ending {
    let count = plan.steps.len();
    let mut last = Ending::of(OperationState::Completed, None);
    for (number, step) in (1..).zip(&plan.steps) {
        if number > 1 {
            tokio::select! {
                biased;
                reason = run.operation.cancelled() => return cancelled(reason),
                () = sleep(step.delay) => {}
            }
        }
        let heading = format!("== step {number} of {count}: {}", step.title);
        let scope = &run.hosts.policy().scope;
        let directory = &step.command.working_directory;
        let mut reasons = step.skip.iter();
        if let Some(reason) = reasons.find_map(|skip| skip.reason(scope, directory)) {
            say(run, &format!("{heading}: skipped, {reason}")).await;
            continue;
        }
        say(run, &heading).await;
        last = run.command(&step.command).await;
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
            return last;
        }
        say(run, &format!("== {failed}; going on")).await;
        last = Ending::of(OperationState::Completed, None);
    }
    last.exit_code = Some(0);
    last
}

/// Adds a line of our own to the output.
async fn say(run: &Run, line: &str) {
    // Counts, beginning and end are right even when the disk is full.
    let line = format!("{line}\n").into_bytes();
    let _ = run.operation.output.append(line).await;
}

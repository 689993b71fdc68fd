//! The plan of a sequence: its steps and those of the sequences among them, ready to run one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::call_error::CallError;
use super::call_parameters::SHELL;
use super::caller::Caller;
use super::context::ServiceContext;
use super::directory::working_directory;
use super::plan::{self, CheckedCall};
use super::tools::{self, BuiltIn};
use crate::config::{Action, ResultSpec, Sequence, StepSpec, ToolSpec};
use crate::executor::CommandPlan;
use crate::registry::{Runner, ToolSnapshot};

/// Steps of a sequence and of those it calls, together.
const MAX_STEPS: usize = 1000;
/// Steps that are named where there is little room.
const MAX_SHOWN_STEPS: usize = 20;

/// Steps that belong together: one operation.
pub(super) struct SequencePlan {
    pub(super) context: Arc<ServiceContext>,
    /// The tool they belong to.
    pub(super) tool: String,
    /// Where they run unless they say otherwise.
    pub(super) working_directory: PathBuf,
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
    /// All of it is stopped when it has run this long; each step has a deadline of its own besides.
    pub(super) deadline: Option<Duration>,
}

impl SequencePlan {
    /// What its steps are, for people.
    pub(super) fn shown(&self) -> String {
        let titles = self.steps.iter().take(MAX_SHOWN_STEPS);
        let titles: Vec<&str> = titles.map(|step| step.title.as_str()).collect();
        titles.join("; ")
    }
}

/// One step of a sequence.
pub(super) struct Step {
    /// What it is called in the output.
    pub(super) title: String,
    /// What it does.
    pub(super) action: StepAction,
    /// Where it does it.
    pub(super) directory: PathBuf,
    /// When it is left out.
    pub(super) skip: Vec<Skip>,
    /// Whether the next steps run although it failed.
    pub(super) continue_on_error: bool,
    /// The pause before it, unless it is the first.
    pub(super) delay: Duration,
}

/// What a step does.
pub(super) enum StepAction {
    /// Runs a command.
    Command(Box<CommandPlan>),
    /// Asks a built-in tool.
    Answer(&'static dyn BuiltIn, Map<String, Value>),
}

/// When a step is left out, by a path below its working directory.
pub(super) enum Skip {
    /// When it is there.
    IfExists(String),
    /// When it is not.
    IfMissing(String),
}

/// Plans a call of a sequence.
pub(super) async fn plan(
    context: &Arc<ServiceContext>,
    tool: &ToolSpec,
    sequence: &Sequence,
    call: &CheckedCall,
) -> Result<SequencePlan, CallError> {
    let directory = working_directory(context, call.directory()).await?;
    let mut planning = Planning {
        context,
        tools: context.registry.current(),
        steps: Vec::new(),
    };
    planning.add(sequence, &directory.to_string_lossy()).await?;
    let declared = tool.timeout_seconds;
    let declared = declared.map(|seconds| Duration::from_secs(seconds.into()));
    Ok(SequencePlan {
        context: Arc::clone(context),
        tool: tool.name.clone(),
        working_directory: directory,
        steps: planning.steps,
        deadline: call.timeout().or(declared),
    })
}

struct Planning<'s> {
    context: &'s Arc<ServiceContext>,
    tools: Arc<ToolSnapshot>,
    steps: Vec<Step>,
}

impl Planning<'_> {
    /// Adds the steps of a sequence, and of the sequences among them. The loader sees to it that none calls itself.
    async fn add(&mut self, sequence: &Sequence, directory: &str) -> Result<(), CallError> {
        let delay = Duration::from_millis(sequence.step_delay_ms.into());
        for step in &sequence.steps {
            if self.steps.len() >= MAX_STEPS {
                let why = format!("the sequence has more than {MAX_STEPS} steps");
                return Err(CallError::new(why));
            }
            let runner = self.tools.find(&step.target).map(|it| it.runner.clone());
            match runner {
                Some(Runner::Declared(tool)) => match &tool.action {
                    Action::Sequence(inner) => {
                        let directory = own_directory(step).unwrap_or(directory);
                        Box::pin(self.add(inner, directory)).await?;
                    }
                    Action::Run(_) => {
                        let call = plan::check_step(&tool, arguments(step, directory)).await;
                        let call = call.map_err(|why| in_step(step, &why))?;
                        let nobody = Caller::nobody();
                        let mut command = plan::declared(self.context, &tool, call, &nobody).await;
                        // The result of a sequence is text.
                        if let Ok(command) = &mut command
                            && command.events.is_none()
                        {
                            command.output = ResultSpec::default();
                        }
                        self.push_command(step, command, delay)?;
                    }
                },
                Some(Runner::BuiltIn(SHELL)) => {
                    let call = plan::check_script(arguments(step, directory));
                    let call = call.map_err(|why| in_step(step, &why))?;
                    let command = plan::script(self.context, call).await;
                    self.push_command(step, command, delay)?;
                }
                Some(Runner::BuiltIn(name)) => {
                    let tool = tools::find(name).ok_or_else(|| unavailable(step))?;
                    let action = StepAction::Answer(tool, step.args.clone());
                    self.steps
                        .push(planned(step, action, directory.into(), delay));
                }
                // They answer in their own way, and may take their own time.
                Some(Runner::Foreign(_)) => {
                    let why = "a tool of another server cannot be a step";
                    return Err(in_step(step, &CallError::new(why)));
                }
                None => return Err(unavailable(step)),
            }
        }
        Ok(())
    }

    fn push_command(
        &mut self,
        step: &StepSpec,
        command: Result<CommandPlan, CallError>,
        delay: Duration,
    ) -> Result<(), CallError> {
        let command = command.map_err(|why| in_step(step, &why))?;
        let directory = command.working_directory.clone();
        let action = StepAction::Command(Box::new(command));
        self.steps.push(planned(step, action, directory, delay));
        Ok(())
    }
}

fn planned(step: &StepSpec, action: StepAction, directory: PathBuf, delay: Duration) -> Step {
    let title = match &step.description {
        Some(description) => format!("{}: {description}", step.target),
        None => step.target.clone(),
    };
    let exists = step.skip_if_file_exists.clone().map(Skip::IfExists);
    let missing = step.skip_if_file_missing.clone().map(Skip::IfMissing);
    Step {
        title,
        action,
        directory,
        skip: exists.into_iter().chain(missing).collect(),
        continue_on_error: step.continue_on_error,
        delay,
    }
}

/// The arguments of a step; the directory of the sequence applies to every step without its own.
fn arguments(step: &StepSpec, directory: &str) -> Map<String, Value> {
    let mut arguments = step.args.clone();
    arguments
        .entry("working_directory")
        .or_insert_with(|| json!(directory));
    arguments
}

fn own_directory(step: &StepSpec) -> Option<&str> {
    step.args.get("working_directory")?.as_str()
}

fn unavailable(step: &StepSpec) -> CallError {
    in_step(step, &CallError::refused("it is not available now"))
}

fn in_step(step: &StepSpec, why: &CallError) -> CallError {
    CallError::new(format!("the step `{}`: {why}", step.target))
}

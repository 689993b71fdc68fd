//! Calls of sequences: tools whose job is to call others.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::CallToolResponse;
use serde_json::{Map, Value, json};

use super::arguments::{ExecutionMode, MetaArguments, read};
use super::caller::Caller;
use super::calls::{
    self, describe_faults, follow, is_answer, plan_shell, read_shell, working_directory,
};
use super::{ServiceState, declared, respond};
use crate::config::{Action, META_PARAMETERS, Sequence, StepSpec, ToolSpec, check_arguments};
use crate::executor::{SequencePlan, Skip, StepAction, StepPlan};
use crate::registry::ToolSnapshot;

/// Steps of a sequence and of those it calls, together.
const MAX_STEPS: usize = 1000;

/// Runs a sequence as one operation.
pub(super) async fn call(
    state: &Arc<ServiceState>,
    tool: &ToolSpec,
    sequence: &Sequence,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, String> {
    let faults = check_arguments(tool, &arguments);
    if !faults.is_empty() {
        return Err(describe_faults(faults));
    }
    let meta: Map<String, Value> = arguments
        .into_iter()
        .filter(|(name, _)| META_PARAMETERS.contains(&name.as_str()))
        .collect();
    let meta: MetaArguments = read(&tool.name, meta)?;
    let directory = working_directory(state, meta.working_directory.as_deref()).await?;
    let mut planning = Planning {
        state,
        tools: state.registry.current(),
        steps: Vec::new(),
    };
    let place = directory.to_string_lossy().into_owned();
    planning.add(sequence, &place).await?;
    let declared = tool.timeout_seconds;
    let declared = declared.map(|seconds| Duration::from_secs(seconds.into()));
    let plan = SequencePlan {
        tool: tool.name.clone(),
        working_directory: directory,
        steps: planning.steps,
        deadline: meta
            .timeout_seconds
            .map(Duration::from_secs_f64)
            .or(declared),
    };
    let usual = if tool.synchronous {
        ExecutionMode::Sync
    } else {
        ExecutionMode::Async
    };
    let mode = state.mode(meta.execution_mode, usual);
    follow(state, plan, mode, caller).await
}

struct Planning<'s> {
    state: &'s Arc<ServiceState>,
    tools: Arc<ToolSnapshot>,
    steps: Vec<StepPlan>,
}

impl Planning<'_> {
    /// Adds the steps of a sequence, and of the sequences among them. The loader sees to it that none calls
    /// itself.
    async fn add(&mut self, sequence: &Sequence, directory: &str) -> Result<(), String> {
        for step in &sequence.steps {
            if self.steps.len() >= MAX_STEPS {
                return Err(format!("the sequence has more than {MAX_STEPS} steps"));
            }
            let title = title(step);
            let delay = Duration::from_millis(sequence.step_delay_ms.into());
            if is_answer(&step.target) {
                self.steps.push(StepPlan {
                    action: answer(self.state, step),
                    directory: directory.into(),
                    skip: skip(step),
                    continue_on_error: step.continue_on_error,
                    title,
                    delay,
                });
                continue;
            }
            // It applies to every step without its own.
            let mut arguments = step.args.clone();
            let place = arguments
                .entry("working_directory")
                .or_insert_with(|| json!(directory));
            let place = place.as_str().unwrap_or(directory).to_owned();
            let target = self.tools.tool(&step.target).cloned();
            if let Some(tool) = &target
                && let Action::Sequence(inner) = &tool.action
            {
                Box::pin(self.add(inner, &place)).await?;
                continue;
            }
            let command = match target {
                Some(tool) => declared::plan(self.state, &tool, arguments).await,
                None if step.target == "sandboxed_shell" && !self.state.no_shell => {
                    let arguments = read_shell(&step.target, arguments)?;
                    plan_shell(self.state, arguments).await
                }
                None => Err("it is not available now".to_owned()),
            };
            let command = command.map_err(|why| format!("the step `{}`: {why}", step.target))?;
            self.steps.push(StepPlan {
                directory: command.working_directory.clone(),
                action: StepAction::Command(command),
                skip: skip(step),
                continue_on_error: step.continue_on_error,
                title,
                delay,
            });
        }
        Ok(())
    }
}

fn answer(state: &Arc<ServiceState>, step: &StepSpec) -> StepAction {
    let (state, target) = (Arc::clone(state), step.target.clone());
    let arguments = step.args.clone();
    StepAction::Answer(Arc::new(move |operation| {
        let (state, target) = (Arc::clone(&state), target.clone());
        let arguments = arguments.clone();
        Box::pin(async move {
            let caller = Caller::nobody();
            let answer = calls::answer(&state, &target, arguments, &caller, Some(&operation));
            respond::text_of(&answer.await?)
        })
    }))
}

fn title(step: &StepSpec) -> String {
    match &step.description {
        Some(description) => format!("{}: {description}", step.target),
        None => step.target.clone(),
    }
}

fn skip(step: &StepSpec) -> Vec<Skip> {
    let exists = step.skip_if_file_exists.clone().map(Skip::IfExists);
    let missing = step.skip_if_file_missing.clone().map(Skip::IfMissing);
    exists.into_iter().chain(missing).collect()
}

//! Calls of declared tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::Input;
use rmcp::model::{CallToolResponse, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::arguments::{ExecutionMode, MetaArguments, read};
use super::caller::Caller;
use super::calls::{describe_faults, follow, working_directory};
use super::{ServiceState, sequence};
use crate::config::{
    Action, META_PARAMETERS, ToolSpec, Waiting, check_arguments, listed_description,
};
use crate::executor::CommandPlan;
use crate::executor::command_line::{PathContext, build};

/// A declared tool as clients see it.
pub(super) fn tool(tool: &ToolSpec, always_sync: bool) -> Tool {
    let waiting = if always_sync {
        Waiting::Always
    } else {
        Waiting::AsDeclared
    };
    let promised = tool.annotations;
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = promised.read_only;
    hints.destructive_hint = promised.destructive;
    hints.idempotent_hint = promised.idempotent;
    hints.open_world_hint = promised.open_world;
    let schema = Arc::clone(&tool.input_schema);
    let description = listed_description(tool, waiting);
    let mut listed = Tool::new(tool.name.clone(), description, schema).with_annotations(hints);
    listed.title.clone_from(&tool.title);
    listed
}

/// Answers a call of a declared tool.
pub(super) async fn call(
    state: &Arc<ServiceState>,
    tool: &ToolSpec,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, String> {
    if let Action::Sequence(sequence) = &tool.action {
        return sequence::call(state, tool, sequence, arguments, caller).await;
    }
    // A wrong one is refused with all others when the command is planned.
    let asked = arguments.get("execution_mode").cloned();
    let plan = plan(state, tool, arguments).await?;
    let usual = if tool.synchronous {
        ExecutionMode::Sync
    } else {
        ExecutionMode::Async
    };
    let asked = asked.and_then(|mode| serde_json::from_value(mode).ok());
    follow(state, plan, state.mode(asked, usual), caller).await
}

/// The command of a call.
pub(super) async fn plan(
    state: &ServiceState,
    tool: &ToolSpec,
    arguments: Map<String, Value>,
) -> Result<CommandPlan, String> {
    // Everything that is wrong, in one answer.
    let faults = check_arguments(tool, &arguments);
    if !faults.is_empty() {
        return Err(describe_faults(faults));
    }
    let (meta, given): (Map<String, Value>, Map<String, Value>) = arguments
        .into_iter()
        .partition(|(name, _)| META_PARAMETERS.contains(&name.as_str()));
    let meta: MetaArguments = read(&tool.name, meta)?;
    let working_directory = working_directory(state, meta.working_directory.as_deref()).await?;
    let policy = state.hosts.policy();
    let roots: Vec<PathBuf> = [&policy.scope]
        .into_iter()
        .chain(&policy.read)
        .chain(&policy.write)
        .cloned()
        .collect();
    let context = PathContext {
        working_directory: &working_directory,
        roots: &roots,
    };
    let command = build(tool, &given, context).map_err(describe_faults)?;
    let mut environment = state.environment.clone();
    for (name, value) in &tool.env {
        environment.retain(|(known, _)| known != name.as_str());
        environment.push((name.into(), value.into()));
    }
    let declared = tool
        .timeout_seconds
        .map(|seconds| Duration::from_secs(seconds.into()));
    let asked = meta.timeout_seconds.map(Duration::from_secs_f64);
    Ok(CommandPlan {
        tool: tool.name.clone(),
        arguments: command.words,
        environment,
        working_directory,
        input: command
            .input
            .map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes())),
        deadline: asked.or(declared).unwrap_or(state.default_deadline),
        restrictions: tool.restrictions,
    })
}

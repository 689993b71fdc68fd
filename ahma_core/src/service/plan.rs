//! From a tool and the arguments of a call to a plan. Arguments are checked once, here.
//!
//! Must not start anything.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ahma_sandbox::Input;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use super::call_error::CallError;
use super::call_parameters::{SHELL, shell_arguments};
use super::context::ServiceContext;
use super::directory::working_directory;
use super::follow::ExecutionMode;
use crate::config::{
    ArgumentFault, ArgumentSpec, META_PARAMETERS, Restrictions, ToolSpec, check_arguments,
    check_call,
};
use crate::executor::command_line::{Arg, PathContext, build};
use crate::executor::{CommandKind, CommandPlan};

/// Letters that are compared with patterns while others wait.
const MAX_AT_ONCE: usize = 256;

/// Made once: every script is checked against them.
static SHELL_ARGUMENTS: LazyLock<Vec<ArgumentSpec>> = LazyLock::new(shell_arguments);

/// Arguments of a call that are right, those of the tool apart from those that steer the call.
pub(super) struct CheckedCall {
    parameters: CallParameters,
    arguments: Map<String, Value>,
}

/// What every call that runs something takes besides its own arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParameters {
    working_directory: Option<String>,
    execution_mode: Option<ExecutionMode>,
    /// A whole number in its bounds, perhaps written as `5.0`.
    timeout_seconds: Option<f64>,
}

impl CheckedCall {
    /// How the caller wants to be answered.
    pub(super) fn mode(&self) -> Option<ExecutionMode> {
        self.parameters.execution_mode
    }

    /// The directory the caller names.
    pub(super) fn directory(&self) -> Option<&str> {
        self.parameters.working_directory.as_deref()
    }

    /// The deadline the caller sets.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.parameters.timeout_seconds.map(Duration::from_secs_f64)
    }
}

/// Checks the arguments of a declared tool; everything that is wrong is in one answer.
pub(super) async fn check(
    tool: &Arc<ToolSpec>,
    arguments: Map<String, Value>,
) -> Result<CheckedCall, CallError> {
    if !takes_long(tool, &arguments) {
        let faults = check_arguments(tool, &arguments);
        return checked(&tool.name, faults, arguments);
    }
    // A caller decides how long that takes; others must not wait for it.
    let tool = Arc::clone(tool);
    let checking = spawn_blocking(move || {
        let faults = check_arguments(&tool, &arguments);
        checked(&tool.name, faults, arguments)
    });
    let stopped = |_| CallError::new("the server stops");
    checking.await.map_err(stopped)?
}

/// Whether values of more than a few letters have to match patterns.
fn takes_long(tool: &ToolSpec, arguments: &Map<String, Value>) -> bool {
    let has_pattern = tool.arguments.iter().any(|it| it.values.has_pattern());
    has_pattern && arguments.values().map(length).sum::<usize>() > MAX_AT_ONCE
}

/// Letters of a value, as far as they can have to match a pattern.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(length).sum(),
        _ => 1,
    }
}

/// Checks the arguments of the shell, with the same messages.
pub(super) fn check_script(arguments: Map<String, Value>) -> Result<CheckedCall, CallError> {
    let faults = check_call(SHELL, &SHELL_ARGUMENTS, &arguments);
    checked(SHELL, faults, arguments)
}

fn checked(
    tool: &str,
    faults: Vec<ArgumentFault>,
    arguments: Map<String, Value>,
) -> Result<CheckedCall, CallError> {
    if !faults.is_empty() {
        return Err(described(faults));
    }
    let (parameters, arguments): (Map<String, Value>, Map<String, Value>) = arguments
        .into_iter()
        .partition(|(name, _)| META_PARAMETERS.contains(&name.as_str()));
    let parameters = serde_json::from_value(Value::Object(parameters))
        .map_err(|error| CallError::new(format!("the arguments of `{tool}` are wrong: {error}")))?;
    Ok(CheckedCall {
        parameters,
        arguments,
    })
}

/// What is wrong with the arguments of a call, a line each.
fn described(faults: Vec<ArgumentFault>) -> CallError {
    let lines = faults.into_iter().map(|fault| {
        let hint = fault.hint.map(|hint| format!(" ({hint})"));
        let hint = hint.unwrap_or_default();
        format!("{}: {}{hint}", fault.argument, fault.message)
    });
    CallError::new(lines.collect::<Vec<_>>().join("\n"))
}

/// The command of a call of a declared tool.
pub(super) async fn declared(
    context: &ServiceContext,
    tool: &ToolSpec,
    call: CheckedCall,
) -> Result<CommandPlan, CallError> {
    let commands = &context.commands;
    let working_directory = working_directory(context, call.directory()).await?;
    let paths = PathContext {
        working_directory: &working_directory,
        roots: &commands.roots,
    };
    let built = build(tool, &call.arguments, paths).map_err(described)?;
    let environment = match tool.env.is_empty() {
        true => Arc::clone(&commands.environment),
        false => {
            let mut environment = commands.environment.to_vec();
            environment.retain(|(known, _)| !tool.env.keys().any(|name| known == name.as_str()));
            let own = tool.env.iter();
            environment.extend(own.map(|(name, value)| (name.into(), value.into())));
            Arc::new(environment)
        }
    };
    let declared = tool
        .timeout_seconds
        .map(|it| Duration::from_secs(it.into()));
    Ok(CommandPlan {
        tool: tool.name.clone(),
        kind: CommandKind::Program,
        arguments: built.words,
        environment,
        input: input(built.input),
        deadline: call.timeout().or(declared).unwrap_or(commands.timeout),
        restrictions: tool.restrictions,
        working_directory,
    })
}

/// The command of a call of the shell.
pub(super) async fn script(
    context: &ServiceContext,
    mut call: CheckedCall,
) -> Result<CommandPlan, CallError> {
    let commands = &context.commands;
    let working_directory = working_directory(context, call.directory()).await?;
    let mut text = |name: &str| match call.arguments.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (script, stdin) = (text("command"), text("stdin"));
    let shell = commands.shell.to_string_lossy().into_owned();
    Ok(CommandPlan {
        tool: SHELL.to_owned(),
        kind: CommandKind::Script,
        arguments: vec![
            Arg::Text(shell),
            Arg::from("-c"),
            // A script may begin with a dash.
            Arg::from("--"),
            Arg::Text(script.unwrap_or_default()),
        ],
        environment: Arc::clone(&commands.environment),
        input: input(stdin),
        deadline: call.timeout().unwrap_or(commands.timeout),
        restrictions: Restrictions::default(),
        working_directory,
    })
}

fn input(text: Option<String>) -> Input {
    text.map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes()))
}

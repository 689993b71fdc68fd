//! From the name of a tool to its answer.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ahma_sandbox::Input;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult};
use serde_json::{Map, Value};

use super::arguments::{ExecutionMode, NoArguments, ShellArguments, read};
use super::caller::Caller;
use super::{ServiceState, declared, operations, respond, server_info, tasks};
use crate::config::{
    ArgumentFault, ArgumentSpec, BUILT_IN_TOOLS, Restrictions, check_call, shell_arguments,
};
use crate::executor::command_line::Arg;
use crate::executor::{CommandPlan, Work};
use crate::operation::OperationId;

/// What nobody reads: the SDK drops answers to calls that were cancelled.
const CANCELLED: &str = "the call was cancelled";
/// A longer name is cut where it is repeated.
const MAX_NAME_LEN: usize = 100;
/// How long an `auto` call waits before it goes on in the background.
const AUTO_WAIT: Duration = Duration::from_secs(10);
/// Made once: every script is checked against them.
static SHELL_ARGUMENTS: LazyLock<Vec<ArgumentSpec>> = LazyLock::new(shell_arguments);

/// Answers a call.
pub(super) async fn call(
    state: &Arc<ServiceState>,
    name: &str,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, ErrorData> {
    let response = match name {
        "sandboxed_shell" if !state.no_shell => match read_shell(name, arguments) {
            Ok(arguments) => shell(state, arguments, caller).await,
            Err(fault) => Err(fault),
        },
        _ if is_answer(name) => tokio::select! {
            // First, so that what a call asks for is asked for even when nobody waits for its answer.
            biased;
            answer = answer(state, name, arguments, caller, None) => answer.map(Into::into),
            () = caller.cancelled.cancelled() => Err(CANCELLED.to_owned()),
        },
        _ => {
            let Some(tool) = state.registry.current().tool(name).cloned() else {
                let message = format!("there is no tool `{}`", cut(name));
                return Err(ErrorData::invalid_params(message, None));
            };
            declared::call(state, &tool, arguments, caller).await
        }
    };
    Ok(response.unwrap_or_else(|why| respond::refused(why).into()))
}

/// Whether it is a built-in tool that runs no command.
pub(super) fn is_answer(name: &str) -> bool {
    name != "sandboxed_shell" && BUILT_IN_TOOLS.contains(&name)
}

/// A name that no tool has may be of any length.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_LEN)]
}

/// What a built-in tool that runs no command answers. A step of a sequence asks on behalf of the
/// sequence's operation.
pub(super) async fn answer(
    state: &ServiceState,
    name: &str,
    arguments: Map<String, Value>,
    caller: &Caller,
    on_behalf: Option<&OperationId>,
) -> Result<CallToolResult, String> {
    match name {
        "await" => match read(name, arguments) {
            Ok(arguments) => operations::wait(state, arguments, caller, on_behalf).await,
            Err(fault) => Err(fault),
        },
        "status" => {
            read(name, arguments).and_then(|arguments| operations::status(state, &arguments))
        }
        "cancel" => match read(name, arguments) {
            Ok(arguments) => operations::cancel(state, arguments).await,
            Err(fault) => Err(fault),
        },
        "read_output" => match read(name, arguments) {
            Ok(arguments) => operations::read_output(state, arguments).await,
            Err(fault) => Err(fault),
        },
        "get_server_info" => match read::<NoArguments>(name, arguments) {
            Ok(NoArguments {}) => server_info::server_info(state).await,
            Err(fault) => Err(fault),
        },
        _ => Err(format!("there is no tool `{name}`")),
    }
}

/// Checked like the arguments of any tool, with the same messages.
pub(super) fn read_shell(
    name: &str,
    arguments: Map<String, Value>,
) -> Result<ShellArguments, String> {
    let faults = check_call(name, &SHELL_ARGUMENTS, &arguments);
    if faults.is_empty() {
        return read(name, arguments);
    }
    Err(describe_faults(faults))
}

/// What is wrong with the arguments of a call, a line each.
pub(super) fn describe_faults(faults: Vec<ArgumentFault>) -> String {
    let lines = faults.into_iter().map(|fault| {
        let hint = fault
            .hint
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!("{}: {}{hint}", fault.argument, fault.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

async fn shell(
    state: &Arc<ServiceState>,
    arguments: ShellArguments,
    caller: &Caller,
) -> Result<CallToolResponse, String> {
    let mode = state.mode(arguments.execution_mode, ExecutionMode::Async);
    let plan = plan_shell(state, arguments).await?;
    follow(state, plan, mode, caller).await
}

/// The command of a call of `sandboxed_shell`.
pub(super) async fn plan_shell(
    state: &ServiceState,
    arguments: ShellArguments,
) -> Result<CommandPlan, String> {
    let working_directory =
        working_directory(state, arguments.working_directory.as_deref()).await?;
    let asked = arguments.timeout_seconds.map(Duration::from_secs_f64);
    Ok(CommandPlan {
        tool: "sandboxed_shell".to_owned(),
        arguments: vec![
            Arg::Text(state.shell.to_string_lossy().into_owned()),
            Arg::from("-c"),
            // A script may begin with a dash.
            Arg::from("--"),
            Arg::Text(arguments.command),
        ],
        environment: state.environment.clone(),
        working_directory,
        input: arguments
            .stdin
            .map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes())),
        deadline: asked.unwrap_or(state.default_deadline),
        restrictions: Restrictions::default(),
    })
}

/// Starts a command and answers in the way that was asked for.
pub(super) async fn follow(
    state: &Arc<ServiceState>,
    work: impl Into<Work>,
    mode: ExecutionMode,
    caller: &Caller,
) -> Result<CallToolResponse, String> {
    if caller.cancelled.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    let operation = state.executor.start(work, &caller.client);
    let operation = operation.map_err(|why| why.to_string())?;
    let goes_on = || {
        caller.end_with_session(&operation);
        caller.notify_at_end(&operation, state);
        match caller.takes_tasks {
            true => tasks::created(&operation, state).into(),
            false => respond::started(&operation).into(),
        }
    };
    let timeout = match mode {
        ExecutionMode::Async => return Ok(goes_on()),
        ExecutionMode::Sync => None,
        ExecutionMode::Auto => Some(AUTO_WAIT),
    };
    let outcome = async {
        tokio::select! {
            _ = operation.ended() => true,
            () = after(timeout) => false,
        }
    };
    let operations = std::slice::from_ref(&operation);
    // Looked after on its own: telling may have to wait for a client that does not read.
    let cancelling = async {
        operation.cancel(caller.gives_up().await);
        operation.ended().await;
        true
    };
    let has_ended = tokio::select! {
        biased;
        has_ended = caller.notified_while(operations, outcome) => has_ended,
        has_ended = cancelling => has_ended,
    };
    match has_ended {
        true => Ok(respond::finished(&operation, state).into()),
        false => Ok(goes_on()),
    }
}

async fn after(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

/// The directory a call runs in. Checked here for a helpful message; the kernel is what holds.
pub(super) async fn working_directory(
    state: &ServiceState,
    asked: Option<&str>,
) -> Result<PathBuf, String> {
    let policy = state.hosts.policy();
    let Some(asked) = asked else {
        return Ok(policy.scope.clone());
    };
    let path = policy.scope.join(asked);
    let real = tokio::fs::canonicalize(&path).await.map_err(|error| {
        format!(
            "the working directory {} cannot be used: {error}",
            path.display()
        )
    })?;
    let mut roots = policy
        .read
        .iter()
        .chain(&policy.write)
        .chain([&policy.scope]);
    if !state.sandbox_is_off && !roots.any(|root| real.starts_with(root)) {
        return Err(format!(
            "the working directory {} is outside the sandbox scope {}",
            real.display(),
            policy.scope.display()
        ));
    }
    Ok(real)
}

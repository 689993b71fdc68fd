//! What each built-in tool does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::Input;
use regex::RegexBuilder;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use super::arguments::{
    AwaitArguments, CancelArguments, ExecutionMode, NoArguments, OneOrMany, ReadOutputArguments,
    ShellArguments, StatusArguments, read,
};
use super::caller::Caller;
use super::{ServiceState, leaf, respond, server_info};
use crate::config::{ArgumentFault, Narrowing, check_call, shell_arguments};
use crate::executor::command_line::Word;
use crate::executor::{CommandPlan, Work};
use crate::operation::{Operation, OperationState};
use crate::output::PageRequest;

/// How long an `auto` call waits before it goes on in the background.
const AUTO_WAIT: Duration = Duration::from_secs(10);
/// How long `await` waits unless told otherwise: below the 60 s at which common clients give up.
const AWAIT_SECONDS: u32 = 45;
const STATUS_ROWS: usize = 20;
/// A command that has been silent for this long may be waiting for something.
const SILENCE: Duration = Duration::from_secs(30);
const PAGE: usize = 32 * 1024;

/// Answers a call of a built-in tool.
pub(super) async fn call(
    state: &Arc<ServiceState>,
    name: &str,
    arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResult, ErrorData> {
    let result = match name {
        "sandboxed_shell" if !state.no_shell => match read_shell(name, arguments) {
            Ok(arguments) => shell(state, arguments, caller).await,
            Err(fault) => Err(fault),
        },
        "await" => match read(name, arguments) {
            Ok(arguments) => wait(state, arguments).await,
            Err(fault) => Err(fault),
        },
        "status" => read(name, arguments).and_then(|arguments| status(state, &arguments)),
        "cancel" => match read(name, arguments) {
            Ok(arguments) => cancel(state, arguments).await,
            Err(fault) => Err(fault),
        },
        "read_output" => match read(name, arguments) {
            Ok(arguments) => read_output(state, arguments).await,
            Err(fault) => Err(fault),
        },
        "get_server_info" => match read::<NoArguments>(name, arguments) {
            Ok(NoArguments {}) => server_info::server_info(state).await,
            Err(fault) => Err(fault),
        },
        _ => {
            let Some(leaf) = state.registry.current().leaf(name).cloned() else {
                let message = format!("there is no tool `{name}`");
                return Err(ErrorData::invalid_params(message, None));
            };
            leaf::call(state, &leaf, arguments, caller).await
        }
    };
    Ok(result.unwrap_or_else(respond::refused))
}

/// Checked like the arguments of any leaf, with the same messages.
pub(super) fn read_shell(
    name: &str,
    arguments: Map<String, Value>,
) -> Result<ShellArguments, String> {
    let faults = check_call(name, &shell_arguments(), &arguments);
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
) -> Result<CallToolResult, String> {
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
            Word::Text(state.shell.to_string_lossy().into_owned()),
            Word::from("-c"),
            // A script may begin with a dash.
            Word::from("--"),
            Word::Text(arguments.command),
        ],
        environment: state.environment.clone().into_iter().collect(),
        working_directory,
        input: arguments
            .stdin
            .map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes())),
        deadline: asked.unwrap_or(state.default_deadline),
        narrowing: Narrowing::default(),
    })
}

/// Starts a command and answers in the way that was asked for.
pub(super) async fn follow(
    state: &Arc<ServiceState>,
    work: impl Into<Work>,
    mode: ExecutionMode,
    caller: &Caller,
) -> Result<CallToolResult, String> {
    let operation = state.executor.start(work).map_err(|full| {
        format!("{full}; wait for some of them with `await`, or stop one with `cancel`")
    })?;
    let patience = match mode {
        ExecutionMode::Async => {
            caller.tell_at_the_end(&operation, state);
            return Ok(respond::started(&operation));
        }
        ExecutionMode::Sync => None,
        ExecutionMode::Auto => Some(AUTO_WAIT),
    };
    tokio::select! {
        _ = operation.ended() => {}
        () = caller.cancelled.cancelled() => {
            operation.cancel("the client cancelled the call");
            operation.ended().await;
        }
        () = after(patience) => {
            caller.tell_at_the_end(&operation, state);
            return Ok(respond::started(&operation));
        }
    }
    Ok(respond::finished(&operation, state))
}

async fn after(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
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

async fn wait(state: &ServiceState, arguments: AwaitArguments) -> Result<CallToolResult, String> {
    let (operations, unknown) = match &arguments.operation_id {
        Some(OneOrMany::One(id)) => find(state, std::slice::from_ref(id)),
        Some(OneOrMany::Many(ids)) => find(state, ids),
        None => {
            let unfinished =
                state
                    .executor
                    .store()
                    .newest_first()
                    .into_iter()
                    .filter(|operation| {
                        !operation.state().is_final() && is_of(operation, &arguments.tools)
                    });
            (unfinished.collect(), Vec::new())
        }
    };
    let seconds = arguments.timeout_seconds.unwrap_or(AWAIT_SECONDS);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds.into());
    for operation in &operations {
        if tokio::time::timeout_at(deadline, operation.ended())
            .await
            .is_err()
        {
            break;
        }
    }
    if let ([operation], true, Some(OneOrMany::One(_))) = (
        operations.as_slice(),
        unknown.is_empty(),
        &arguments.operation_id,
    ) && operation.state().is_final()
    {
        let record = operation.record();
        return Ok(respond::with_records(
            respond::finished(operation, state),
            &[record],
        ));
    }
    let mut parts: Vec<String> = Vec::new();
    for operation in &operations {
        if operation.state().is_final() {
            parts.push(respond::finished_text(operation, state));
        } else {
            parts.push(format!(
                "{} still {}",
                operation.id(),
                operation.state().name()
            ));
        }
    }
    parts.extend(unknown.iter().map(|id| unknown_operation(id)));
    if parts.is_empty() {
        parts.push("there is no operation to wait for".to_owned());
    }
    let records: Vec<_> = operations
        .iter()
        .map(|operation| operation.record())
        .collect();
    let message = parts.join("\n\n");
    let result = if unknown.is_empty() {
        respond::text(message)
    } else {
        respond::refused(message)
    };
    Ok(respond::with_records(result, &records))
}

fn find(state: &ServiceState, ids: &[String]) -> (Vec<Arc<Operation>>, Vec<String>) {
    let mut found = Vec::new();
    let mut unknown = Vec::new();
    for id in ids {
        match state.executor.store().get(id) {
            Some(operation) => found.push(operation),
            None => unknown.push(id.clone()),
        }
    }
    (found, unknown)
}

/// The operation of that name.
fn known(state: &ServiceState, id: &str) -> Result<Arc<Operation>, String> {
    state
        .executor
        .store()
        .get(id)
        .ok_or_else(|| unknown_operation(id))
}

fn unknown_operation(id: &str) -> String {
    format!("there is no operation {id}; `status` lists those that are remembered")
}

fn is_of(operation: &Operation, prefixes: &[String]) -> bool {
    prefixes.is_empty()
        || prefixes
            .iter()
            .any(|prefix| operation.tool().starts_with(prefix.as_str()))
}

fn status(state: &ServiceState, arguments: &StatusArguments) -> Result<CallToolResult, String> {
    if let Some(id) = &arguments.operation_id {
        known(state, id)?;
    }
    let mut rows = Vec::new();
    let mut records = Vec::new();
    let all = state.executor.store().newest_first();
    let wanted = all.iter().filter(|operation| {
        arguments
            .operation_id
            .as_ref()
            .is_none_or(|id| operation.id().as_str() == id)
            && is_of(operation, &arguments.tools)
            && arguments
                .state
                .as_ref()
                .is_none_or(|name| operation.state().name() == name)
    });
    for operation in wanted.take(arguments.limit.unwrap_or(STATUS_ROWS)) {
        let record = operation.record();
        let mut row = format!("{} {}", respond::summary(&record), record.tool);
        let silent = operation.output.last_written().elapsed();
        if record.state == OperationState::Running && silent >= SILENCE {
            row.push_str(&format!(
                " (no output for {} s, may be waiting for input)",
                silent.as_secs()
            ));
        }
        rows.push(row);
        records.push(record);
    }
    if rows.is_empty() {
        rows.push("no operations".to_owned());
    }
    Ok(respond::with_records(
        respond::text(rows.join("\n")),
        &records,
    ))
}

async fn cancel(
    state: &ServiceState,
    arguments: CancelArguments,
) -> Result<CallToolResult, String> {
    let operation = known(state, &arguments.operation_id)?;
    operation.cancel(
        arguments
            .reason
            .unwrap_or_else(|| "cancelled by the client".to_owned()),
    );
    operation.ended().await;
    let record = operation.record();
    Ok(respond::with_records(
        respond::text(respond::summary(&record)),
        &[record],
    ))
}

async fn read_output(
    state: &ServiceState,
    arguments: ReadOutputArguments,
) -> Result<CallToolResult, String> {
    let operation = known(state, &arguments.operation_id)?;
    let unreadable = |error: std::io::Error| format!("the output cannot be read: {error}");
    let totals = operation.output.totals();
    if let Some(pattern) = &arguments.pattern {
        let pattern = RegexBuilder::new(pattern)
            .size_limit(1 << 20)
            .build()
            .map_err(|error| format!("the pattern is not a regular expression: {error}"))?;
        let (hits, count) = operation
            .output
            .search(&pattern)
            .await
            .map_err(unreadable)?;
        let mut lines: Vec<String> = hits
            .iter()
            .map(|hit| format!("line {}, offset {}: {}", hit.line, hit.offset, hit.text))
            .collect();
        lines.push(format!(
            "[{count} of {} lines match, {} are shown]",
            totals.lines,
            hits.len()
        ));
        return Ok(respond::text(lines.join("\n")));
    }
    let request = match arguments.tail {
        Some(length) => PageRequest::Tail { length },
        None => PageRequest::From {
            offset: arguments.offset.unwrap_or(0),
            length: arguments.length.unwrap_or(PAGE),
        },
    };
    let page = operation.output.page(request).await.map_err(unreadable)?;
    let lost = if page.lost_before {
        "; what comes before was not kept"
    } else {
        ""
    };
    let message = format!(
        "{}\n[bytes {} to {} of {} in {} lines{lost}]",
        page.text, page.offset, page.end, totals.bytes, totals.lines
    );
    Ok(respond::text(message))
}

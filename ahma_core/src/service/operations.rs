//! The built-in tools about operations: waiting, listing, stopping, reading.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use regex::RegexBuilder;
use rmcp::model::CallToolResult;
use tokio::time::timeout;

use super::arguments::{
    AwaitArguments, CancelArguments, OneOrMany, ReadOutputArguments, StatusArguments,
};
use super::caller::Caller;
use super::{ServiceState, respond};
use crate::operation::{Operation, OperationId, OperationState};
use crate::output::PageRequest;

/// How long `await` waits unless told otherwise: below the 60 s at which common clients give up.
const AWAIT_SECONDS: u32 = 45;
/// How long it waits at most.
const MAX_SECONDS: u32 = 3600;
/// Outputs of several operations are shown until they are so long together.
const MAX_ANSWER_LEN: usize = 192 * 1024;
/// A pattern that is larger when it is compiled, in bytes, would search too slowly.
const MAX_PATTERN_BYTES: usize = 1 << 18;
/// How long a search may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);
const STATUS_ROWS: usize = 20;
/// A command that has been silent for this long may be waiting for something.
const SILENCE: Duration = Duration::from_secs(30);
const PAGE: usize = 32 * 1024;

/// Waits for operations to end; never for the one on whose behalf it waits.
pub(super) async fn wait(
    state: &ServiceState,
    arguments: AwaitArguments,
    caller: &Caller,
    on_behalf: Option<&OperationId>,
) -> Result<CallToolResult, String> {
    let seconds = arguments.timeout_seconds.unwrap_or(AWAIT_SECONDS);
    if seconds > MAX_SECONDS {
        return Err(format!("timeout_seconds: at most {MAX_SECONDS}"));
    }
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
                        !operation.state().is_final()
                            && is_of(operation, &arguments.tools)
                            && on_behalf != Some(operation.id())
                    });
            (unfinished.collect(), Vec::new())
        }
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds.into());
    let all_ended = async {
        for operation in &operations {
            operation.ended().await;
        }
    };
    let patient = tokio::time::timeout_at(deadline, all_ended);
    // What has not ended by then goes on.
    let _ = caller.notified_while(&operations, patient).await;
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
    let mut length = 0;
    for operation in &operations {
        if operation.state().is_final() && length > MAX_ANSWER_LEN {
            let line = respond::summary(&operation.record());
            parts.push(format!("{line} (not shown here; `await` it alone)"));
        } else if operation.state().is_final() {
            let text = respond::finished_text(operation, state);
            length += text.len();
            parts.push(text);
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
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(id.as_str())) {
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

pub(super) fn status(
    state: &ServiceState,
    arguments: &StatusArguments,
) -> Result<CallToolResult, String> {
    if let Some(id) = &arguments.operation_id {
        known(state, id)?;
    }
    if arguments.limit == Some(0) {
        return Err("limit: at least 1".to_owned());
    }
    let states = OperationState::ALL.map(OperationState::name);
    if let Some(asked) = &arguments.state
        && !states.contains(&asked.as_str())
    {
        return Err(format!("state: expected one of {}", states.join(", ")));
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

pub(super) async fn cancel(
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

pub(super) async fn read_output(
    state: &ServiceState,
    arguments: ReadOutputArguments,
) -> Result<CallToolResult, String> {
    let operation = known(state, &arguments.operation_id)?;
    let unreadable = |error: std::io::Error| format!("the output cannot be read: {error}");
    let totals = operation.output.totals();
    if let Some(pattern) = &arguments.pattern {
        let pattern = RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| format!("the pattern is not a regular expression: {error}"))?;
        let searching = timeout(SEARCH_TIMEOUT, operation.output.search(&pattern));
        let found = searching.await.map_err(|_| {
            let seconds = SEARCH_TIMEOUT.as_secs();
            format!("the search took more than {seconds} s; use a simpler pattern, or read pages")
        })?;
        let (hits, count) = found.map_err(unreadable)?;
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

//! Results: the one place that decides what a client reads of an operation.

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Serialize;
use serde_json::{Value, json};

use super::call_error::{CallError, ErrorKind};
use super::context::ServiceContext;
use super::execution_mode::ExecutionMode;
use super::output_uri;
use super::rich_result::{self, Rich};
use crate::audit::timestamp;
use crate::config::OutputKind;
use crate::denial::Denial;
use crate::operation::{OperationHandle, OperationRecord, OperationState};
use crate::output::MAX_PAGE_LEN;

/// A longer name is cut where it is repeated.
const MAX_NAME_LEN: usize = 100;

/// The key of the operation record in a result's `_meta`.
pub(super) const RECORD_KEY: &str = "ahma/operation";

/// The key of warnings in a result's `_meta`, where no output of a command can stand.
const WARNINGS_KEY: &str = "ahma/warnings";

/// The key of the kind of an error in a result's `_meta`, for programs.
const ERROR_KEY: &str = "ahma/error";

/// The key of what the sandbox probably refused in a result's `_meta`.
const DENIAL_KEY: &str = "ahma/denial";

/// Lines of an output that are shown of an operation that goes on.
const LAST_LINES: usize = 10;

/// A result that says why a call was refused.
pub(super) fn refused(error: &CallError) -> CallToolResult {
    with_kind(self::error(error.to_string()), error.kind())
}

/// Says for programs what the sandbox probably refused.
fn with_denial(mut result: CallToolResult, denial: Option<&Denial>) -> CallToolResult {
    if let Some(denial) = denial {
        let meta = result.meta.get_or_insert_default();
        meta.insert(DENIAL_KEY.to_owned(), json!(denial));
    }
    result
}

/// Says for programs what kind of error a result is.
fn with_kind(mut result: CallToolResult, kind: ErrorKind) -> CallToolResult {
    let meta = result.meta.get_or_insert_default();
    meta.insert(ERROR_KEY.to_owned(), json!({ "kind": kind.name() }));
    result
}

/// An error result of plain text.
pub(super) fn error(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message.into())])
}

/// What is said of an operation that is not remembered.
pub(super) fn unknown_operation(id: &str) -> String {
    no_operation(id).to_string()
}

/// The refusal of a call about an operation that is not remembered.
pub(super) fn no_operation(id: &str) -> CallError {
    CallError::new(format!("there is no operation {}", cut(id)))
        .with_hint("`status` lists those that are remembered")
}

/// A result of plain text.
pub(super) fn text(message: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(message.into())])
}

/// The answer to a call whose command goes on in the background.
pub(super) fn started(operation: &OperationHandle, mode: ExecutionMode) -> CallToolResult {
    let id = operation.id();
    let mut message = format!("started {id}\n");
    message += &match (
        operation.waits_for(),
        operation.deadline(),
        operation.ends_at(),
    ) {
        (Some(what), ..) => format!("The command is queued: it waits for {what}."),
        (None, Some(limit), Some(end)) => {
            let (end, limit) = (timestamp(end), limit.as_secs_f64());
            format!(
                "The command is running in the background. It will be stopped at {end} ({limit} s after its start) if it \
                 has not finished by then."
            )
        }
        (None, Some(limit), None) => {
            let limit = limit.as_secs_f64();
            format!(
                "The command goes on in the background and is stopped {limit} s after its start."
            )
        }
        (None, None, _) => "The command is running in the background.".to_owned(),
    };
    message += &match mode {
        ExecutionMode::Sync => format!(
            " It is taking longer than a call may wait. Use `await` with operation_id {id} before doing anything that needs \
             its result."
        ),
        _ => {
            format!(" `await` with operation_id {id} returns its result; `status` shows its state.")
        }
    };
    message += &so_far(operation);
    with_record(text(message), &operation.record(), &[])
}

/// The answer to a call that started a service.
pub(super) fn ready(operation: &OperationHandle, why: &str) -> CallToolResult {
    let id = operation.id();
    let mut message = format!(
        "started {id}\nThe service is ready: {why}. It goes on until `cancel` with operation_id {id}, or until \
         the client disconnects; `read_output` shows what it writes."
    );
    message += &so_far(operation);
    with_record(text(message), &operation.record(), &[])
}

/// The answer to a call that started a service which is not ready in time.
pub(super) fn not_ready(operation: &OperationHandle, why: &str) -> CallToolResult {
    let id = operation.id();
    let (why, goes_on) = match operation.waits_for() {
        Some(what) => (
            format!("it is queued and waits for {what}"),
            "It starts by itself",
        ),
        None => (why.to_owned(), "It is still running"),
    };
    let mut message = format!(
        "started {id}\nThe service is not ready yet: {why}. {goes_on}; look at it with `read_output`, or stop it with \
         `cancel` (operation_id {id})."
    );
    message += &so_far(operation);
    with_record(text(message), &operation.record(), &[])
}

/// The last lines of what an operation that goes on has written.
pub(super) fn so_far(operation: &OperationHandle) -> String {
    match operation.output().last_lines(LAST_LINES) {
        Some(lines) => format!("\nIts last lines so far:\n{lines}"),
        None => String::new(),
    }
}

/// The result of an operation that has ended.
pub(super) async fn finished(
    operation: &OperationHandle,
    context: &ServiceContext,
) -> CallToolResult {
    let record = operation.record();
    let is_completed = record.state == OperationState::Completed;
    let (message, rich) = match operation.result() {
        None => (finished_text(operation, context), Rich::default()),
        Some(parts) if is_completed => match rich_result::of(operation, parts).await {
            Ok(rich) => with_rich(operation, context, parts.kind(), rich),
            Err(error) => {
                let why = format!("the result could not be kept: {error}\n");
                let message = why + &finished_text(operation, context);
                return with_record(self::error(message), &record, &[]);
            }
        },
        Some(parts) => {
            let mut rich = rich_result::of_failed(parts).await;
            let aside = rich.aside.take().map(|it| it + "\n");
            let message = aside.unwrap_or_default() + &finished_text(operation, context);
            (message, rich)
        }
    };
    let completion = operation.completion();
    let denial = completion.as_ref().and_then(|it| it.denial.clone());
    let warnings = completion.map(|it| it.warnings).unwrap_or_default();
    let mut result = match is_completed {
        true => with_record(text(message), &record, &warnings),
        false => {
            let kind = match record.state {
                OperationState::TimedOut => ErrorKind::Timeout,
                _ => ErrorKind::Failed,
            };
            let result = with_record(error(message), &record, &warnings);
            with_denial(with_kind(result, kind), denial.as_deref())
        }
    };
    result.content.splice(0..0, rich.blocks);
    if record.truncated {
        let uri = output_uri::uri(operation.id().as_str());
        let link = Resource::new(uri, "output")
            .with_title(format!("All that {} has written", operation.id()))
            .with_mime_type("text/plain")
            .with_size(record.output_bytes);
        result.content.push(ContentBlock::resource_link(link));
    }
    result.structured_content = rich.structured;
    result
}

/// What comes before the last block of text, and that block.
fn with_rich(
    operation: &OperationHandle,
    context: &ServiceContext,
    kind: OutputKind,
    mut rich: Rich,
) -> (String, Rich) {
    if kind == OutputKind::Json {
        // By itself, for programs that read the text.
        rich.blocks.push(ContentBlock::text(output_text(operation)));
    }
    let mut message = String::new();
    if let Some(aside) = rich.aside.take() {
        message = aside + "\n";
    }
    message.push_str(&notes(operation, context));
    (message, rich)
}

/// Output, explanation, and last of all one line with state, exit code and duration.
pub(super) fn finished_text(operation: &OperationHandle, context: &ServiceContext) -> String {
    let mut message = output_text(operation);
    if !message.is_empty() && !message.ends_with('\n') {
        message.push('\n');
    }
    message.push_str(&notes(operation, context));
    message
}

/// The output; of a long one beginning and end, and how to read the rest.
fn output_text(operation: &OperationHandle) -> String {
    let id = operation.id().clone();
    let rendered = operation.output().render(|offset, length| {
        let (length, how_much) = match usize::try_from(length) {
            Ok(length) if length < MAX_PAGE_LEN => (length, "them"),
            _ => (MAX_PAGE_LEN, "the first of them and says where to go on"),
        };
        format!(
            "read_output with operation_id {id}, offset {offset} and length {length} reads {how_much}"
        )
    });
    rendered.text
}

/// What is said of an operation beside its output: explanations, warnings, and the line about its end.
fn notes(operation: &OperationHandle, context: &ServiceContext) -> String {
    let mut message = String::new();
    let record = operation.record();
    let completion = operation.completion();
    if let Some(explanation) = completion.as_ref().and_then(|it| it.explanation.as_ref()) {
        message.push_str(explanation);
        message.push('\n');
    }
    if let Some(denial) = completion.as_ref().and_then(|it| it.denial.as_ref()) {
        message.push_str(&denial.text);
        message.push('\n');
    }
    let left_behind = completion.as_ref().map_or(0, |it| it.left_behind);
    if left_behind > 0 {
        let (processes, were) = match left_behind {
            1 => ("process", "was"),
            _ => ("processes", "were"),
        };
        message.push_str(&format!(
            "{left_behind} {processes} that the command left running {were} ended with it. Something that is to go on \
             has to be started as a service (execution_mode \"service\").\n"
        ));
    }
    for warning in completion.map(|it| it.warnings).unwrap_or_default() {
        message.push_str("warning: ");
        message.push_str(&warning);
        message.push('\n');
    }
    if context.commands.unconfined {
        message.push_str("The sandbox is switched off.\n");
    }
    message.push_str(&summary(&record));
    message
}

/// One line about an operation.
pub(super) fn summary(record: &OperationRecord) -> String {
    let mut line = format!("[{} {}", record.operation_id, record.state.name());
    if let Some(code) = record.exit_code {
        line.push_str(&format!(", exit code {code}"));
    }
    if let Some(signal) = record.signal {
        line.push_str(&format!(", signal {signal}"));
    }
    line.push_str(&format!(", {} ms]", record.duration_ms));
    line
}

/// Adds the record for programs, and what the user should look at.
fn with_record(
    mut result: CallToolResult,
    record: &OperationRecord,
    warnings: &[String],
) -> CallToolResult {
    let meta = result.meta.get_or_insert_default();
    meta.insert(RECORD_KEY.to_owned(), json!(record));
    if !warnings.is_empty() {
        meta.insert(WARNINGS_KEY.to_owned(), json!(warnings));
    }
    result
}

/// The record of an operation for programs, with its structured result where it has one.
pub(super) fn told_record(operation: &OperationHandle, structured: Option<Value>) -> Value {
    let mut told = json!(operation.record());
    if let Some(structured) = structured {
        told["result"] = structured;
    }
    told
}

/// Adds the records of several operations for programs.
pub(super) fn with_records(
    mut result: CallToolResult,
    records: &[impl Serialize],
) -> CallToolResult {
    result.structured_content = Some(json!({ "operations": records }));
    result
}

/// A document, for programs and as text.
pub(super) fn document(document: Value) -> CallToolResult {
    let mut result = text(format!("{document:#}"));
    result.structured_content = Some(document);
    result
}

/// A name that a client made up may be of any length; this much of it is repeated.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_LEN)]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::result_text::text_of;
    use super::*;
    use crate::operation::{NewOperation, OperationStore, Retention};
    use crate::output::SpoolPlace;

    #[test]
    fn a_service_that_is_not_ready_is_said_to_run_or_to_wait() {
        let retention = Retention {
            count: 1,
            age: Duration::from_secs(60),
            unfinished: 1,
        };
        let place = SpoolPlace::new("/nowhere", Arc::default());
        let store = OperationStore::new(retention, place);
        let operation = store.begin(NewOperation {
            tool: "t".to_owned(),
            working_directory: "/".into(),
            output_limit: None,
            command: String::new(),
            deadline: None,
            is_service: true,
            input: None,
            result: None,
            origin: "test".into(),
        });
        let operation = operation.unwrap();
        let said = || text_of(&not_ready(&operation, "nothing listens")).unwrap();
        store.waiting(&operation, "others");
        let queued = "not ready yet: it is queued and waits for others. It starts by itself; look";
        assert!(said().contains(queued), "{}", said());
        store.running(&operation);
        let running = "not ready yet: nothing listens. It is still running; look";
        assert!(said().contains(running), "{}", said());
    }
}

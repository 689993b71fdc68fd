//! Results: the one place that decides what a client reads of an operation.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

use super::call_error::CallError;
use super::context::ServiceContext;
use super::denial;
use crate::operation::{OperationHandle, OperationRecord, OperationState};

/// A longer name is cut where it is repeated.
const MAX_NAME_LEN: usize = 100;

/// The key of the operation record in a result's `_meta`.
pub(super) const RECORD_KEY: &str = "ahma/operation";

/// The key of warnings in a result's `_meta`, where no output of a command can stand.
const WARNINGS_KEY: &str = "ahma/warnings";

/// A result that says why a call was refused.
pub(super) fn refused(error: &CallError) -> CallToolResult {
    self::error(error.to_string())
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

/// The text of a result; an error when the result is one.
pub(super) fn text_of(result: &CallToolResult) -> Result<String, String> {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let text: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
    let text = text.join("\n");
    match result.is_error {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

/// The answer to a call whose command goes on in the background.
pub(super) fn started(operation: &OperationHandle) -> CallToolResult {
    let id = operation.id();
    let message = format!(
        "started {id}\nThe command runs in the background. `await` with operation_id {id} returns its result; \
         `status` tells how it stands."
    );
    with_record(text(message), &operation.record(), &[])
}

/// The result of an operation that has ended.
pub(super) fn finished(operation: &OperationHandle, context: &ServiceContext) -> CallToolResult {
    let record = operation.record();
    let message = finished_text(operation, context);
    let result = if record.state == OperationState::Completed {
        text(message)
    } else {
        error(message)
    };
    let warnings = operation.completion().map(|it| it.warnings);
    with_record(result, &record, &warnings.unwrap_or_default())
}

/// Output, explanation, and last of all one line with state, exit code and duration.
pub(super) fn finished_text(operation: &OperationHandle, context: &ServiceContext) -> String {
    let id = operation.id().clone();
    let rendered = operation.output().render(|offset, length| {
        format!(
            "read_output with operation_id {id}, offset {offset} and length {length} reads them"
        )
    });
    let mut message = rendered.text;
    if !message.is_empty() && !message.ends_with('\n') {
        message.push('\n');
    }
    let record = operation.record();
    let completion = operation.completion();
    if let Some(explanation) = completion.as_ref().and_then(|it| it.explanation.as_ref()) {
        message.push_str(explanation);
        message.push('\n');
    }
    if record.state == OperationState::Failed
        && !context.commands.unconfined
        && let Some(line) = denial::explain(&message, &context.hosts.current_policy())
    {
        message.push_str(&line);
        message.push('\n');
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
    let mut meta = MetaObject::default();
    meta.insert(RECORD_KEY.to_owned(), json!(record));
    if !warnings.is_empty() {
        meta.insert(WARNINGS_KEY.to_owned(), json!(warnings));
    }
    result.meta = Some(meta);
    result
}

/// Adds the records of several operations for programs.
pub(super) fn with_records(
    mut result: CallToolResult,
    records: &[OperationRecord],
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

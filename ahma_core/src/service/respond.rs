//! From operations to results: the one place that decides what a client reads.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

use super::{ServiceState, denial};
use crate::operation::{Operation, OperationRecord, OperationState};

/// The key of the operation record in a result's `_meta`.
pub(super) const RECORD_KEY: &str = "ahma/operation";

/// A result that says what was wrong with a call.
pub(super) fn refused(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message.into())])
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
pub(super) fn started(operation: &Operation) -> CallToolResult {
    let id = operation.id();
    let message = format!(
        "started {id}\nThe command runs in the background. `await` with operation_id {id} returns its result; \
         `status` tells how it stands."
    );
    with_record(text(message), &operation.record())
}

/// The result of an operation that has ended.
pub(super) fn finished(operation: &Operation, state: &ServiceState) -> CallToolResult {
    let record = operation.record();
    let message = finished_text(operation, state);
    let result = if record.state == OperationState::Completed {
        text(message)
    } else {
        refused(message)
    };
    with_record(result, &record)
}

/// Output, explanation, and last of all one line with state, exit code and duration.
pub(super) fn finished_text(operation: &Operation, state: &ServiceState) -> String {
    let id = operation.id().clone();
    let rendered = operation.output.render(|offset, length| {
        format!(
            "read_output with operation_id {id}, offset {offset} and length {length} reads them"
        )
    });
    let mut message = rendered.text;
    if !message.is_empty() && !message.ends_with('\n') {
        message.push('\n');
    }
    let record = operation.record();
    if let Some(explanation) = operation
        .completion()
        .and_then(|completion| completion.explanation)
    {
        message.push_str(&explanation);
        message.push('\n');
    }
    if record.state == OperationState::Failed
        && !state.sandbox_is_off
        && let Some(line) = denial::explain(&message, state.hosts.policy())
    {
        message.push_str(&line);
        message.push('\n');
    }
    for warning in operation
        .completion()
        .map(|completion| completion.warnings)
        .unwrap_or_default()
    {
        message.push_str(&warning);
        message.push('\n');
    }
    if state.sandbox_is_off {
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

/// Adds the record for programs.
fn with_record(mut result: CallToolResult, record: &OperationRecord) -> CallToolResult {
    let mut meta = MetaObject::default();
    meta.insert(RECORD_KEY.to_owned(), json!(record));
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

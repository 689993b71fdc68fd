//! `cancel`: stops an operation.

use rmcp::model::{CallToolResult, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;

use super::built_in::{AnswerTool, Request};
use crate::service::call_error::CallError;
use crate::service::respond;

/// The tool.
pub(super) struct Cancel;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Which one.
    operation_id: String,
    /// Why; shown in its result.
    reason: Option<String>,
}

impl AnswerTool for Cancel {
    const NAME: &'static str = "cancel";
    const TITLE: &'static str = "Stop an operation";
    const DESCRIPTION: &'static str = "Stops an operation. Answers when no process of it is left.";
    type Args = Args;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().destructive(true).idempotent(true)
    }

    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        let id = &args.operation_id;
        let operation = request.context.operations().get(id);
        let operation = operation.ok_or_else(|| respond::no_operation(id))?;
        let reason = args.reason;
        operation.cancel(reason.unwrap_or_else(|| "cancelled by the client".to_owned()));
        operation.ended().await;
        let record = operation.record();
        let result = respond::text(respond::summary(&record));
        Ok(respond::with_records(result, &[record]))
    }
}

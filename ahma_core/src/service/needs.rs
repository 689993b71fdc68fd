//! What a tool wants of its client: refused before anything runs where the client does not have it.

use rmcp::model::{ClientCapabilities, ErrorCode};
use serde_json::{Value, json};

use super::call_error::CallError;
use super::caller::Caller;
use crate::config::{ClientNeeds, TaskMode, ToolSpec};

/// Refuses a call of a client that lacks what the tool wants.
pub(super) fn check(tool: &ToolSpec, caller: &Caller) -> Result<(), CallError> {
    let lacking = caller.lacks(tool.requires);
    let lacks_tasks = tool.task == Some(TaskMode::Required) && !caller.takes_tasks;
    if lacking == ClientNeeds::default() && !lacks_tasks {
        return Ok(());
    }
    let named = [
        (lacking.elicitation, "elicitation"),
        (lacking.sampling, "sampling"),
        (lacking.roots, "roots"),
    ];
    let named = named.into_iter().filter(|(lacks, _)| *lacks);
    let mut required: Value = named
        .map(|(_, name)| (name.to_owned(), json!({})))
        .collect();
    if lacks_tasks {
        let tasks = ClientCapabilities::builder().enable_tasks().build();
        required["extensions"] = json!(tasks)["extensions"].take();
    }
    let why = format!(
        "`{}` needs a client that declares these capabilities: {required}",
        tool.name
    );
    let data = json!({ "requiredCapabilities": required });
    let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0;
    Err(CallError::of_protocol(code, why, Some(data)))
}

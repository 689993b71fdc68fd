//! `await`: waits for operations to end and returns their results.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::built_in::{AnswerTool, Request};
use crate::operation::{OperationFilter, OperationHandle, OperationStore};
use crate::service::call_error::CallError;
use crate::service::{respond, result_text};

/// How long it waits at most.
const MAX_SECONDS: u32 = 3600;
/// Ids of one call.
const MAX_IDS: usize = 1000;
/// Ids that name nothing and are told one by one.
const MAX_UNKNOWN: usize = 20;
/// Outputs of several operations are shown until they are so long together.
const MAX_ANSWER_LEN: usize = 192 * 1024;

/// The tool.
pub(super) struct Await;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// One id, or several. Default: all that run, and what ended without you having been given its result.
    operation_id: Option<OneOrMany>,
    /// Wait for operations of tools whose names begin with one of these.
    #[serde(default)]
    tools: Vec<String>,
    /// How long to wait.
    #[serde(default = "default_seconds")]
    #[schemars(range(min = 0, max = MAX_SECONDS))]
    timeout_seconds: u32,
}

/// Below the 60 s at which common clients give up.
fn default_seconds() -> u32 {
    45
}

/// One id, or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl AnswerTool for Await {
    const NAME: &'static str = "await";
    const TITLE: &'static str = "Wait for operations";
    const DESCRIPTION: &'static str = "Waits for operations to end and returns their results. Ends by itself after \
        timeout_seconds; the operations go on.";
    type Args = Args;

    /// Never waits for the operation on whose behalf it waits.
    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        if let Some(OneOrMany::Many(ids)) = &args.operation_id
            && ids.len() > MAX_IDS
        {
            return Err(CallError::new(format!("operation_id: at most {MAX_IDS}")));
        }
        let Request {
            context, caller, ..
        } = request;
        let store = context.operations();
        let (operations, unknown) = match &args.operation_id {
            Some(OneOrMany::One(id)) => find(store, std::slice::from_ref(id)),
            Some(OneOrMany::Many(ids)) => find(store, ids),
            None => (unread_and_unfinished(request, args.tools), Vec::new()),
        };
        let deadline = Instant::now() + Duration::from_secs(args.timeout_seconds.into());
        let all_ended = async {
            for operation in &operations {
                operation.ended().await;
            }
        };
        // What has not ended by then goes on.
        let waiting = timeout_at(deadline, all_ended);
        let _ = caller.notified_while(&operations, waiting).await;
        if let ([operation], true, Some(OneOrMany::One(_))) = (
            operations.as_slice(),
            unknown.is_empty(),
            &args.operation_id,
        ) && operation.state().is_final()
        {
            note_given(operation, request);
            let mut result = respond::finished(operation, context).await;
            let structured = result.structured_content.take();
            let told = respond::told_record(operation, structured);
            return Ok(respond::with_records(result, &[told]));
        }
        let Parts {
            texts: mut parts,
            blocks,
            records,
        } = parts(&operations, request).await;
        let told = unknown.iter().take(MAX_UNKNOWN);
        parts.extend(told.map(|id| respond::unknown_operation(id)));
        if unknown.len() > MAX_UNKNOWN {
            let more = unknown.len() - MAX_UNKNOWN;
            parts.push(format!("nor for {more} others of these ids"));
        }
        if parts.is_empty() {
            parts.push("there is no operation to wait for".to_owned());
        }
        let message = parts.join("\n\n");
        let mut result = match unknown.is_empty() {
            true => respond::text(message),
            false => respond::error(message),
        };
        result.content.splice(0..0, blocks);
        Ok(respond::with_records(result, &records))
    }
}

/// Notes that the caller has been given a result, when it is the one who asked for it.
fn note_given(operation: &OperationHandle, request: Request<'_>) {
    if operation.origin().key == request.caller.origin.key {
        operation.note_given();
    }
}

/// What is said of several operations.
#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    /// Pictures, sounds and what else stands beside text.
    blocks: Vec<ContentBlock>,
    records: Vec<Value>,
}

async fn parts(operations: &[Arc<OperationHandle>], request: Request<'_>) -> Parts {
    let mut all = Parts::default();
    let mut length = 0;
    for operation in operations {
        let state = operation.state();
        let mut structured = None;
        let text = if !state.is_final() {
            let so_far = respond::so_far(operation);
            format!("{} still {}{so_far}", operation.id(), state.name())
        } else if length > MAX_ANSWER_LEN {
            let line = respond::summary(&operation.record());
            format!("{line} (not shown here; `await` it alone)")
        } else {
            note_given(operation, request);
            let mut result = respond::finished(operation, request.context).await;
            structured = result.structured_content.take();
            let text = result_text::take_text(&mut result);
            length += text.len() + result_text::length(&result);
            all.blocks.append(&mut result.content);
            text
        };
        all.texts.push(text);
        all.records
            .push(respond::told_record(operation, structured));
    }
    all
}

/// What runs, but for services, which nobody waits for; and what has ended without the caller having been given its result.
/// The oldest first.
fn unread_and_unfinished(request: Request<'_>, tools: Vec<String>) -> Vec<Arc<OperationHandle>> {
    let store = request.context.operations();
    let mut found = store.query(&OperationFilter {
        tools: tools.clone(),
        ..OperationFilter::unfinished()
    });
    found.retain(|operation| !operation.is_service() && request.on_behalf != Some(operation.id()));
    found.extend(store.query(&OperationFilter {
        tools,
        not_given_to: Some(Arc::clone(&request.caller.origin.key)),
        ..OperationFilter::default()
    }));
    // One that ended between the two questions is in both.
    found.sort_by_key(|operation| operation.created_at());
    found.dedup_by(|one, other| Arc::ptr_eq(one, other));
    found
}

/// The operations of these ids, each once, and the ids that name none.
fn find(store: &OperationStore, ids: &[String]) -> (Vec<Arc<OperationHandle>>, Vec<String>) {
    let mut found = Vec::new();
    let mut unknown = Vec::new();
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(id.as_str())) {
        match store.get(id) {
            Some(operation) => found.push(operation),
            None => unknown.push(id.clone()),
        }
    }
    (found, unknown)
}

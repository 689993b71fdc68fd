//! Calls of tools that other servers run: each is an operation, and its result is passed on as it came.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{CallToolResponse, CallToolResult};
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::call_error::CallError;
use super::caller::Caller;
use super::context::ServiceContext;
use super::execution_mode::ExecutionMode;
use super::one_hop::without_reserved;
use super::respond;
use crate::audit::CommandLine;
use crate::executor::{Job, JobDescription, Run};
use crate::operation::{Completion, OperationHandle, OperationState};
use crate::registry::{ForeignCall, ForeignError, ForeignResult, ForeignTool};

/// More text than this is cut; all of it can be read with `read_output`.
const MAX_TEXT: usize = 48 * 1024;
/// A longer result is got ready beside the runtime.
const LONG: usize = 256 * 1024;
/// Arguments are shown up to this length.
const SHOWN: usize = 200;
const MODE: &str = "execution_mode";
/// How long a result waits for a client that does not read what was said before.
const PROGRESS_WAIT: Duration = Duration::from_secs(1);

type Outcome = Arc<OnceLock<Result<ForeignResult, ForeignError>>>;

/// Answers a call.
pub(super) async fn call(
    context: &Arc<ServiceContext>,
    name: &str,
    tool: &Arc<dyn ForeignTool>,
    mut arguments: Map<String, Value>,
    caller: &Caller,
) -> Result<CallToolResponse, CallError> {
    if caller.cancelled.is_cancelled() {
        return Err(CallError::cancelled());
    }
    let asked = match tool.takes_mode() {
        true => arguments.shift_remove(MODE),
        false => None,
    };
    let asked = match asked {
        None => None,
        Some(mode) => {
            let wrong = || CallError::new(format!("{MODE}: one of \"sync\", \"async\", \"auto\""));
            let mode: ExecutionMode = serde_json::from_value(mode).map_err(|_| wrong())?;
            (mode != ExecutionMode::Service)
                .then_some(Some(mode))
                .ok_or_else(wrong)?
        }
    };
    let mode = context.style.mode(asked, ExecutionMode::Sync);
    let outcome = Outcome::default();
    let (progress, passing_on) = caller.foreign_progress().unzip();
    let arguments_text = serde_json::to_string(&arguments).unwrap_or_default();
    let job = ForeignJob {
        shown: shown(tool.as_ref(), &arguments_text),
        arguments_text,
        name: name.to_owned(),
        tool: Arc::clone(tool),
        call: ForeignCall {
            arguments,
            meta: caller.passed_on(),
            session: caller.session(),
            progress,
            asking: caller.asking(),
        },
        directory: context.hosts.policy().scope.clone(),
        outcome: Arc::clone(&outcome),
    };
    let operation = context.executor.start(job, &caller.origin);
    let operation = operation.map_err(CallError::not_admitted)?;
    let has_ended = tokio::select! {
        biased;
        _ = operation.ended() => true,
        () = after(context.style.limit(mode)) => false,
        why = caller.gives_up() => {
            operation.cancel(why);
            operation.ended().await;
            true
        }
    };
    if !has_ended {
        caller.end_with_session(&operation);
        caller.notify_at_end(&operation, context);
        return Ok(respond::started(&operation, mode).into());
    }
    operation.note_given();
    if let Some(passing_on) = passing_on {
        // After the result nobody hears of it any more.
        let _ = timeout(PROGRESS_WAIT, passing_on).await;
    }
    Ok(match outcome.get() {
        Some(Ok(result)) => passed_on(result.clone(), &operation, caller).await.into(),
        Some(Err(_)) | None => respond::finished(&operation, context).await.into(),
    })
}

async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn shown(tool: &dyn ForeignTool, arguments: &str) -> String {
    let end = arguments.floor_char_boundary(SHOWN);
    let more = if end < arguments.len() { "…" } else { "" };
    let (server, name) = (tool.server(), tool.name());
    format!("{server}: {name} {}{more}", &arguments[..end])
}

/// The call as an operation.
struct ForeignJob {
    name: String,
    shown: String,
    arguments_text: String,
    tool: Arc<dyn ForeignTool>,
    call: ForeignCall,
    directory: PathBuf,
    outcome: Outcome,
}

impl Job for ForeignJob {
    fn describe(&self) -> JobDescription {
        JobDescription {
            tool: self.name.clone(),
            working_directory: self.directory.clone(),
            output_limit: None,
            command: self.shown.clone(),
            deadline: Some(self.tool.timeout()),
            is_service: false,
            input: None,
            result: None,
        }
    }

    fn command_lines(&self) -> Vec<CommandLine<'_>> {
        vec![CommandLine {
            words: vec![self.tool.server(), self.tool.name(), &self.arguments_text],
            input: None,
        }]
    }

    async fn run(self, run: &Run) -> Completion {
        run.working();
        let called = tokio::select! {
            biased;
            reason = run.operation().cancelled() => return Completion::cancelled(reason),
            called = self.tool.call(self.call) => called,
        };
        let completion = match &called {
            Ok(ForeignResult(result)) => {
                // So that it can be read later, and in parts.
                for text in texts(result) {
                    run.operation()
                        .write(format!("{text}\n").into_bytes())
                        .await;
                }
                Completion::new(OperationState::Completed, None)
            }
            Err(ForeignError::NeedsSignIn { why, url }) => {
                if let Some(url) = url {
                    // The explanation is in logs, too.
                    run.write_line(url).await;
                }
                Completion::new(OperationState::Failed, why.clone())
            }
            Err(error) => Completion::new(OperationState::Failed, error.to_string()),
        };
        let _ = self.outcome.set(called);
        completion
    }
}

/// The texts of a result.
fn texts(result: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let blocks = result.get("content").and_then(Value::as_array);
    let blocks = blocks.into_iter().flatten();
    blocks.filter_map(|block| match block["type"].as_str() {
        Some("text") => block["text"].as_str(),
        _ => None,
    })
}

/// The result as the server gave it. A long one is got ready beside the runtime: its length, the server decides.
async fn passed_on(
    result: ForeignResult,
    operation: &Arc<OperationHandle>,
    caller: &Caller,
) -> CallToolResult {
    let is_long = result.0.values().map(weight).sum::<usize>() > LONG;
    let ready = match is_long {
        false => Some(got_ready(result, operation)),
        true => {
            let operation = Arc::clone(operation);
            let readying = spawn_blocking(move || got_ready(result, &operation));
            readying.await.ok()
        }
    };
    let Some((whole, known)) = ready else {
        return respond::error("the server is stopping");
    };
    caller.leave_whole(whole);
    known
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(weight).sum(),
        Value::Object(all) => all.iter().map(|(name, it)| name.len() + weight(it)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// With the record of the operation, and without what was meant for us: whole, and as far as the SDK knows it, for a
/// transport that can send no more.
fn got_ready(result: ForeignResult, operation: &OperationHandle) -> (Value, CallToolResult) {
    let ForeignResult(mut result) = result;
    if texts(&result).map(str::len).sum::<usize>() > MAX_TEXT {
        cut(&mut result, operation);
    }
    without_reserved(&mut result);
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(respond::RECORD_KEY.to_owned(), json!(operation.record()));
    }
    let whole = Value::Object(result);
    let known: Option<CallToolResult> = serde_json::from_value(whole.clone()).ok();
    let known = known.unwrap_or_else(|| respond::text(whole.to_string()));
    (whole, known)
}

/// Puts the beginning and the end of the texts in the place of all of them.
fn cut(result: &mut Map<String, Value>, operation: &OperationHandle) {
    let id = operation.id();
    let rendered = operation.output().render(|offset, length| {
        format!(
            "read_output with operation_id {id}, offset {offset} and length {length} reads them"
        )
    });
    if let Some(Value::Array(blocks)) = result.get_mut("content") {
        blocks.retain(|block| block["type"] != "text");
        blocks.insert(0, json!({ "type": "text", "text": rendered.text }));
    }
}

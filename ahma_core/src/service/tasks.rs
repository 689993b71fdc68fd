//! Operations as tasks (2026-07-28): the same ids, the same state.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CreateTaskResult, DetailedTask, InputResponses, JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::{Map, Value, json};

use super::context::ServiceContext;
use super::questions::{fits, requests};
use super::respond;
use crate::audit::timestamp;
use crate::operation::{OperationHandle, OperationState};

/// How often it makes sense to ask.
const POLL_MS: u64 = 500;

/// The answer to a call whose command goes on in the background.
pub(super) fn created(operation: &OperationHandle, context: &ServiceContext) -> CreateTaskResult {
    CreateTaskResult::new(task(operation, context))
}

/// The state of a task.
pub(super) async fn get(context: &ServiceContext, id: &str) -> Result<DetailedTask, ErrorData> {
    let operation = known(context, id)?;
    Ok(detailed(&operation, context).await)
}

/// All that is said of a task.
pub(super) async fn detailed(
    operation: &Arc<OperationHandle>,
    context: &ServiceContext,
) -> DetailedTask {
    let dialogue = operation.result().and_then(|it| it.dialogue());
    let failure = dialogue.and_then(|it| it.error());
    let failure = failure.and_then(|it| Some((it.code?, it.message)));
    let payload = match operation.state() {
        OperationState::Queued | OperationState::Running => {
            match dialogue.and_then(|it| it.unanswered()) {
                Some((number, open)) => TaskPayload::InputRequired {
                    input_requests: requests(&named(number, open)),
                },
                None => TaskPayload::Working,
            }
        }
        OperationState::Failed if failure.is_some() => {
            let (code, message) = failure.unwrap_or_default();
            TaskPayload::Failed {
                error: object(json!({ "code": code, "message": message })),
            }
        }
        OperationState::Cancelled => TaskPayload::Cancelled,
        OperationState::Completed | OperationState::Failed | OperationState::TimedOut => {
            operation.note_given();
            let result = respond::finished(operation, context).await;
            TaskPayload::Completed {
                result: object(json!(result)),
            }
        }
        OperationState::Lost => {
            let why = respond::finished_text(operation, context);
            let error = ErrorData::internal_error(why, None);
            TaskPayload::Failed {
                error: object(json!(error)),
            }
        }
    };
    DetailedTask::new(task(operation, context), payload)
}

/// Requests by keys that no other question of the task has.
fn named(number: u64, open: Map<String, Value>) -> Map<String, Value> {
    let all = open.into_iter();
    all.map(|(key, request)| (format!("{number}.{key}"), request))
        .collect()
}

/// Asks for the end of a task.
pub(super) fn cancel(context: &ServiceContext, id: &str) -> Result<(), ErrorData> {
    known(context, id)?.cancel("cancelled by the client");
    Ok(())
}

/// Answers to questions of a task. What nobody waits for changes nothing, as the specification says; what is no answer is passed over,
/// so that the question stays.
pub(super) fn update(
    context: &ServiceContext,
    id: &str,
    answers: InputResponses,
) -> Result<(), ErrorData> {
    let operation = known(context, id)?;
    let Some(dialogue) = operation.result().and_then(|it| it.dialogue()) else {
        return Ok(());
    };
    let Some(question) = dialogue.question() else {
        return Ok(());
    };
    let prefix = format!("{}.", question.number);
    for (name, answer) in answers {
        let key = name.strip_prefix(&prefix).unwrap_or_default();
        if question
            .requests
            .get(key)
            .is_some_and(|it| fits(it, &answer))
        {
            dialogue.answer_part(question.number, key, answer);
        }
    }
    Ok(())
}

fn known(context: &ServiceContext, id: &str) -> Result<Arc<OperationHandle>, ErrorData> {
    let operation = context.operations().get(id);
    operation.ok_or_else(|| unknown(id))
}

/// What is said of a task that is not there, or not the caller's.
pub(super) fn unknown(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no task {}", respond::cut(id)), None)
}

fn task(operation: &OperationHandle, context: &ServiceContext) -> Task {
    // It is remembered for this long after its end, which is not known before.
    let memory = context.operations().retention_age();
    let life = memory + Duration::from_millis(operation.record().duration_ms);
    let created = timestamp(operation.created_at());
    let changed = timestamp(operation.changed_at());
    let mut task = Task::new(
        operation.id().as_str(),
        TaskStatus::Working,
        created,
        changed,
    )
    .with_poll_interval_ms(POLL_MS)
    .with_ttl_ms(u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
    let dialogue = operation.result().and_then(|it| it.dialogue());
    let progress = dialogue.and_then(|it| it.progress());
    let line = operation.output().last_line();
    task.status_message = operation.step().or(progress).or(line);
    task
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

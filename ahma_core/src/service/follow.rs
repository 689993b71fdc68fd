//! Starting a job, and answering in the way that was asked for: at once, with the result, or whichever comes first.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::CallToolResponse;
use tokio::time::{Instant, sleep_until};

use super::call_error::CallError;
use super::caller::Caller;
use super::context::ServiceContext;
use super::execution_mode::ExecutionMode;
use super::questions::{CallingClient, refuse_all};
use super::readiness::Readiness;
use super::{respond, tasks};
use crate::config::TaskMode;
use crate::executor::Job;
use crate::operation::{Dialogue, OperationHandle, Question};

/// How a job is answered for.
pub(super) struct Answering {
    pub(super) mode: ExecutionMode,
    /// When a service counts as started.
    pub(super) ready: Option<Readiness>,
    /// Whether the answer is a task.
    pub(super) task: Option<TaskMode>,
    /// Whether the tool promises a shape of its result, so that nothing else can stand in its place.
    pub(super) has_shape: bool,
}

/// Starts a job and answers. A client of 2026-07-28 is asked by the answer.
pub(super) async fn follow(
    context: &Arc<ServiceContext>,
    job: impl Job,
    answering: Answering,
    caller: &Caller,
    client: Option<&mut CallingClient>,
) -> Result<CallToolResponse, CallError> {
    if caller.cancelled.is_cancelled() {
        return Err(CallError::cancelled());
    }
    let operation = context.executor.start(job, &caller.origin);
    let operation = operation.map_err(CallError::not_admitted)?;
    follow_on(context, operation, answering, caller, client).await
}

/// Answers for an operation that has been started.
pub(super) async fn follow_on(
    context: &Arc<ServiceContext>,
    operation: Arc<OperationHandle>,
    answering: Answering,
    caller: &Caller,
    mut client: Option<&mut CallingClient>,
) -> Result<CallToolResponse, CallError> {
    let Answering {
        mode,
        ready,
        task,
        has_shape,
    } = answering;
    let dialogue = operation.result().and_then(|it| it.dialogue());
    let takes_task = caller.takes_tasks && task != Some(TaskMode::Never);
    let limit = match (task, takes_task, has_shape) {
        (Some(TaskMode::Optional | TaskMode::Required), true, _) => Some(Duration::ZERO),
        (_, false, true) => None,
        _ => context.style.limit(mode),
    };
    let goes_on = || leave(&operation, context, caller, takes_task);
    let open_client = caller.open_client();
    let outcome = async {
        loop {
            let asked = async {
                match (dialogue, &client) {
                    (Some(dialogue), Some(_)) => dialogue.asked().await,
                    _ => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                biased;
                _ = operation.ended() => Outcome::Ended,
                question = asked => Outcome::Asked(question),
                () = after(limit, dialogue) => Outcome::GoesOn,
                () = is_ready(ready.as_ref(), &operation, context) => Outcome::Ready,
                () = wants_background(dialogue), if !has_shape || takes_task => Outcome::GoesOn,
                never = served(open_client.as_ref(), dialogue) => match never {},
            };
            let Outcome::Asked(question) = outcome else {
                return outcome;
            };
            if let (Some(client), Some(dialogue)) = (&mut client, dialogue)
                && let Some(asks) = client.answer(&operation, dialogue, &question)
            {
                return Outcome::Asks(Box::new(asks));
            }
        }
    };
    let waiting = async {
        match (mode, dialogue, caller.telling()) {
            (_, Some(dialogue), Some(telling)) => telling.told_while(dialogue, outcome).await,
            // A call that is answered in a moment is not worth a notification.
            (ExecutionMode::Async, ..) => outcome.await,
            (ExecutionMode::Sync | ExecutionMode::Auto | ExecutionMode::Service, ..) => {
                let operations = std::slice::from_ref(&operation);
                caller.notified_while(operations, outcome).await
            }
        }
    };
    // Watched on its own: a notification may have to wait for a client that does not read.
    let cancelling = async {
        operation.cancel(caller.gives_up().await);
        operation.ended().await;
        Outcome::Ended
    };
    let outcome = tokio::select! {
        biased;
        outcome = waiting => outcome,
        outcome = cancelling => outcome,
    };
    match (outcome, ready) {
        (Outcome::Ended, _) => {
            operation.note_given();
            if let Some(error) = dialogue.and_then(|it| it.error())
                && let Some(code) = error.code
            {
                return Err(CallError::of_protocol(code, error.message, None));
            }
            Ok(respond::finished(&operation, context).await.into())
        }
        (Outcome::Asks(asks), _) => {
            let (asks, whole) = *asks;
            caller.leave_whole(whole);
            Ok(asks.into())
        }
        (Outcome::Ready, Some(ready)) => {
            goes_on();
            Ok(respond::ready(&operation, &ready.reason()).into())
        }
        (Outcome::GoesOn, Some(ready)) => {
            goes_on();
            Ok(respond::not_ready(&operation, &ready.missing()).into())
        }
        (Outcome::Ready | Outcome::GoesOn | Outcome::Asked(_), _) => {
            goes_on();
            // It wants to: nobody has waited for too long.
            let mode = match dialogue.is_some_and(|it| it.is_in_background()) {
                true => ExecutionMode::Async,
                false => mode,
            };
            Ok(match takes_task {
                true => tasks::created(&operation, context).into(),
                false => respond::started(&operation, mode).into(),
            })
        }
    }
}

/// Sees to an operation that goes on after the answer.
fn leave(
    operation: &Arc<OperationHandle>,
    context: &Arc<ServiceContext>,
    caller: &Caller,
    is_task: bool,
) {
    caller.end_with_session(operation);
    caller.notify_at_end(operation, context);
    let Some(dialogue) = operation.result().and_then(|it| it.dialogue()) else {
        return;
    };
    let (operation, dialogue) = (Arc::clone(operation), Arc::clone(dialogue));
    let client = caller.open_client();
    if client.is_none() && is_task {
        // The rest is read from the task, and answered by updates of it.
        dialogue.refuse(caller.abilities());
        return;
    }
    tokio::spawn(async move {
        let serving = async {
            match client {
                Some(client) => client.serve(&dialogue).await,
                None => refuse_all(&dialogue).await,
            }
        };
        tokio::select! {
            never = serving => match never {},
            _ = operation.ended() => {}
        }
    });
}

/// What came first.
enum Outcome {
    /// The end.
    Ended,
    /// The service can be used.
    Ready,
    /// A question, which the client may have answered already.
    Asked(Arc<Question>),
    /// A question that the client has to answer.
    Asks(Box<(rmcp::model::InputRequiredResult, serde_json::Value)>),
    /// Neither, and nobody waits any longer.
    GoesOn,
}

/// Waits until a service can be used; for ever where it is none.
async fn is_ready(
    ready: Option<&Readiness>,
    operation: &OperationHandle,
    context: &ServiceContext,
) {
    match ready {
        Some(ready) => ready.holds(operation, context).await,
        None => std::future::pending().await,
    }
}

/// Waits until a command wants to go on in the background; for ever where it cannot say so.
async fn wants_background(dialogue: Option<&Arc<Dialogue>>) {
    match dialogue {
        Some(dialogue) => dialogue.wants_background().await,
        None => std::future::pending().await,
    }
}

/// Puts the questions of a command to a client that can be asked meanwhile.
async fn served(
    client: Option<&super::questions::OpenClient>,
    dialogue: Option<&Arc<Dialogue>>,
) -> Infallible {
    match (client, dialogue) {
        (Some(client), Some(dialogue)) => client.serve(dialogue).await,
        _ => std::future::pending().await,
    }
}

/// Waits for so long; the time in which somebody thinks about a question does not count.
async fn after(limit: Option<Duration>, dialogue: Option<&Arc<Dialogue>>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    // The timer's shortest time is enough for a quick command.
    if limit.is_zero() {
        return;
    }
    let begin = Instant::now();
    let before = dialogue.map(|it| it.waited()).unwrap_or_default();
    let mut end = begin + limit;
    loop {
        sleep_until(end).await;
        let Some(dialogue) = dialogue else { return };
        let waited = dialogue.answered().await;
        let extended = begin + limit + waited.saturating_sub(before);
        if extended <= end {
            return;
        }
        end = extended;
    }
}

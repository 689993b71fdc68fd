//! Starting a job, and answering in the way that was asked for: at once, with the result, or whichever comes first.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::CallToolResponse;

use super::call_error::CallError;
use super::caller::Caller;
use super::context::ServiceContext;
use super::execution_mode::ExecutionMode;
use super::readiness::Readiness;
use super::{respond, tasks};
use crate::executor::Job;
use crate::operation::OperationHandle;

/// How a job is answered for.
pub(super) struct Answering {
    pub(super) mode: ExecutionMode,
    /// When a service counts as started.
    pub(super) ready: Option<Readiness>,
}

/// Starts a job and answers.
pub(super) async fn follow(
    context: &Arc<ServiceContext>,
    job: impl Job,
    answering: Answering,
    caller: &Caller,
) -> Result<CallToolResponse, CallError> {
    let Answering { mode, ready } = answering;
    if caller.cancelled.is_cancelled() {
        return Err(CallError::cancelled());
    }
    let operation = context.executor.start(job, &caller.origin);
    let operation = operation.map_err(CallError::not_admitted)?;
    let hand_over = || {
        caller.end_with_session(&operation);
        caller.notify_at_end(&operation, context);
        match caller.takes_tasks {
            true => tasks::created(&operation, context).into(),
            false => respond::started(&operation, mode).into(),
        }
    };
    let limit = context.style.limit(mode);
    let outcome = async {
        tokio::select! {
            biased;
            _ = operation.ended() => Outcome::Ended,
            () = after(limit) => Outcome::GoesOn,
            () = is_ready(ready.as_ref(), &operation, context) => Outcome::Ready,
        }
    };
    let waiting = async {
        match mode {
            // A call that is answered in a moment is not worth a notification.
            ExecutionMode::Async => outcome.await,
            ExecutionMode::Sync | ExecutionMode::Auto | ExecutionMode::Service => {
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
            Ok(respond::finished(&operation, context).into())
        }
        (Outcome::Ready, Some(ready)) => {
            caller.end_with_session(&operation);
            caller.notify_at_end(&operation, context);
            Ok(respond::ready(&operation, &ready.reason()).into())
        }
        (Outcome::GoesOn, Some(ready)) => {
            caller.end_with_session(&operation);
            caller.notify_at_end(&operation, context);
            Ok(respond::not_ready(&operation, &ready.missing()).into())
        }
        (Outcome::Ready | Outcome::GoesOn, None) => Ok(hand_over()),
    }
}

/// What came first.
enum Outcome {
    /// The end.
    Ended,
    /// The service can be used.
    Ready,
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

async fn after(limit: Option<Duration>) {
    match limit {
        // The timer's shortest time is enough for a quick command.
        Some(Duration::ZERO) => {}
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

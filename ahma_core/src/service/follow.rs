//! Starting a job, and answering in the way that was asked for: at once, with the result, or whichever comes first.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::CallToolResponse;
use serde::Deserialize;

use super::call_error::CallError;
use super::call_parameters::AUTO_WAIT;
use super::caller::Caller;
use super::context::{CallStyle, ServiceContext};
use super::{respond, tasks};
use crate::executor::Job;

/// How a call relates to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExecutionMode {
    /// Answers at once.
    Async,
    /// Answers with the result.
    Sync,
    /// Waits a little, then goes on in the background.
    Auto,
}

impl CallStyle {
    /// How a call relates to its command: the operator decides before the caller, who decides before the tool.
    pub(super) fn mode(self, asked: Option<ExecutionMode>, usual: ExecutionMode) -> ExecutionMode {
        match self.always_sync {
            true => ExecutionMode::Sync,
            false => asked.unwrap_or(usual),
        }
    }
}

/// Starts a job and answers.
pub(super) async fn follow(
    context: &Arc<ServiceContext>,
    job: impl Job,
    mode: ExecutionMode,
    caller: &Caller,
) -> Result<CallToolResponse, CallError> {
    if caller.cancelled.is_cancelled() {
        return Err(CallError::cancelled());
    }
    let operation = context.executor.start(job, &caller.client);
    let operation = operation.map_err(|why| CallError::new(why.to_string()))?;
    let hand_over = || {
        caller.end_with_session(&operation);
        caller.notify_at_end(&operation, context);
        match caller.takes_tasks {
            true => tasks::created(&operation, context).into(),
            false => respond::started(&operation).into(),
        }
    };
    let limit = match mode {
        ExecutionMode::Async => return Ok(hand_over()),
        ExecutionMode::Sync => None,
        ExecutionMode::Auto => Some(AUTO_WAIT),
    };
    let outcome = async {
        tokio::select! {
            _ = operation.ended() => true,
            () = after(limit) => false,
        }
    };
    let operations = std::slice::from_ref(&operation);
    // Watched on its own: a notification may have to wait for a client that does not read.
    let cancelling = async {
        operation.cancel(caller.gives_up().await);
        operation.ended().await;
        true
    };
    let has_ended = tokio::select! {
        biased;
        has_ended = caller.notified_while(operations, outcome) => has_ended,
        has_ended = cancelling => has_ended,
    };
    match has_ended {
        true => Ok(respond::finished(&operation, context).into()),
        false => Ok(hand_over()),
    }
}

async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

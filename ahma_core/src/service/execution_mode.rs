//! How a call relates to its command: who decides it, and how long the call waits.

use std::time::Duration;

use serde::Deserialize;

use super::context::CallStyle;

/// How long an `auto` call waits before it goes on in the background.
const AUTO_WAIT: Duration = Duration::from_secs(10);

/// How long a service may take to get ready before the call answers all the same.
const READY_WAIT: Duration = Duration::from_secs(45);

/// How a call relates to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExecutionMode {
    /// Answers with the result if that is there in a moment, else at once.
    Async,
    /// Answers with the result, unless that takes too long.
    Sync,
    /// Waits a little, then goes on in the background.
    Auto,
    /// Answers when it is ready; goes on until somebody ends it.
    Service,
}

impl CallStyle {
    /// How a call relates to its command: the operator decides before the caller, who decides before the tool.
    pub(super) fn mode(self, asked: Option<ExecutionMode>, usual: ExecutionMode) -> ExecutionMode {
        match (self.always_sync, asked) {
            // It has no result to wait for.
            (_, Some(ExecutionMode::Service)) => ExecutionMode::Service,
            (true, _) => ExecutionMode::Sync,
            (false, asked) => asked.unwrap_or(usual),
        }
    }

    /// How long a call waits for its result; for ever where there is no limit.
    pub(super) fn limit(self, mode: ExecutionMode) -> Option<Duration> {
        match mode {
            ExecutionMode::Async => Some(self.inline),
            ExecutionMode::Sync => self.sync_limit,
            ExecutionMode::Service => Some(READY_WAIT),
            ExecutionMode::Auto => Some(AUTO_WAIT),
        }
    }
}

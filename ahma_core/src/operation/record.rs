//! The state of an operation, and what is told about it.

use std::time::Duration;

use serde::Serialize;

use super::OperationId;

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// Waits for others to end.
    Queued,
    /// Its command runs.
    Running,
    /// Ended with exit code 0.
    Completed,
    /// Ended with another exit code, by a signal, or was not started.
    Failed,
    /// Stopped because somebody asked for it.
    Cancelled,
    /// Stopped at its deadline.
    TimedOut,
    /// The sandbox host died while it ran.
    Lost,
}

impl OperationState {
    /// Each of them.
    pub const ALL: [OperationState; 7] = [
        OperationState::Queued,
        OperationState::Running,
        OperationState::Completed,
        OperationState::Failed,
        OperationState::Cancelled,
        OperationState::TimedOut,
        OperationState::Lost,
    ];

    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        !matches!(self, OperationState::Queued | OperationState::Running)
    }

    /// The word clients see.
    pub fn name(self) -> &'static str {
        match self {
            OperationState::Queued => "queued",
            OperationState::Running => "running",
            OperationState::Completed => "completed",
            OperationState::Failed => "failed",
            OperationState::Cancelled => "cancelled",
            OperationState::TimedOut => "timed_out",
            OperationState::Lost => "lost",
        }
    }
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The final state.
    pub state: OperationState,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// Signal that ended the command.
    pub signal: Option<i32>,
    /// Why, where state and exit code do not say it.
    pub explanation: Option<String>,
    /// What its user should look at.
    pub warnings: Vec<String>,
}

impl Completion {
    /// An completion without exit code.
    pub fn of(state: OperationState, explanation: impl Into<Option<String>>) -> Self {
        Completion {
            state,
            exit_code: None,
            signal: None,
            explanation: explanation.into(),
            warnings: Vec::new(),
        }
    }
}

/// What clients are told about an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationRecord {
    /// Its name.
    pub operation_id: OperationId,
    /// The tool that was called.
    pub tool: String,
    /// Where it stands.
    pub state: OperationState,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// Signal that ended the command.
    pub signal: Option<i32>,
    /// From the start of the call to its end, or until now.
    pub duration_ms: u64,
    /// Bytes written so far.
    pub output_bytes: u64,
    /// Lines written so far.
    pub output_lines: u64,
    /// Whether a result shows only part of the output.
    pub truncated: bool,
    /// Where the command runs.
    pub working_directory: String,
}

/// Milliseconds, as many as fit.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

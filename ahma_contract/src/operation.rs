//! What is told about an operation, as plain data.

use serde::{Deserialize, Serialize};

use crate::OperationId;

/// The state of an operation. It moves from top to bottom and never back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// Waits for others to end, or for permission to run.
    Queued,
    /// At work.
    Running,
    /// Ended well; a process with exit code 0.
    Completed,
    /// Ended with another exit code, by a signal, or was not started.
    Failed,
    /// Stopped because somebody asked for it.
    Cancelled,
    /// Stopped at its deadline.
    TimedOut,
    /// Ended without its end being seen, such as when the sandbox host died.
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

/// What clients are told about an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

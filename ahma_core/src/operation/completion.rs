//! How an operation ended.

use super::OperationState;
use crate::denial::Denial;

/// The end of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The final state.
    pub state: OperationState,
    /// Exit code, where a process ended with one.
    pub exit_code: Option<i32>,
    /// Signal that ended the process, where one did.
    pub signal: Option<i32>,
    /// The reason, where state and exit code do not say it.
    pub explanation: Option<String>,
    /// What the user should look at.
    pub warnings: Vec<String>,
    /// Processes that were left running when the command had ended, and were ended with it.
    pub left_behind: u32,
    /// Where it was probably the sandbox that was in the way: what, and what its owner can do.
    pub denial: Option<Box<Denial>>,
}

impl Completion {
    /// An end without exit code.
    pub fn new(state: OperationState, explanation: impl Into<Option<String>>) -> Self {
        Completion {
            state,
            exit_code: None,
            signal: None,
            explanation: explanation.into(),
            warnings: Vec::new(),
            left_behind: 0,
            denial: None,
        }
    }

    /// The end of an operation that somebody cancelled.
    pub fn cancelled(reason: String) -> Self {
        Completion::new(OperationState::Cancelled, reason)
    }
}

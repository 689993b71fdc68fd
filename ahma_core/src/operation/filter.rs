//! Which operations are asked for.

use std::sync::Arc;

use super::{OperationHandle, OperationState};

/// Conditions that an operation has to meet, all of them. The default is met by every operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// Only the operation of this id.
    pub id: Option<String>,
    /// Only operations of tools whose names begin with one of these; empty means any tool.
    pub tools: Vec<String>,
    /// Only operations in this state.
    pub state: Option<OperationState>,
    /// Only operations that have not ended.
    pub unfinished: bool,
    /// Only operations that have ended, and whose result the client of this key asked for and has not been given.
    pub not_given_to: Option<Arc<str>>,
    /// At most this many, the newest.
    pub limit: Option<usize>,
}

impl OperationFilter {
    /// Every operation that has not ended.
    pub fn unfinished() -> Self {
        OperationFilter {
            unfinished: true,
            ..OperationFilter::default()
        }
    }

    pub(super) fn is_met_by(&self, operation: &OperationHandle) -> bool {
        let state = operation.state();
        let mut prefixes = self.tools.iter();
        self.id
            .as_ref()
            .is_none_or(|id| operation.id().as_str() == id)
            && (self.tools.is_empty()
                || prefixes.any(|prefix| operation.tool().starts_with(prefix.as_str())))
            && self.state.is_none_or(|wanted| wanted == state)
            && !(self.unfinished && state.is_final())
            && self.not_given_to.as_ref().is_none_or(|key| {
                state.is_final() && !operation.is_given() && operation.origin().key == *key
            })
    }
}

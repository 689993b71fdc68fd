//! Why a call is not answered as it was meant.

use std::fmt;

/// A call that is refused: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    message: String,
    hint: Option<String>,
}

impl CallError {
    /// What is wrong, as a lower-case fragment.
    pub fn new(message: impl Into<String>) -> Self {
        CallError {
            message: message.into(),
            hint: None,
        }
    }

    /// The same, with what to do about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        CallError {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What nobody reads: the SDK drops answers to calls that were cancelled.
    pub(crate) fn cancelled() -> Self {
        CallError::new("the call was cancelled")
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hint {
            Some(hint) => write!(formatter, "{}; {hint}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl std::error::Error for CallError {}

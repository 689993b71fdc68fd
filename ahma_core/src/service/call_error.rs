//! Why a call is not answered as it was meant.

use std::fmt;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::Value;

use crate::operation::AdmissionError;

/// What kind of error a result is, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments are wrong; others may be right.
    Validation,
    /// Not allowed, or not available here; the same call will not succeed.
    Refused,
    /// Too much at once; the same call may succeed later.
    Rate,
    /// Stopped at its deadline.
    Timeout,
    /// Ran, and did not succeed.
    Failed,
}

impl ErrorKind {
    /// The word programs see.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Validation => "validation",
            ErrorKind::Refused => "refused",
            ErrorKind::Rate => "rate",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Failed => "failed",
        }
    }
}

/// A call that is refused: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    protocol: Option<Box<ProtocolError>>,
}

/// What an error of the protocol has besides its message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProtocolError {
    code: i32,
    data: Option<Value>,
}

impl CallError {
    /// What is wrong with the arguments, as a lower-case fragment.
    pub fn new(message: impl Into<String>) -> Self {
        CallError::of_kind(ErrorKind::Validation, message)
    }

    /// What is not allowed, or not available here, as a lower-case fragment.
    pub fn refused(message: impl Into<String>) -> Self {
        CallError::of_kind(ErrorKind::Refused, message)
    }

    /// What could not be done although the call is right, as a lower-case fragment.
    pub fn failed(message: impl Into<String>) -> Self {
        CallError::of_kind(ErrorKind::Failed, message)
    }

    fn of_kind(kind: ErrorKind, message: impl Into<String>) -> Self {
        CallError {
            kind,
            message: message.into(),
            hint: None,
            protocol: None,
        }
    }

    /// An error of the protocol, which no result can stand for.
    pub(crate) fn of_protocol(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        CallError {
            protocol: Some(Box::new(ProtocolError { code, data })),
            ..CallError::failed(message)
        }
    }

    /// The error of the protocol that it is, if it is one.
    pub(crate) fn as_protocol(&self) -> Option<ErrorData> {
        let error = self.protocol.as_ref()?;
        let message = self.message.clone();
        Some(ErrorData::new(
            ErrorCode(error.code),
            message,
            error.data.clone(),
        ))
    }

    /// An operation that is not taken in.
    #[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
    pub(crate) fn not_admitted(why: AdmissionError) -> Self {
        let kind = match why {
            AdmissionError::Full(_) | AdmissionError::TooManyBytes => ErrorKind::Rate,
            AdmissionError::Stopping | AdmissionError::NoRandomness(_) => ErrorKind::Failed,
        };
        CallError::of_kind(kind, why.to_string())
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
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
        CallError::failed("the call was cancelled")
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

//! Why a request has no result. Tells apart what travelled badly, what the server refused, and what took too long.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// An error that a server gives as an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    /// Which error, by the numbers of JSON-RPC and MCP.
    pub code: i64,
    /// In words.
    pub message: String,
    /// Further facts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<Value>,
}

impl ErrorAnswer {
    /// An error of ours.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        ErrorAnswer {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// That we do not offer a method.
    pub fn no_method(method: &str) -> Self {
        ErrorAnswer::new(-32601, format!("`{method}` is not offered"))
    }

    /// Reads one as well as it can be read.
    pub(crate) fn parse(error: &RawValue) -> Self {
        serde_json::from_str(error.get()).unwrap_or_else(|_| {
            let shown: String = error.get().chars().take(200).collect();
            ErrorAnswer::new(-32603, format!("an error that cannot be read: {shown}"))
        })
    }
}

/// Why a request has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RequestError {
    /// It, or its answer, was lost on the way.
    #[error("{what}")]
    Transport {
        /// What happened.
        what: String,
        /// Whether the server may have received it.
        may_have_run: bool,
    },
    /// The server answered with an error.
    #[error("the server answered with error {}: {}", .0.code, .0.message)]
    Refused(ErrorAnswer),
    /// What the server answered is not an answer.
    #[error("the server's answer cannot be used: {0}")]
    BadAnswer(String),
    /// Nothing came in time.
    #[error("the server did not answer within {} seconds", .0.as_secs_f64())]
    Timeout(Duration),
    /// The server wants to know who asks.
    #[error("the server wants a token, or another one than it was shown")]
    Unauthorized {
        /// Its challenge, as it gave it.
        challenge: Option<String>,
    },
    /// The server refuses, and asks nobody to sign in (status 403); with what it said.
    #[error("the server refuses this with status 403 Forbidden: {0}")]
    Forbidden(String),
    /// The server does not know the session any more.
    #[error("the server has forgotten the session")]
    SessionGone,
}

impl RequestError {
    /// Whether it is certain that the server did nothing of what was asked.
    pub fn has_not_run(&self) -> bool {
        match self {
            RequestError::Transport { may_have_run, .. } => !may_have_run,
            RequestError::Unauthorized { .. } | RequestError::SessionGone => true,
            // Something between may have refused the answer only.
            RequestError::Forbidden(_)
            | RequestError::Refused(_)
            | RequestError::BadAnswer(_)
            | RequestError::Timeout(_) => false,
        }
    }

    /// Whether another try may help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            RequestError::Transport { .. } | RequestError::Timeout(_)
        )
    }

    pub(crate) fn lost(what: impl Into<String>) -> Self {
        RequestError::Transport {
            what: what.into(),
            may_have_run: true,
        }
    }

    pub(crate) fn not_sent(what: impl Into<String>) -> Self {
        RequestError::Transport {
            what: what.into(),
            may_have_run: false,
        }
    }
}

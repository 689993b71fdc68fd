//! Questions that a server behind this one has for the client whose call it works on: elicitation. How the client is reached
//! is somebody else's.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// How the client of a call can be asked something. The two lifecycles do it differently, and cannot be translated into one
/// another: a question of one is answered within the call, a question of the other ends it.
#[derive(Debug, Clone)]
pub enum Asking {
    /// It cannot, for this reason.
    Never(&'static str),
    /// 2025-11-25 and earlier: by a request while the call is open.
    ByRequest(Arc<dyn AskClient>),
    /// 2026-07-28: by a result, after which the call is made again with the answers.
    ByResult {
        /// What the client declares under `elicitation`.
        capability: Value,
        /// `inputResponses` and `requestState` of the call, as far as it has them.
        answers: Map<String, Value>,
    },
}

/// A client that can be asked.
pub trait AskClient: fmt::Debug + Send + Sync {
    /// What tells it apart from other clients.
    fn key(&self) -> &str;

    /// Whether it opens URLs for questions.
    fn takes_urls(&self) -> bool;

    /// Asks it: the parameters of `elicitation/create`, and its result. Dropping the future takes the question back.
    fn ask(&self, params: Value) -> BoxFuture<'static, Result<Value, AskError>>;
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskError {
    /// Which error, by the numbers of JSON-RPC and MCP.
    pub code: i32,
    /// In words.
    pub message: String,
}

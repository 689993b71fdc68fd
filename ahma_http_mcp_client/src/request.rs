//! A request as its caller states it. What the protocol wants beside it is added by the conversation.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::exchange::OnProgress;
use crate::message::Params;

/// One request.
pub struct Request<'r> {
    /// What is asked for.
    pub method: &'r str,
    /// With what; `_meta` apart.
    pub params: Params,
    /// What stands in `_meta` beside what the protocol wants there.
    pub meta: Map<String, Value>,
    /// Who hears of its progress.
    pub progress: Option<OnProgress>,
    /// How long it may take; as usual, when nothing is said.
    pub timeout: Option<Duration>,
    /// Whether it may be sent again when it was lost on the way: it changes nothing.
    pub may_repeat: bool,
    /// What the server may ask of us because of it, where each request says so; as always, when nothing is said.
    pub capabilities: Option<Value>,
}

impl<'r> Request<'r> {
    /// A request that changes nothing.
    pub fn new(method: &'r str, params: Params) -> Self {
        Request {
            method,
            params,
            meta: Map::new(),
            progress: None,
            timeout: None,
            may_repeat: true,
            capabilities: None,
        }
    }

    /// The call of a tool, which is never sent twice.
    pub fn call(tool: &str, arguments: &RawValue) -> Self {
        let params = Params::new()
            .with("name", tool)
            .with("arguments", arguments);
        Request {
            may_repeat: false,
            ..Request::new("tools/call", params)
        }
    }
}

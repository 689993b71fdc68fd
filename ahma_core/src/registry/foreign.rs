//! Tools that other servers run: what the engine has to know of them. How they are reached is somebody else's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ahma_transport::SessionHandle;
use futures_util::future::BoxFuture;
use rmcp::model::Tool;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::asking::Asking;
use super::content_lists::{ContentError, ContentLists, ContentRequest};
use super::foreign_state::{ServerConfig, ServerEvent};

/// A tool that another server runs.
pub trait ForeignTool: fmt::Debug + Send + Sync {
    /// The server, by its name here.
    fn server(&self) -> &str;

    /// The tool, by its name there.
    fn name(&self) -> &str;

    /// How long a call may take.
    fn timeout(&self) -> Duration;

    /// Whether a call may say how it is answered: the tool itself has no such argument, and promises no shape of its results.
    fn takes_mode(&self) -> bool;

    /// Calls it. Dropping the future gives the call up.
    fn call(&self, call: ForeignCall) -> BoxFuture<'static, Result<ForeignResult, ForeignError>>;
}

/// A call of such a tool.
pub struct ForeignCall {
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What of the caller's `_meta` is for the server.
    pub meta: Map<String, Value>,
    /// The session of its client, where it has one that can end before the server does.
    pub session: Option<SessionHandle>,
    /// Hears of its progress.
    pub progress: Option<Box<dyn FnMut(ForeignProgress) + Send + Sync>>,
    /// How the server can ask the client something meanwhile.
    pub asking: Asking,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignProgress {
    /// How much is done.
    pub progress: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// The result of a call as the server gave it.
#[derive(Debug, Clone)]
pub struct ForeignResult(pub Map<String, Value>);

/// Why a call has no result.
#[derive(Debug, Clone)]
pub enum ForeignError {
    /// The server could not be reached, or was lost; with what to do.
    Unavailable(String),
    /// The server answered with an error of the protocol.
    Refused(String),
    /// The call was not passed on; with what to do.
    Held(String),
    /// Somebody has to sign in to the server first.
    NeedsSignIn {
        /// What to do.
        why: String,
        /// What has to be opened for it. It is for whoever called, and for no log.
        url: Option<String>,
    },
}

impl fmt::Display for ForeignError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignError::Unavailable(why)
            | ForeignError::Refused(why)
            | ForeignError::Held(why)
            | ForeignError::NeedsSignIn { why, .. } => formatter.write_str(why),
        }
    }
}

/// One tool that is offered.
#[derive(Debug, Clone)]
pub struct ForeignDefinition {
    /// As far as the SDK knows its fields.
    pub tool: Arc<Tool>,
    /// With all of its fields, where the SDK does not know them all. JSON text, which takes less room than values.
    pub whole: Option<Arc<str>>,
    /// Who runs it.
    pub runner: Arc<dyn ForeignTool>,
    /// Whether it is listed.
    pub is_listed: bool,
}

/// All servers of a program that stand behind it.
pub trait ForeignServers: Send + Sync {
    /// What they offer, now and later.
    fn tools(&self) -> watch::Receiver<Arc<[ForeignDefinition]>>;

    /// What they offer beside tools, now and later.
    fn content(&self) -> watch::Receiver<Arc<ContentLists>>;

    /// Has the server that offers it answer, which is told this `_meta`; none where no server does. Dropping the future
    /// gives the request up. The session is that of the client, as for a call.
    fn fetch(
        &self,
        request: ContentRequest,
        meta: Map<String, Value>,
        session: Option<SessionHandle>,
    ) -> Option<BoxFuture<'static, Result<ForeignResult, ContentError>>>;

    /// What they say for the log from now on: the parameters of messages, whose loggers begin with the server's name. Who does
    /// not listen fast enough misses some.
    fn messages(&self) -> broadcast::Receiver<Arc<Map<String, Value>>>;

    /// Waits until it is known of each what it offers, or that it does not say so.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// What happens to them from now on. Who does not listen fast enough misses some, and is told how many.
    fn events(&self) -> broadcast::Receiver<ServerEvent>;

    /// Where those that run and are reached over HTTP are, by their names.
    fn server_configs(&self) -> BTreeMap<String, ServerConfig>;

    /// What the operator should know of each.
    fn describe(&self) -> Value;

    /// Whether there is none now. There may be some later.
    fn is_empty(&self) -> bool;

    /// Where they are named, and what is wrong there; null where nobody has named any.
    fn describe_source(&self) -> Value;
}

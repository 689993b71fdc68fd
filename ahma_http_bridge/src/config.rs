//! What the operator decided.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::Token;
use ahma_transport::MessageTrace;
use axum::Router;
use futures_util::future::BoxFuture;
use rmcp::model::{Prompt, Resource, Tool};
use serde_json::{Map, Value};

use crate::origin::Origin;

/// How a server is reached and by whom.
#[derive(Clone)]
pub struct BridgeConfig {
    /// The secret that callers show, but for workspaces; none means that everybody on this machine may call.
    pub token: Option<Token>,
    /// Web pages of these origins may call.
    pub origins: Vec<Origin>,
    /// How much.
    pub limits: Limits,
    /// Where messages are shown.
    pub trace: Option<MessageTrace>,
    /// What is behind the bridge beside the handlers.
    pub backend: Arc<dyn Backend>,
    /// Workspaces, each served at `/mcp/w/NAME`.
    pub workspaces: Vec<WorkspaceRoute>,
    /// Further routes. Like those of the bridge they are behind the checks of `Host` and `Origin` and want the token.
    pub routes: Router,
    /// What callers are told to do about limits that the operator can change.
    pub hints: Hints,
}

/// Where a workspace is served, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRoute {
    /// Its name.
    pub name: String,
    /// The secret that its callers show, which opens nothing else; none means that everybody on this machine may call.
    pub token: Option<Token>,
}

/// What the program around the bridge knows and the bridge does not.
pub trait Backend: Send + Sync {
    /// What `/health` tells beside what the bridge knows.
    fn health(&self) -> Map<String, Value> {
        Map::new()
    }

    /// What `/tools` lists.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// What `/resources` lists.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// What `/prompts` lists.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// Gets a workspace ready for requests, or says why that cannot be. Called before every request to it.
    fn activate_workspace(&self, _name: &str) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A backend that knows nothing.
impl Backend for () {}

/// Advice for callers, in the words of the program that runs the bridge.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    /// When requests come too fast.
    pub raise_rate: &'static str,
    /// When a web page of a foreign origin calls.
    pub allow_origin: &'static str,
    /// When too many sessions are open.
    pub raise_sessions: &'static str,
    /// When there is no workspace of that name.
    pub declare_workspace: &'static str,
}

impl Default for Hints {
    fn default() -> Self {
        Hints {
            raise_rate: "the operator can raise the limit",
            allow_origin: "the operator can allow that",
            raise_sessions: "ask the operator to allow more",
            declare_workspace: "the operator declares them",
        }
    }
}

/// How much is too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sessions that are open at the same time.
    pub sessions: usize,
    /// A session that nobody uses for this long ends, unless a stream is open or something of it runs.
    pub idle: Duration,
    /// A session whose client never says that it is ready ends after this time.
    pub unready: Duration,
    /// Requests of a session that are in work at the same time.
    pub requests: usize,
    /// Requests per time; none means as many as come.
    pub rate: Option<RateLimit>,
    /// Bytes of a request.
    pub body: usize,
    /// Bytes of the requests of a session that are in progress at the same time.
    pub session_bytes: usize,
    /// The same of all callers.
    pub all_bytes: usize,
    /// Connections that are open at the same time.
    pub connections: usize,
    /// Those among them that have not shown the token; the oldest gives way to another one.
    pub strangers: usize,
    /// How long such a connection may be open.
    pub stranger_timeout: Duration,
    /// How often `/health` is answered to those who do not show the token.
    pub health_rate: RateLimit,
    /// How long the head of a request may take, and a connection may be idle.
    pub head_timeout: Duration,
    /// How long the rest of a request may take.
    pub body_timeout: Duration,
    /// How long an answer may wait for its reader without a byte being taken.
    pub write_timeout: Duration,
}

/// A rate, and how much may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// In the long run.
    pub per_second: NonZeroU32,
    /// At once.
    pub burst: NonZeroU32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            sessions: 1000,
            idle: Duration::from_secs(30 * 60),
            unready: Duration::from_secs(60),
            requests: 1200,
            rate: None,
            body: 4 * 1024 * 1024,
            session_bytes: 32 * 1024 * 1024,
            all_bytes: 256 * 1024 * 1024,
            connections: 4000,
            strangers: 1000,
            stranger_timeout: Duration::from_secs(5),
            health_rate: RateLimit {
                per_second: NonZeroU32::MIN.saturating_add(199),
                burst: NonZeroU32::MIN.saturating_add(199),
            },
            head_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(120),
        }
    }
}

impl Default for BridgeConfig {
    fn default() -> Self {
        BridgeConfig {
            token: None,
            origins: Vec::new(),
            limits: Limits::default(),
            trace: None,
            backend: Arc::new(()),
            workspaces: Vec::new(),
            routes: Router::new(),
            hints: Hints::default(),
        }
    }
}

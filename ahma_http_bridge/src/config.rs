//! What the operator decided.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::echo::MessageTrace;
use crate::origin::Origin;
use crate::token::Token;

/// How a server is reached and by whom.
#[derive(Clone)]
pub struct BridgeConfig {
    /// The secret that callers show; none means that everybody on this machine may call.
    pub token: Option<Token>,
    /// Web pages of these origins may call.
    pub origins: Vec<Origin>,
    /// How much.
    pub limits: Limits,
    /// Where messages are shown.
    pub echo: Option<MessageTrace>,
    /// What `/health` tells beside what is known here.
    pub health: Arc<dyn Fn() -> Map<String, Value> + Send + Sync>,
    /// Names of workspaces, each served at `/mcp/w/NAME`.
    pub workspaces: Vec<String>,
    /// Gets a workspace ready to be asked for handlers, or says why that cannot be.
    pub prepare: WorkspaceActivator,
}

/// Gets the workspace of a name ready; asked before every request to it.
pub type WorkspaceActivator =
    Arc<dyn Fn(&str) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

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
    /// Connections that are open at the same time.
    pub connections: usize,
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
            connections: 4000,
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
            echo: None,
            health: Arc::new(Map::new),
            workspaces: Vec::new(),
            prepare: Arc::new(|_| Box::pin(std::future::ready(Ok(())))),
        }
    }
}

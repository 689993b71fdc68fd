//! Where MCP is spoken: `/mcp`, and a path for each workspace. What is open at one is unknown at the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use ahma_transport::{CatchPanic, SessionHandle};
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::admission::Rate;
use crate::bytes_in_work::BytesInWork;
use crate::config::{Limits, WorkspaceRoute};
use crate::handshake;
use crate::long_messages::LongMessages;
use crate::problem::Problem;
use crate::request_id::name_of;
use crate::sdk::{self, Protocol};
use crate::sessions::Sessions;
use crate::workspace_path::workspace_name;

/// How often an open stream that says nothing shows that it is open.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// Who a handler is for.
#[derive(Debug, Clone, Copy)]
pub struct HandlerRequest<'a> {
    /// The workspace that is spoken to; none at `/mcp`.
    pub workspace: Option<&'a str>,
    /// The session; none for a single request.
    pub session: Option<&'a SessionHandle>,
}

/// One of them.
pub(crate) struct Endpoint {
    pub(crate) protocol: Protocol,
    pub(crate) sessions: Arc<Sessions>,
    /// Its name, when it is a workspace.
    pub(crate) workspace: Option<String>,
    /// Of requests that are in progress.
    pub(crate) bytes: BytesInWork,
    pub(crate) long_messages: LongMessages,
    /// Of connections that showed its token.
    pub(crate) connections: Arc<Semaphore>,
    /// Of callers without a session.
    rate: Option<Rate>,
}

impl Endpoint {
    /// Counts a request that belongs to no session.
    pub(crate) fn count_sessionless(&self) -> Result<(), Problem> {
        self.rate.as_ref().map_or(Ok(()), Rate::count)
    }
}

/// All of them.
pub(crate) struct Endpoints {
    plain: Endpoint,
    workspaces: HashMap<String, Endpoint>,
}

impl Endpoints {
    /// The plain one, and one for each workspace. Their handlers come from one place.
    pub(crate) fn new<H>(
        workspaces: &[WorkspaceRoute],
        limits: &Limits,
        rate_hint: &'static str,
        ending: &CancellationToken,
        handler: impl Fn(HandlerRequest<'_>) -> H + Send + Sync + 'static,
    ) -> Self
    where
        H: ServerHandler + Send + 'static,
    {
        let handler =
            Arc::new(move |request: HandlerRequest<'_>| CatchPanic::new(handler(request), name_of));
        let all = Arc::<AtomicUsize>::default();
        let long_messages = LongMessages::new();
        // Each has its part, so that the token of one keeps nobody out who has that of another.
        let connections =
            limits.connections.saturating_sub(limits.strangers) / (workspaces.len() + 1);
        let endpoint = |workspace: Option<String>| {
            let mut sdk = StreamableHttpServerConfig::default()
                .with_sse_keep_alive(Some(SIGN_OF_LIFE))
                // Sessions see to that, for clients that know what it means.
                .with_sse_retry(None)
                // `origin` has checked, and more closely.
                .disable_allowed_hosts()
                .with_cancellation_token(ending.clone());
            sdk.max_request_body_bytes = limits.body;
            let (of_sessions, of_requests) = (Arc::clone(&handler), Arc::clone(&handler));
            let (here, there) = (workspace.clone(), workspace.clone());
            let serve = handshake::serving(move |session| {
                of_sessions(HandlerRequest {
                    workspace: here.as_deref(),
                    session: Some(session),
                })
            });
            let sessions = Arc::new(Sessions::new(
                limits.clone(),
                rate_hint,
                Arc::clone(&all),
                serve,
            ));
            let factory = move || {
                Ok(of_requests(HandlerRequest {
                    workspace: there.as_deref(),
                    session: None,
                }))
            };
            let service = StreamableHttpService::new(factory, Arc::clone(&sessions), sdk);
            Endpoint {
                protocol: sdk::protocol(service),
                sessions,
                workspace,
                bytes: BytesInWork::new(limits.all_bytes / 4),
                long_messages: long_messages.of_another(),
                connections: Arc::new(Semaphore::new(connections.max(1))),
                rate: limits.rate.map(|rate| Rate::new(rate, rate_hint)),
            }
        };
        let named = workspaces.iter();
        Endpoints {
            workspaces: named
                .map(|it| (it.name.clone(), endpoint(Some(it.name.clone()))))
                .collect(),
            plain: endpoint(None),
        }
    }

    /// The one at `/mcp`.
    pub(crate) fn plain(&self) -> &Endpoint {
        &self.plain
    }

    /// The one of a workspace.
    pub(crate) fn workspace(&self, name: &str) -> Option<&Endpoint> {
        self.workspaces.get(name)
    }

    /// The one that a path belongs to.
    pub(crate) fn at(&self, path: &str) -> &Endpoint {
        let workspace = workspace_name(path).and_then(|name| self.workspaces.get(name));
        workspace.unwrap_or(&self.plain)
    }

    /// Sessions that are open at the plain endpoint, or in a workspace.
    pub(crate) fn count(&self, workspace: Option<&str>) -> usize {
        let endpoint = match workspace {
            Some(name) => self.workspaces.get(name),
            None => Some(&self.plain),
        };
        endpoint.map_or(0, |it| it.sessions.count())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Endpoint> {
        [&self.plain].into_iter().chain(self.workspaces.values())
    }
}

//! How this server is reached, as far as clients are told.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ahma_contract::ServerAddress;

/// The transports of a server, and who is told of them.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// `stdio`, `http` or `dual`.
    pub(crate) mode: &'static str,
    /// Known once it listens.
    pub(crate) http: Arc<OnceLock<HttpEndpoint>>,
    visibility: Visibility,
}

/// Who is told. Nobody is told of others than those they share a scope with.
#[derive(Debug, Clone)]
enum Visibility {
    /// Those who share the server's own scope; whether sessions over HTTP are among them.
    Own { with_http: bool },
    /// Those of a workspace.
    Workspace(String),
    /// One session.
    Session,
}

/// Its HTTP side.
pub struct HttpEndpoint {
    /// Where it listens.
    pub address: ServerAddress,
    /// Tells how many sessions are open at `/mcp`, or in a workspace.
    pub sessions: CountSessions,
}

/// Counts the sessions of a workspace, or of none.
pub(crate) type CountSessions = Box<dyn Fn(Option<&str>) -> usize + Send + Sync>;

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpEndpoint({})", self.address)
    }
}

impl EndpointInfo {
    /// Of this kind, not listening yet. Without isolation, sessions over HTTP share the server's own scope.
    pub fn new(mode: &'static str, is_isolated: bool) -> Self {
        EndpointInfo {
            mode,
            http: Arc::default(),
            visibility: Visibility::Own {
                with_http: !is_isolated,
            },
        }
    }

    /// `stdio`, `http` or `dual`.
    #[cfg(feature = "cli")]
    pub(crate) fn mode(&self) -> &'static str {
        self.mode
    }

    /// The same server, seen by one session with a scope of its own.
    pub fn of_session(other: &EndpointInfo) -> Self {
        EndpointInfo {
            visibility: Visibility::Session,
            ..other.clone()
        }
    }

    /// The same server, seen from a workspace.
    pub fn of_workspace(other: &EndpointInfo, name: &str) -> Self {
        EndpointInfo {
            visibility: Visibility::Workspace(name.to_owned()),
            ..other.clone()
        }
    }

    /// Where clients go, without a key.
    pub(super) fn url(&self) -> Option<String> {
        let address = &self.http.get()?.address;
        Some(match &self.visibility {
            Visibility::Workspace(name) => address.url(&format!("/mcp/w/{name}")),
            Visibility::Own { .. } | Visibility::Session => address.url("/mcp"),
        })
    }

    /// Whether the whole server is theirs.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.visibility, Visibility::Own { with_http: true })
    }

    /// Clients that share the scope: the one on stdio, and sessions over HTTP.
    pub(super) fn sessions(&self) -> usize {
        let over_http = |workspace| self.http.get().map_or(0, |http| (http.sessions)(workspace));
        match &self.visibility {
            Visibility::Own { with_http } => {
                let on_stdio = usize::from(self.mode != "http");
                on_stdio + if *with_http { over_http(None) } else { 0 }
            }
            Visibility::Workspace(name) => over_http(Some(name)),
            Visibility::Session => 1,
        }
    }
}

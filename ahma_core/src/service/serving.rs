//! How this server is reached, as far as it tells.

use std::fmt;
use std::net::SocketAddr;
use std::sync::OnceLock;

/// The transports of a server.
#[derive(Debug)]
pub struct Serving {
    /// `stdio`, `http` or `dual`.
    pub mode: &'static str,
    /// Known once it listens.
    pub http: OnceLock<HttpServing>,
}

/// Its HTTP side.
pub struct HttpServing {
    /// Where it listens.
    pub address: SocketAddr,
    /// Tells how many sessions are open.
    pub sessions: Box<dyn Fn() -> usize + Send + Sync>,
}

impl fmt::Debug for HttpServing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpServing({})", self.address)
    }
}

impl HttpServing {
    /// Where clients go, without a key.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Serving {
    /// Of this kind, not listening yet.
    pub fn new(mode: &'static str) -> Self {
        Serving {
            mode,
            http: OnceLock::new(),
        }
    }

    /// Clients that are connected: the one on stdio, and sessions over HTTP.
    pub(super) fn sessions(&self) -> usize {
        let on_stdio = usize::from(self.mode != "http");
        on_stdio + self.http.get().map_or(0, |http| (http.sessions)())
    }
}

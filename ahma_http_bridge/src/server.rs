//! Connections: how many, for how long, and how they end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::ServerAddress;
use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rmcp::ServerHandler;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bind::Bound;
use crate::config::{BridgeConfig, Limits};
use crate::endpoint::{Endpoints, HandlerRequest};
use crate::listener::{BoundListener, Listener, Stream, refuse};
use crate::log_throttle::LogThrottle;
use crate::router::router;
use crate::sessions;
use crate::socket_file::SocketFile;
use crate::state::BridgeState;
use crate::strangers::Strangers;
use crate::write_timeout::WriteTimeout;

/// How long no connection is taken when the system has none to give.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);
/// What is held of a request whose head has not come to its end.
const MAX_HEAD_BYTES: usize = 32 * 1024;
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/json\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 110\r\n\r\n\
    {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"too many connections are open; close some, and try again\"}}";

/// A server that takes requests.
pub struct HttpServer {
    bridge: BridgeState,
    connections: TaskTracker,
    /// Connections close when what they serve is answered.
    closing: CancellationToken,
    /// Every stream ends, answered or not.
    ending: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
    /// Goes with the server.
    _socket: Option<SocketFile>,
}

impl HttpServer {
    /// Serves with a handler for each session, of which it is told, and for each request that belongs to none. It
    /// accepts when this returns.
    pub fn start<H>(
        bound: Bound,
        config: BridgeConfig,
        handler: impl Fn(HandlerRequest<'_>) -> H + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        H: ServerHandler + Send + 'static,
    {
        let Bound {
            address,
            listeners,
            is_localhost,
            file,
        } = bound;
        let listeners = listeners.into_iter().map(BoundListener::start);
        let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        let ending = CancellationToken::new();
        let endpoints = Endpoints::new(
            &config.workspaces,
            &config.limits,
            config.hints.raise_rate,
            &ending,
            handler,
        );
        let origins = config.origins.clone();
        let limits = config.limits.clone();
        let further = config.routes.clone();
        let bridge = BridgeState::new(config, address, is_localhost, endpoints);
        let (connections, closing) = (TaskTracker::new(), CancellationToken::new());
        let accepting = Arc::new(Accepting {
            router: router(&bridge, &origins, further),
            connections: connections.clone(),
            closing: closing.clone(),
            free: Arc::new(Semaphore::new(limits.connections)),
            strangers: Arc::new(Strangers::new(limits.strangers)),
            refusals: LogThrottle::default(),
            limits,
        });
        let mut tasks = Vec::new();
        for listener in listeners {
            let (stopping, accepting) = (bridge.stopping.clone(), Arc::clone(&accepting));
            tasks.push(tokio::spawn(async move {
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = accepting.accept(listener) => {}
                }
            }));
        }
        for endpoint in bridge.endpoints.all() {
            let sessions = Arc::clone(&endpoint.sessions);
            tasks.push(tokio::spawn(sessions::end_unused(sessions)));
        }
        Ok(HttpServer {
            bridge,
            connections,
            closing,
            ending,
            tasks,
            _socket: file,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &ServerAddress {
        &self.bridge.address
    }

    /// Tells how many sessions are open at `/mcp`, or in a workspace.
    pub fn session_count(&self) -> impl Fn(Option<&str>) -> usize + Send + Sync + 'static {
        // Weak: the closure is stored where the bridge may keep it alive.
        let bridge = self.bridge.downgrade();
        move |workspace| {
            bridge
                .upgrade()
                .map_or(0, |it| it.endpoints.count(workspace))
        }
    }

    /// Takes no connection and no request any more. What is in work goes on.
    pub fn stop_taking(&self) {
        self.bridge.stopping.cancel();
    }

    /// Ends when what is in work is answered, and in any case after a time.
    pub async fn finish(self, timeout: Duration) {
        self.stop_taking();
        for endpoint in self.bridge.endpoints.all() {
            endpoint.sessions.close_notifications();
        }
        self.closing.cancel();
        self.connections.close();
        if tokio::time::timeout(timeout, self.connections.wait())
            .await
            .is_err()
        {
            tracing::info!("connections that are still open are closed");
        }
        self.ending.cancel();
        for endpoint in self.bridge.endpoints.all() {
            endpoint.sessions.end_all();
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.ending.cancel();
        for task in &self.tasks {
            task.abort();
        }
    }
}

struct Accepting {
    router: Router,
    connections: TaskTracker,
    closing: CancellationToken,
    free: Arc<Semaphore>,
    strangers: Arc<Strangers>,
    refusals: LogThrottle,
    limits: Limits,
}

impl Accepting {
    async fn accept(&self, listener: Listener) {
        loop {
            match listener.accept().await {
                Ok(stream) => self.take(stream),
                Err(error) => {
                    tracing::warn!("a connection could not be taken: {error}");
                    if !is_of_the_connection(&error) {
                        sleep(OUT_OF_DESCRIPTORS).await;
                    }
                }
            }
        }
    }

    fn take(&self, stream: Stream) {
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            if let Some(more) = self.refusals.next() {
                tracing::warn!(more, "too many connections are open");
            }
            refuse(&stream, TOO_MANY_CONNECTIONS);
            return;
        };
        let stream = WriteTimeout::new(stream, self.limits.write_timeout);
        let (whose, strangers) = (self.strangers.come(), Arc::clone(&self.strangers));
        let (asking, router) = (whose.clone(), TowerToHyperService::new(self.router.clone()));
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(asking.clone());
            router.call(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(MAX_HEAD_BYTES);
        // In a box, because what is handed to a task is kept twice.
        let mut connection = Box::pin(http.serve_connection(TokioIo::new(stream), service));
        let closing = self.closing.clone();
        let stranger_timeout = self.limits.stranger_timeout;
        self.connections.spawn(async move {
            let time_is_up = async {
                sleep(stranger_timeout).await;
                if whose.is_known() {
                    std::future::pending::<()>().await;
                }
            };
            let served = tokio::select! {
                served = connection.as_mut() => served,
                () = whose.gives_way() => Ok(()),
                () = time_is_up => Ok(()),
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            strangers.go(&whose);
            if let Err(error) = served {
                tracing::debug!("a connection broke: {error}");
            }
            drop(permit);
        });
    }
}

/// Whether a failure concerns one connection only.
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_of_a_connection_has_the_length_it_says() {
        let text = String::from_utf8(TOO_MANY_CONNECTIONS.to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = format!("content-length: {}", body.len());
        assert!(head.lines().any(|line| line == length), "{length}");
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}

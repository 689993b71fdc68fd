//! A loopback port that waits for the answer of one sign-in. It takes no answer without the right `state`, and no more
//! connections than a browser makes. Must not know what becomes of an answer: it is told which page to show.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::HOST;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use reqwest::Url;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::page::Page;
use crate::auth::error::AuthError;
use crate::auth::redirect::Redirect;
use crate::secret::Secret;

/// Connections that are taken in all: a browser makes a few beside the one that counts.
const MAX_CONNECTIONS: usize = 64;
/// How long a connection may stay without a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a browser waits for its page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest request line and headers.
const MAX_HEAD: usize = 32 * 1024;

/// A port that waits.
pub(in crate::auth) struct CallbackListener {
    tcp: TcpListener,
    port: u16,
    path: String,
}

/// The answer of a sign-in, and the browser that brought it.
pub(in crate::auth) struct Arrival {
    pub(in crate::auth) redirect: Redirect,
    reply: Reply,
    /// Those that are still open; given up with this.
    _connections: JoinSet<()>,
}

/// How a browser is answered.
struct Reply {
    page: oneshot::Sender<Page>,
    /// Told when its connection has ended.
    shown: Arc<Notify>,
}

impl Arrival {
    /// Shows the browser what came of it.
    pub(in crate::auth) async fn show(self, page: Page) {
        let _ = self.reply.page.send(page);
        let _ = timeout(REQUEST_TIMEOUT, self.reply.shown.notified()).await;
    }
}

struct Waiting {
    state: Secret,
    port: u16,
    path: String,
    arrived: mpsc::Sender<(Redirect, Reply)>,
}

impl CallbackListener {
    /// Listens on a free port, or on that of a redirect URI. Gives the redirect URI, and no listener where it
    /// leads elsewhere.
    pub(in crate::auth) async fn bind(
        redirect_uri: Option<&Url>,
    ) -> Result<(Option<Self>, String), AuthError> {
        let listen = |redirect_uri: &str, error: std::io::Error| AuthError::Listen {
            redirect_uri: redirect_uri.to_owned(),
            what: error.to_string(),
        };
        let Some(uri) = redirect_uri else {
            let place = "http://127.0.0.1/callback";
            let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let tcp = tcp.map_err(|error| listen(place, error))?;
            let port = tcp
                .local_addr()
                .map_err(|error| listen(place, error))?
                .port();
            let path = "/callback".to_owned();
            let listener = CallbackListener { tcp, port, path };
            return Ok((Some(listener), format!("http://127.0.0.1:{port}/callback")));
        };
        let port = uri.port_or_known_default().unwrap_or(80);
        let address: SocketAddr = match (uri.scheme(), uri.host_str().unwrap_or_default()) {
            ("http", "localhost" | "127.0.0.1") => (Ipv4Addr::LOCALHOST, port).into(),
            ("http", "[::1]") => (Ipv6Addr::LOCALHOST, port).into(),
            _ => return Ok((None, uri.to_string())),
        };
        let tcp = TcpListener::bind(address).await;
        let tcp = tcp.map_err(|error| listen(uri.as_str(), error))?;
        let path = uri.path().to_owned();
        Ok((Some(CallbackListener { tcp, port, path }), uri.to_string()))
    }

    /// Waits for the answer that belongs to `state`.
    pub(in crate::auth) async fn arrival(&self, state: &Secret) -> Result<Arrival, AuthError> {
        let (arrived, mut arrivals) = mpsc::channel(1);
        let waiting = Arc::new(Waiting {
            state: state.clone(),
            port: self.port,
            path: self.path.clone(),
            arrived,
        });
        let mut connections = JoinSet::new();
        for _ in 0..MAX_CONNECTIONS {
            let stream = loop {
                tokio::select! {
                    biased;
                    Some((redirect, reply)) = arrivals.recv() => {
                        let _connections = connections;
                        return Ok(Arrival { redirect, reply, _connections });
                    }
                    Some(_) = connections.join_next() => {}
                    accepted = self.tcp.accept() => match accepted {
                        Ok((stream, _)) => break stream,
                        Err(error) => return Err(AuthError::Transient(error.to_string())),
                    },
                }
            };
            connections.spawn(serve(stream, Arc::clone(&waiting)));
        }
        Err(AuthError::Redirect(
            "too many others have come instead".to_owned(),
        ))
    }
}

async fn serve(stream: TcpStream, waiting: Arc<Waiting>) {
    let ended = Arc::new(Notify::new());
    let shown = Arc::clone(&ended);
    let answering = service_fn(move |request: Request<Incoming>| {
        let (waiting, shown) = (Arc::clone(&waiting), Arc::clone(&shown));
        async move { Ok::<_, Infallible>(waiting.answer(&request, shown).await) }
    });
    // A browser that goes away has no page to be shown.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answering)
        .await;
    ended.notify_one();
}

impl Waiting {
    async fn answer(
        &self,
        request: &Request<Incoming>,
        shown: Arc<Notify>,
    ) -> Response<Full<Bytes>> {
        let (status, text) = match self.taken(request) {
            Ok(redirect) => {
                let (page, decided) = oneshot::channel();
                let arrived = self.arrived.try_send((redirect, Reply { page, shown }));
                match (arrived, timeout(PAGE_TIMEOUT, decided).await) {
                    (Ok(()), Ok(Ok(page))) => return page.response(),
                    _ => (
                        StatusCode::CONFLICT,
                        "This sign-in has been answered already, or given up.",
                    ),
                }
            }
            Err(refusal) => refusal,
        };
        Page::refused(status, text).response()
    }

    fn taken(&self, request: &Request<Incoming>) -> Result<Redirect, (StatusCode, &'static str)> {
        let host = request.headers().get(HOST);
        let host = host.and_then(|it| it.to_str().ok()).unwrap_or_default();
        // A page of somebody else's must not reach this by a name of its own.
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let is_named = names
            .iter()
            .any(|name| host == format!("{name}:{}", self.port))
            || (self.port == 80 && names.contains(&host));
        if !is_named {
            return Err((StatusCode::MISDIRECTED_REQUEST, "This is not that host."));
        }
        if request.method() != Method::GET {
            return Err((
                StatusCode::METHOD_NOT_ALLOWED,
                "A browser is expected here.",
            ));
        }
        if request.uri().path() != self.path {
            return Err((StatusCode::NOT_FOUND, "There is nothing here."));
        }
        let query = request.uri().query().unwrap_or_default();
        Redirect::parse(query, &self.state).map_err(|_| {
            let text = "This is not the answer to the sign-in that is waiting. It may be an older page: sign in again.";
            (StatusCode::BAD_REQUEST, text)
        })
    }
}

//! Which request goes where, and what is true of all of them.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts as RequestParts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tracing::Instrument as _;

use crate::admission::Admission;
use crate::config::{BridgeConfig, Limits, WorkspaceActivator};
use crate::echo::MessageTrace;
use crate::endpoint::Endpoints;
use crate::log_throttle::LogThrottle;
use crate::mcp;
use crate::origin::Guard;
use crate::problem::Problem;
use crate::{lists, negotiation};

/// Names a request in the log and in its answer. What a caller sends under this name is replaced.
pub(crate) const REQUEST_ID_HEADER: &str = "x-request-id";
/// A longer path is cut in the log.
const MAX_PATH_LEN: usize = 100;
/// What is read of a request that was refused, and for how long.
const MAX_DRAINED: usize = 32 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
static REQUEST_ID: HeaderName = HeaderName::from_static(REQUEST_ID_HEADER);

/// Everything a request may need.
#[derive(Clone)]
pub(crate) struct Bridge(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) endpoints: Endpoints,
    pub(crate) prepare: WorkspaceActivator,
    pub(crate) admission: Admission,
    pub(crate) limits: Limits,
    pub(crate) echo: Option<MessageTrace>,
    pub(crate) health: Arc<dyn Fn() -> Map<String, Value> + Send + Sync>,
    pub(crate) address: SocketAddr,
    /// No request is taken any more.
    pub(crate) stopping: CancellationToken,
    guard: Guard,
    last_request: AtomicU64,
    refusals: LogThrottle,
}

impl Deref for Bridge {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Bridge {
    pub(crate) fn downgrade(&self) -> Weak<Parts> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn new(config: BridgeConfig, address: SocketAddr, endpoints: Endpoints) -> Self {
        Bridge(Arc::new(Parts {
            guard: Guard::new(address, &config.origins),
            admission: Admission::new(config.token, config.limits.rate),
            limits: config.limits,
            echo: config.echo,
            health: config.health,
            stopping: CancellationToken::new(),
            last_request: AtomicU64::new(0),
            refusals: LogThrottle::default(),
            prepare: config.prepare,
            endpoints,
            address,
        }))
    }
}

pub(crate) fn router(bridge: &Bridge, origins: &[crate::origin::Origin]) -> Router {
    let mut router = Router::new()
        .route("/mcp", any(admitted))
        .route("/mcp/", any(admitted))
        .route("/mcp/w/{name}", any(admitted))
        .route("/mcp/w/{name}/", any(admitted))
        .route("/tools", any(admitted))
        .route("/resources", any(admitted))
        .route("/prompts", any(admitted))
        .route("/health", any(lists::health))
        .fallback(nothing_here);
    if !origins.is_empty() {
        router = router.layer(cors(origins));
    }
    router
        .layer(from_fn_with_state(bridge.clone(), guarded))
        .layer(CatchPanicLayer::custom(|_| {
            let why = "the server made a mistake; its log says more";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }))
        .layer(from_fn_with_state(bridge.clone(), named))
        .with_state(bridge.clone())
}

/// Browsers ask before they let a page of an allowed origin call.
fn cors(origins: &[crate::origin::Origin]) -> CorsLayer {
    let origins = origins.iter();
    let origins = origins.filter_map(|it| HeaderValue::from_str(it.as_str()).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("mcp-session-id"),
            REQUEST_ID.clone(),
        ])
}

/// Gives a request a name, and writes down what came of it.
async fn named(State(bridge): State<Bridge>, mut request: Request, next: Next) -> Response {
    let number = bridge.last_request.fetch_add(1, Ordering::Relaxed) + 1;
    let mut buffer = String::with_capacity(12);
    let _ = std::fmt::Write::write_fmt(&mut buffer, format_args!("http-{number}"));
    let name = HeaderValue::try_from(buffer.as_str()).unwrap_or(HeaderValue::from_static("http"));
    request
        .headers_mut()
        .insert(REQUEST_ID.clone(), name.clone());
    let span = tracing::info_span!("request", id = buffer);
    let came = Instant::now();
    // Never the query: it may hold the token.
    let (method, path) = (request.method().clone(), request.uri().path());
    let path = path[..path.floor_char_boundary(MAX_PATH_LEN)].to_owned();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    let _entered = span.enter();
    let ms = came.elapsed().as_millis();
    match status {
        500.. => tracing::error!(%method, path, status, ms, "answered"),
        401 | 403 => {
            if let Some(more) = bridge.refusals.next() {
                tracing::warn!(%method, path, status, ms, more, "refused");
            }
        }
        _ => tracing::debug!(%method, path, status, ms, "answered"),
    }
    response.headers_mut().insert(REQUEST_ID.clone(), name);
    response
}

/// Lets nobody in who does not mean this server, and nobody at all when it stops.
async fn guarded(State(bridge): State<Bridge>, request: Request, next: Next) -> Response {
    if let Err(problem) = bridge.guard.check(request.uri(), request.headers()) {
        let counted = bridge.admission.count_unknown();
        return counted.err().unwrap_or(problem).into_response();
    }
    if bridge.stopping.is_cancelled() {
        let why = "the server stops";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let mut response = problem.into_response();
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    let response = next.run(request).await;
    in_json(response)
}

/// What needs the token.
async fn admitted(State(bridge): State<Bridge>, request: Request) -> Result<Response, Problem> {
    let (parts, mut body) = request.into_parts();
    let answered = answered(&bridge, parts, &mut body).await;
    if answered.is_err() {
        drain(body).await;
    }
    answered
}

async fn answered(
    bridge: &Bridge,
    mut parts: RequestParts,
    body: &mut Body,
) -> Result<Response, Problem> {
    bridge.admission.admit(&mut parts)?;
    let list = match parts.uri.path() {
        "/tools" => "tools",
        "/resources" => "resources",
        "/prompts" => "prompts",
        path => {
            let endpoint = bridge.endpoints.at(path).ok_or_else(no_such_workspace)?;
            return mcp::serve(bridge, endpoint, parts, body).await;
        }
    };
    lists::only_get(&parts)?;
    lists::list(bridge, list).await
}

/// Reads what is left of a request that was refused, as far as that goes quickly: a client that still sends when its
/// connection is closed never sees why.
async fn drain(mut body: Body) {
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await
            && read < MAX_DRAINED
        {
            read += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, reading).await;
}

fn no_such_workspace() -> Problem {
    let why = "there is no such workspace; the operator declares them with --workspace NAME=PATH";
    Problem::new(StatusCode::NOT_FOUND, why)
}

async fn nothing_here(State(bridge): State<Bridge>) -> Problem {
    if let Err(problem) = bridge.admission.count_unknown() {
        return problem;
    }
    Problem::new(
        StatusCode::NOT_FOUND,
        "there is nothing here; MCP is at /mcp, and /health, /tools, /resources and /prompts can be looked at",
    )
}

/// Errors that come from a library say nothing; their status is what there is to say.
fn in_json(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || negotiation::has_json(response.headers()) {
        return response;
    }
    let (parts, _) = response.into_parts();
    let reason = status.canonical_reason().unwrap_or("this is not served");
    let mut said = Problem::new(status, reason).into_response();
    let (headers, body): (_, Body) = {
        let (parts, body) = said.into_parts();
        (parts.headers, body)
    };
    said = Response::from_parts(parts, body);
    said.headers_mut().extend(headers);
    said
}

//! Every route, declared once, and what is true of all of them.
//!
//! ```text
//! name and log → panics → Host and Origin → stopping → token → route
//! ```

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http::header::{CONNECTION, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::drain::drain;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::request_id::REQUEST_ID;
use crate::request_log::name_request;
use crate::state::BridgeState;
use crate::strangers::Connection;
use crate::{health, lists, mcp, negotiation};

/// The routes of the bridge, and those that the program adds, which want the token too.
pub(crate) fn router(state: &BridgeState, origins: &[Origin], further: Router) -> Router {
    let with_token = Router::new()
        .route("/mcp", any(mcp::plain))
        .route("/mcp/", any(mcp::plain))
        .route("/mcp/w/{name}", any(mcp::workspace))
        .route("/mcp/w/{name}/", any(mcp::workspace))
        .route("/tools", any(lists::tools))
        .route("/resources", any(lists::resources))
        .route("/prompts", any(lists::prompts))
        .with_state(state.clone())
        .merge(further)
        .route_layer(from_fn_with_state(state.clone(), admit));
    let mut router = Router::new()
        .route("/health", any(health::health))
        .fallback(not_found)
        .with_state(state.clone())
        .merge(with_token);
    if !origins.is_empty() {
        router = router.layer(cors(origins));
    }
    router
        .layer(from_fn_with_state(state.clone(), guard))
        .layer(CatchPanicLayer::custom(|_| {
            let why = "internal error: the server failed to answer; its log has the details";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }))
        .layer(from_fn_with_state(state.clone(), name_request))
}

/// Browsers ask before they let a page of an allowed origin call.
fn cors(origins: &[Origin]) -> CorsLayer {
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

/// Middleware that refuses requests not meant for this server, and all of them once it stops.
async fn guard(State(state): State<BridgeState>, request: Request, next: Next) -> Response {
    if let Err(problem) = state.origin.check(request.uri(), request.headers()) {
        let counted = state.admission.count_unknown();
        return counted.err().unwrap_or(problem).into_response();
    }
    if state.stopping.is_cancelled() {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping");
        let mut response = problem.into_response();
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    let response = next.run(request).await;
    in_json(response)
}

/// Middleware that wants the token, and takes it out of the request.
async fn admit(State(state): State<BridgeState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match state.admission.admit(&mut parts) {
        Ok(()) => {
            if let Some(connection) = parts.extensions.get::<Connection>() {
                let endpoint = state.endpoints.at(parts.uri.path());
                connection.becomes_known(&endpoint.connections);
            }
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => {
            drain(body).await;
            problem.into_response()
        }
    }
}

async fn not_found(State(state): State<BridgeState>) -> Problem {
    if let Err(problem) = state.admission.count_unknown() {
        return problem;
    }
    Problem::new(
        StatusCode::NOT_FOUND,
        "there is nothing at this path; MCP is served at /mcp, and GET /health, /tools, /resources and /prompts \
         show what the server offers",
    )
}

/// Errors that come from a library have no text of ours; their status is all there is to say.
fn in_json(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || negotiation::has_json(response.headers()) {
        return response;
    }
    let (parts, _) = response.into_parts();
    let reason = status.canonical_reason().unwrap_or("this is not served");
    let (problem, body): (_, Body) = Problem::new(status, reason).into_response().into_parts();
    let mut response = Response::from_parts(parts, body);
    response.headers_mut().extend(problem.headers);
    response
}

//! Middleware that names every request and logs what came of it.

use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use tracing::Instrument as _;

use crate::request_id::REQUEST_ID;
use crate::state::BridgeState;

/// A longer path is cut in the log.
const MAX_PATH_LEN: usize = 100;

/// Names a request and logs its answer.
pub(crate) async fn name_request(
    State(state): State<BridgeState>,
    mut request: Request,
    next: Next,
) -> Response {
    let number = state.last_request.fetch_add(1, Ordering::Relaxed) + 1;
    let id = format!("http-{number}");
    let name = HeaderValue::try_from(id.as_str()).unwrap_or(HeaderValue::from_static("http"));
    request
        .headers_mut()
        .insert(REQUEST_ID.clone(), name.clone());
    let span = tracing::info_span!("request", id);
    let arrived = Instant::now();
    // Never the query: it may hold the token.
    let (method, path) = (request.method().clone(), request.uri().path());
    let path = path[..path.floor_char_boundary(MAX_PATH_LEN)].to_owned();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    let _entered = span.enter();
    let ms = arrived.elapsed().as_millis();
    match status {
        500.. => tracing::error!(%method, path, status, ms, "answered"),
        401 | 403 => {
            if let Some(more) = state.refusals.next() {
                tracing::warn!(%method, path, status, ms, more, "refused");
            }
        }
        _ => tracing::debug!(%method, path, status, ms, "answered"),
    }
    response.headers_mut().insert(REQUEST_ID.clone(), name);
    response
}

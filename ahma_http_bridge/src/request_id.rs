//! The name of a request, in its answer and in the log.

use axum::http::request::Parts;
use http::header::HeaderName;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// What a caller sends under this name is replaced.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name of the HTTP request around an MCP request.
pub(crate) fn name_of(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<Parts>();
    let header = parts.and_then(|parts| parts.headers.get(&REQUEST_ID)?.to_str().ok());
    header.map_or_else(|| format!("http-request-{}", context.id), str::to_owned)
}

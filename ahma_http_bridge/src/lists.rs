//! What people with curl look at: whether the server is well, and what it offers.

use axum::extract::{RawQuery, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Collected, Full};
use serde_json::{Value, json};

use crate::negotiation::{self, JSON};
use crate::problem::Problem;
use crate::router::Bridge;

/// A longer challenge is not answered.
const MAX_CHALLENGE_LEN: usize = 100;
const VERSION: &str = "2026-07-28";

/// `/health`: needs no token, and tells nothing that would need one.
pub(crate) async fn health(
    State(bridge): State<Bridge>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    // Not counted: whoever looks for the server must not be kept from it by others who do.
    let mut told = (bridge.health)();
    told.insert("status".to_owned(), json!("ok"));
    told.insert(
        "sessions".to_owned(),
        json!(
            bridge
                .endpoints
                .all()
                .map(|it| it.sessions.count())
                .sum::<usize>()
        ),
    );
    let query = query.unwrap_or_default();
    let mut pairs = query.split('&');
    let challenge = pairs.find_map(|pair| pair.strip_prefix("challenge="));
    let challenge = challenge.filter(|it| (1..=MAX_CHALLENGE_LEN).contains(&it.len()));
    if let (Some(token), Some(challenge)) = (bridge.admission.token(), challenge) {
        let proof = token.proof(bridge.address, challenge);
        told.insert("proof".to_owned(), json!(proof));
    }
    Ok(document(&Value::Object(told)))
}

/// `/tools` and the like: what a method lists, under a name.
pub(crate) async fn list(bridge: &Bridge, name: &'static str) -> Result<Response, Problem> {
    bridge.admission.count_known()?;
    let method = format!("{name}/list");
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": method,
        "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "http", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let failed = || {
        let why = format!("{name} could not be listed");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    };
    let request = Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header(HOST, bridge.address.to_string())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, JSON)
        .header("mcp-protocol-version", VERSION)
        .header("mcp-method", method)
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|_| failed())?;
    let response = (bridge.endpoints.plain().protocol)(request)
        .await
        .map(axum::body::Body::new);
    let response = negotiation::as_one_document(response).await;
    let response = response.ok_or_else(failed)?;
    let answer = response.into_body().collect().await;
    let answer = answer.map(Collected::to_bytes).map_err(|_| failed())?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|_| failed())?;
    let listed = answer["result"].get(name).ok_or_else(failed)?;
    Ok(document(&json!({ name: listed })))
}

fn document(value: &Value) -> Response {
    let mut response = format!("{value:#}\n").into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Lists are looked at, not changed.
pub(crate) fn only_get(parts: &Parts) -> Result<(), Problem> {
    match parts.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this is only looked at: use GET",
        )
        .allowing("GET")),
    }
}

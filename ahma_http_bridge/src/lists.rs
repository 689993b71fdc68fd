//! `/tools`, `/resources` and `/prompts`: what the server offers, for people with curl.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use crate::drain::drain;
use crate::negotiation::JSON;
use crate::problem::Problem;
use crate::state::BridgeState;

pub(crate) async fn tools(state: State<BridgeState>, request: Request) -> Response {
    list(
        state,
        request,
        |state| json!({ "tools": state.backend.tools() }),
    )
    .await
}

pub(crate) async fn resources(state: State<BridgeState>, request: Request) -> Response {
    list(
        state,
        request,
        |state| json!({ "resources": state.backend.resources() }),
    )
    .await
}

pub(crate) async fn prompts(state: State<BridgeState>, request: Request) -> Response {
    list(
        state,
        request,
        |state| json!({ "prompts": state.backend.prompts() }),
    )
    .await
}

async fn list(
    State(state): State<BridgeState>,
    request: Request,
    listed: impl FnOnce(&BridgeState) -> Value,
) -> Response {
    let (parts, body) = request.into_parts();
    let allowed = only_get(&parts).and_then(|()| state.endpoints.plain().count_sessionless());
    match allowed {
        Ok(()) => document(&listed(&state)),
        Err(problem) => {
            drain(body).await;
            problem.into_response()
        }
    }
}

fn only_get(parts: &Parts) -> Result<(), Problem> {
    match parts.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => {
            let why = "this list is read-only; use GET";
            Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, why).allowing("GET"))
        }
    }
}

/// A JSON document that people can read.
pub(crate) fn document(value: &Value) -> Response {
    let mut response = format!("{value:#}\n").into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

//! `/health`: whether the server is well, and the proof that it knows the token.

use axum::extract::{RawQuery, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::lists::document;
use crate::state::BridgeState;

/// A longer challenge is not answered.
const MAX_CHALLENGE_LEN: usize = 100;

/// Needs no token, and tells nothing that would need one.
pub(crate) async fn health(
    State(state): State<BridgeState>,
    RawQuery(query): RawQuery,
    request: Parts,
) -> Response {
    // Counted apart from other requests: whoever looks for the server must not be kept from it by those who want
    // something else, and who asks without end must not keep others from their answers.
    if let Err(problem) = state.admission.count_health(&request) {
        return problem.into_response();
    }
    let mut told = state.backend.health();
    let sessions: usize = state.endpoints.all().map(|it| it.sessions.count()).sum();
    told.insert("status".to_owned(), json!("ok"));
    told.insert("sessions".to_owned(), json!(sessions));
    let query = query.unwrap_or_default();
    let mut pairs = query.split('&');
    let challenge = pairs.find_map(|pair| pair.strip_prefix("challenge="));
    let challenge = challenge.filter(|it| (1..=MAX_CHALLENGE_LEN).contains(&it.len()));
    if let (Some(token), Some(challenge)) = (state.admission.token(), challenge) {
        let proof = token.proof(&state.address, challenge);
        told.insert("proof".to_owned(), json!(proof));
    }
    document(&Value::Object(told))
}

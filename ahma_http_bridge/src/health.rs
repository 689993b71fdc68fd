//! `/health`: whether the server is well, and the proof that it knows the token.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::{Value, json};

use crate::lists::document;
use crate::state::BridgeState;

/// A longer challenge is not answered.
const MAX_CHALLENGE_LEN: usize = 100;

/// Needs no token, and tells nothing that would need one.
pub(crate) async fn health(
    State(state): State<BridgeState>,
    RawQuery(query): RawQuery,
) -> Response {
    // Not counted: whoever looks for the server must not be kept from it by others who do.
    let mut told = state.backend.health();
    let sessions: usize = state.endpoints.all().map(|it| it.sessions.count()).sum();
    told.insert("status".to_owned(), json!("ok"));
    told.insert("sessions".to_owned(), json!(sessions));
    let query = query.unwrap_or_default();
    let mut pairs = query.split('&');
    let challenge = pairs.find_map(|pair| pair.strip_prefix("challenge="));
    let challenge = challenge.filter(|it| (1..=MAX_CHALLENGE_LEN).contains(&it.len()));
    if let (Some(token), Some(challenge)) = (state.admission.token(), challenge) {
        let proof = token.proof(state.address, challenge);
        told.insert("proof".to_owned(), json!(proof));
    }
    document(&Value::Object(told))
}

//! State that a client of 2026-07-28 carries between two calls, sealed so that it can neither be read nor changed on the way.

use std::sync::LazyLock;
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is sealed is of use for so long; no command waits any longer.
const LIFE: Duration = Duration::from_secs(15 * 60);

/// Made anew with every start of the server: no operation is older than that. None where the system has no random numbers.
static CODEC: LazyLock<Option<RequestStateCodec>> = LazyLock::new(|| {
    let mut key = [0; 32];
    getrandom::fill(&mut key).ok()?;
    RequestStateCodec::try_new(key).ok()
});

/// Seals a state that only calls for the same thing can open.
pub(super) fn seal<T: Serialize>(state: &T, what_for: &str) -> Option<String> {
    let options = SealOptions::new()
        .associated_data(what_for.as_bytes())
        .ttl(LIFE);
    CODEC.as_ref()?.seal_json_with(state, &options).ok()
}

/// Opens it again; none when it is not of this server, for something else, or too old.
pub(super) fn open<T: DeserializeOwned>(sealed: &str, what_for: &str) -> Option<T> {
    let codec = CODEC.as_ref()?;
    codec.open_json_with(sealed, what_for.as_bytes()).ok()
}

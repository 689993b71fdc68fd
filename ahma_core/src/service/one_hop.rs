//! What belongs to one hop of a message: it is neither for the server behind this one, nor from it for our client.

use serde_json::{Map, Value};

/// What is reserved for one hop stays on it.
pub(super) const RESERVED: &str = "io.modelcontextprotocol/";

/// Takes out of `_meta` what was meant for us.
pub(super) fn without_reserved(message: &mut Map<String, Value>) {
    if let Some(Value::Object(meta)) = message.get_mut("_meta") {
        meta.retain(|key, _| !key.starts_with(RESERVED));
    }
}

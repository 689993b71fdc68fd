//! The subscription to changes of lists, where a server tells them only to whoever asks for it: since 2026-07-28.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::client::Shared;
use crate::message::Params;
use crate::request_error::RequestError;

/// How long it is waited after a subscription that broke off; twice as long after each that did not last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// From when on one has lasted.
const LASTING: Duration = Duration::from_secs(60);
const METHOD: &str = "subscriptions/listen";

/// The lists that a server says it tells about.
pub(crate) fn filter(capabilities: &Value) -> Map<String, Value> {
    let tells = |list: &str| capabilities[list]["listChanged"] == true;
    ["tools", "prompts", "resources"]
        .into_iter()
        .filter(|list| tells(list))
        .map(|list| (format!("{list}ListChanged"), Value::Bool(true)))
        .collect()
}

/// Listens until it is stopped, the connection ends, or the server does not offer it.
pub(crate) fn listen(shared: Arc<Shared>, filter: Map<String, Value>) -> AbortHandle {
    let listening = tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            let params = Params::new().with("notifications", &filter);
            match shared.subscribe(METHOD, params).await {
                // The server has ended it, or it was lost on the way.
                Ok(_) | Err(RequestError::Transport { .. }) => {}
                Err(_) => return,
            }
            if shared.has_ended() {
                return;
            }
            if begun.elapsed() >= LASTING {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    });
    listening.abort_handle()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_server_tells_about_is_asked_for() {
        let capabilities =
            json!({ "tools": { "listChanged": true }, "prompts": {}, "logging": {} });
        let expected = json!({ "toolsListChanged": true });
        assert_eq!(Value::Object(filter(&capabilities)), expected);
        assert!(filter(&json!({})).is_empty());
    }
}

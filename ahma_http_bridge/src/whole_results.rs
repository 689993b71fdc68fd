//! Results of single requests that the SDK could not carry whole, put in the place of those it sends.
//!
//! In sessions [`RawResults`](ahma_transport::RawResults) does this; single requests are answered by the SDK's own service,
//! which sends only what it knows. Must not look into results.

use ahma_transport::RawSlot;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::negotiation::has_events;

/// What is looked for in an event.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    /// Only an answer has one.
    #[serde(borrow, rename = "result")]
    _result: &'a RawValue,
}

#[derive(Serialize)]
struct WholeAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Value,
}

/// The same response, whose answer has the result that was left in the slot.
pub(crate) fn with_result_of(slot: RawSlot, response: Response) -> Response {
    // Whatever has a result is sent as events.
    if !has_events(response.headers()) {
        return response;
    }
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            frame.map_data(|event| match slot.is_filled() {
                true => replaced(&slot, &event).unwrap_or(event),
                false => event,
            })
        }))
    })
}

/// The same event with the result in the slot, when it is the answer. The SDK sends every event in one piece.
fn replaced(slot: &RawSlot, event: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(event).ok()?;
    let mut lines: Vec<String> = text.split('\n').map(ToOwned::to_owned).collect();
    let line = lines.iter_mut().find(|it| it.starts_with("data:"))?;
    let whole = {
        let Answer { id, .. } = serde_json::from_str(line.strip_prefix("data:")?).ok()?;
        // Single requests are of 2026-07-28.
        let result = slot.take(true)?;
        let answer = WholeAnswer {
            jsonrpc: "2.0",
            id,
            result,
        };
        serde_json::to_string(&answer).ok()?
    };
    *line = format!("data: {whole}");
    Some(lines.join("\n").into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Proves: C10.
    #[test]
    fn only_the_answer_gets_the_result_that_was_left() {
        let slot = RawSlot::default();
        slot.put(json!({ "new": 1, "resultType": "other" }));
        let progress = r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
        assert_eq!(replaced(&slot, progress.as_bytes()), None);
        let refusal = r#"data: {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#;
        assert_eq!(replaced(&slot, refusal.as_bytes()), None);
        assert_eq!(replaced(&slot, b":\n\n"), None);
        let answer = "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n\n";
        let whole = replaced(&slot, answer.as_bytes()).unwrap();
        let expected = "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"new\":1,\"resultType\":\"complete\"}}\n\n";
        assert_eq!(whole, expected);
        assert_eq!(replaced(&slot, answer.as_bytes()), None, "once");
    }
}

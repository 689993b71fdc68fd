//! In which form an answer is given.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sse_stream::SseStream;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";
/// What the SDK wants to see.
const BOTH: &str = "application/json, text/event-stream";

/// A form of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Events, as they come.
    Events,
    /// One JSON document.
    Json,
}

/// Marks a request whose caller takes one document: it can be asked nothing before that comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneDocument;

/// The form that a caller wants of an answer. Events win when both are named; JSON is what those get who do not
/// say. None when neither will do.
pub(crate) fn wanted(headers: &HeaderMap) -> Option<Form> {
    let (mut events, mut json, mut says) = (false, false, false);
    for value in headers.get_all(ACCEPT) {
        for range in value.to_str().unwrap_or_default().split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let is_refused = parts.any(|part| {
                let quality = part.strip_prefix("q=").or(part.strip_prefix("Q="));
                quality.is_some_and(|it| it.parse() == Ok(0.0_f32))
            });
            if name.is_empty() || is_refused {
                says |= is_refused;
                continue;
            }
            says = true;
            match name.as_str() {
                EVENTS | "text/*" => events = true,
                JSON | "application/*" | "*/*" => json = true,
                _ => {}
            }
        }
    }
    match (events, json, says) {
        (true, _, _) => Some(Form::Events),
        (false, true, _) | (false, false, false) => Some(Form::Json),
        (false, false, true) => None,
    }
}

/// Whether a caller takes events for a request that has no other form of answer.
pub(crate) fn takes_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    let mut names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .filter(|name| !name.is_empty())
        .peekable();
    names.peek().is_none()
        || names.any(|name| {
            ["*/*", "text/*", EVENTS]
                .iter()
                .any(|it| name.eq_ignore_ascii_case(it))
        })
}

/// Tells the SDK that everything is taken, and in its words what is sent.
pub(crate) fn normalize_headers(headers: &mut HeaderMap) {
    headers.insert(ACCEPT, HeaderValue::from_static(BOTH));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
}

/// Whether the content of a request is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let name = value.to_str().unwrap_or_default().split(';').next();
    name.unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

fn is_of(headers: &HeaderMap, form: &str) -> bool {
    let value = headers.get(CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.starts_with(form))
}

/// Whether a response is a stream of events.
pub(crate) fn has_events(headers: &HeaderMap) -> bool {
    is_of(headers, EVENTS)
}

/// Whether a response is JSON.
pub(crate) fn has_json(headers: &HeaderMap) -> bool {
    is_of(headers, JSON)
}

/// The answer among the events of a response, as one document. News before it are dropped. None when there is no answer.
pub(crate) async fn as_one_document(response: Response) -> Option<Response> {
    if !has_events(response.headers()) {
        return Some(response);
    }
    let (mut parts, body) = response.into_parts();
    let mut events = std::pin::pin!(SseStream::new(body));
    while let Some(Ok(event)) = events.next().await {
        let data = event.data.unwrap_or_default();
        if is_answer(&data) {
            parts.headers.remove(CACHE_CONTROL);
            parts
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
            return Some(Response::from_parts(parts, Body::from(Bytes::from(data))));
        }
    }
    None
}

/// What tells an answer from other messages; what is in it is passed over.
#[derive(Deserialize)]
struct Kind {
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Whether a message of the server is the answer to a request.
fn is_answer(data: &str) -> bool {
    let message = serde_json::from_str::<Kind>(data);
    message.is_ok_and(|it| it.result.is_some() || it.error.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(accept: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_caller_gets_the_form_that_it_asks_for() {
        for (accept, form) in [
            (vec![], Some(Form::Json)),
            (vec![""], Some(Form::Json)),
            (vec!["*/*"], Some(Form::Json)),
            (vec!["application/json"], Some(Form::Json)),
            (vec!["Application/JSON; charset=utf-8"], Some(Form::Json)),
            (vec!["application/*"], Some(Form::Json)),
            (vec!["text/event-stream"], Some(Form::Events)),
            (
                vec!["application/json, text/event-stream"],
                Some(Form::Events),
            ),
            (
                vec!["text/event-stream;q=0.1, application/json"],
                Some(Form::Events),
            ),
            (
                vec!["application/json", "text/event-stream"],
                Some(Form::Events),
            ),
            (
                vec!["text/event-stream;q=0, application/json"],
                Some(Form::Json),
            ),
            (vec!["text/html"], None),
            (vec!["text/html, */*;q=0.8"], Some(Form::Json)),
            (vec!["application/json;q=0"], None),
        ] {
            assert_eq!(wanted(&headers(&accept)), form, "{accept:?}");
        }
    }

    #[test]
    fn a_stream_needs_a_caller_that_takes_events() {
        for accept in [
            vec![],
            vec!["*/*"],
            vec!["text/event-stream"],
            vec!["a/b, text/event-stream;q=0.5"],
        ] {
            assert!(takes_events(&headers(&accept)), "{accept:?}");
        }
        for accept in [vec!["application/json"], vec!["text/html"]] {
            assert!(!takes_events(&headers(&accept)), "{accept:?}");
        }
    }

    #[test]
    fn only_json_is_json() {
        let is = |content: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in content {
                headers.append(CONTENT_TYPE, value.parse().unwrap());
            }
            is_json(&headers)
        };
        assert!(is(&["application/json"]));
        assert!(is(&["Application/Json; charset=utf-8"]));
        assert!(!is(&["application/json-patch"]));
        assert!(!is(&["text/plain"]));
        assert!(!is(&[]));
        assert!(!is(&["application/json", "text/plain"]));
    }
}

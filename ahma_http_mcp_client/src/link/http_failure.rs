//! What it means when a request over HTTP fails, or is answered by something that is no MCP server.

use http::StatusCode;

use crate::request_error::RequestError;

/// What is read of a page that is no answer, to be shown.
pub(super) const SHOWN: usize = 200;

/// Why a request did not get through.
pub(super) fn not_reached(error: &reqwest::Error) -> RequestError {
    match error.is_connect() || error.is_builder() {
        true => RequestError::not_sent(why(error)),
        false => RequestError::lost(why(error)),
    }
}

/// What went wrong, without the URL, which may hold a key.
pub(super) fn why(error: &reqwest::Error) -> String {
    if error.is_connect() {
        return "nothing answers there".to_owned();
    }
    let mut deepest: &dyn std::error::Error = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    match std::ptr::eq(deepest, error as &dyn std::error::Error) {
        true => "the connection broke off".to_owned(),
        false => format!("the connection broke off: {deepest}"),
    }
}

/// The answer of something that is no MCP server, or does not want to be one now.
pub(super) fn refused(status: StatusCode, body: &[u8]) -> RequestError {
    let what = format!("the server answered with status {status}: {}", shown(body));
    // By their meaning, nothing was done.
    let is_unavailable = matches!(
        status,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
    );
    match is_unavailable {
        true => RequestError::not_sent(what),
        false if status.is_server_error() => RequestError::lost(what),
        false => RequestError::BadAnswer(what),
    }
}

pub(super) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let text = text.trim();
    match text {
        "" => "it is empty".to_owned(),
        text => format!("{text:?}"),
    }
}

//! Why a request is refused: a status, and JSON with a sentence for people (in the spirit of RFC 9457, as JSON-RPC).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};

/// The code of what has no better one.
const OTHER: ErrorCode = ErrorCode(-32000);
/// The code for a session that is not there, as clients know it.
const NO_SESSION: ErrorCode = ErrorCode(-32001);

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    id: Option<RequestId>,
    error: ErrorData,
    retry_after: Option<u64>,
    allow: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let code = match status {
            StatusCode::NOT_FOUND => NO_SESSION,
            _ => OTHER,
        };
        Problem::of(status, None, ErrorData::new(code, why.into(), None))
    }

    pub(crate) fn of(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Self {
        Problem(Box::new(Parts {
            status,
            id,
            error,
            retry_after: None,
            allow: None,
        }))
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    pub(crate) fn allowing(mut self, methods: &'static str) -> Self {
        self.0.allow = Some(methods);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let parts = *self.0;
        let message = ServerJsonRpcMessage::error(parts.error, parts.id);
        let body = serde_json::to_vec(&message).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = parts.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = parts.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = parts.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        if parts.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(crate) fn no_session_named() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "this request needs a session: send `initialize` first, and then the Mcp-Session-Id of its answer with every \
         request; or use protocol revision 2026-07-28, which has no sessions",
    )
}

pub(crate) fn no_such_session() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "there is no such session, or it has ended; start a new one with `initialize`",
    )
}

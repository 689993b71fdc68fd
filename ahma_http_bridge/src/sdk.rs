//! The SDK's Streamable HTTP service: called, and its errors put into our form.

use std::convert::Infallible;
use std::sync::Arc;

use ahma_transport::{ParsedMessage, RawSlot, parse_message};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Collected, Full};
use rmcp::ServerHandler;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::transport::StreamableHttpService;

use crate::handshake::{SESSION_ID, VERSION};
use crate::negotiation;
use crate::problem::{Problem, no_session_named, no_such_session};
use crate::sessions::Sessions;
use crate::whole_results;

/// The SDK's service, whatever its handler is.
pub(crate) type Protocol =
    Arc<dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, SdkResponse> + Send + Sync>;
pub(crate) type SdkResponse = http::Response<BoxBody<Bytes, Infallible>>;

/// Forgets which handler it is.
pub(crate) fn protocol<H>(service: StreamableHttpService<H, Sessions>) -> Protocol
where
    H: ServerHandler + Send + 'static,
{
    Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move { service.handle(request).await })
    })
}

/// Has the SDK answer a request. An error that is not JSON becomes one of ours.
pub(crate) async fn call(
    protocol: &Protocol,
    mut request: Request<Full<Bytes>>,
    content: &Bytes,
) -> Result<Response, Problem> {
    let asked = Asked::of(request.headers());
    let slot = RawSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = protocol(request).await;
    let status = response.status();
    if status.is_success() || negotiation::has_json(response.headers()) {
        let response = response.map(Body::new);
        return Ok(whole_results::with_result_of(slot, response));
    }
    Err(match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => not_a_message(parse_message(content), content),
        StatusCode::BAD_REQUEST => match asked {
            Asked::UnknownVersion(version) => unknown_version(&version),
            Asked::WithoutSession => no_session_named(),
            Asked::WithSession => Problem::new(status, text_of(response).await),
        },
        StatusCode::NOT_FOUND => no_such_session(),
        StatusCode::METHOD_NOT_ALLOWED => {
            let why = "this protocol revision has no sessions; send requests with POST";
            Problem::new(status, why).allowing("POST")
        }
        _ => Problem::new(status, text_of(response).await),
    })
}

/// What the headers of a request say, as far as it decides about errors.
enum Asked {
    UnknownVersion(String),
    WithoutSession,
    WithSession,
}

impl Asked {
    fn of(headers: &HeaderMap) -> Self {
        let version = headers.get(VERSION);
        let version = version.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        let is_known = |text: &str| {
            let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
            known.any(|it| it.as_str() == text)
        };
        match version {
            Some(version) if !is_known(&version) => Asked::UnknownVersion(version),
            _ if headers.contains_key(SESSION_ID) => Asked::WithSession,
            _ => Asked::WithoutSession,
        }
    }
}

fn unknown_version(version: &str) -> Problem {
    let shown = &version[..version.floor_char_boundary(40)];
    let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .map(ProtocolVersion::as_str)
        .collect();
    let known = known.join(", ");
    let why = format!("the MCP-Protocol-Version {shown:?} is not supported; use one of {known}");
    Problem::new(StatusCode::BAD_REQUEST, why)
}

/// What is wrong with content that is not a message.
pub(crate) fn not_a_message(parsed: ParsedMessage, content: &[u8]) -> Problem {
    let status = StatusCode::BAD_REQUEST;
    match parsed {
        ParsedMessage::Wrong(wrong) => Problem::of(status, wrong.id, wrong.error),
        ParsedMessage::Nothing if content.trim_ascii().is_empty() => {
            let error = ErrorData::parse_error("the request is empty; send a message", None);
            Problem::of(status, None, error)
        }
        ParsedMessage::Message(_) | ParsedMessage::Nothing => {
            let why = "this is not a JSON-RPC message that the server knows";
            Problem::of(status, None, ErrorData::invalid_request(why, None))
        }
    }
}

async fn text_of(response: SdkResponse) -> String {
    let text = response.into_body().collect().await;
    let text = text.map(Collected::to_bytes).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

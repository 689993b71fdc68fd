//! How a session begins.
//!
//! The SDK can do this too, but keeps what the handshake needs for as long as the session lives, a third of the
//! memory of one.

use std::sync::Arc;

use ahma_transport::{RawResults, SessionHandle};
use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetExtensions as _,
    InitializeRequestParams, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};

use crate::negotiation::{EVENTS, Form, JSON};
use crate::problem::Problem;
use crate::sessions::{ServeSession, SessionFault, Sessions};

pub(crate) const SESSION_ID: &str = "mcp-session-id";
pub(crate) const VERSION: &str = "mcp-protocol-version";
/// Bytes of what a client calls itself.
const MAX_CLIENT_LEN: usize = 200;
const METHOD: &str = "mcp-method";

/// Serves each session with a handler of its own.
pub(crate) fn serving<H>(
    handler: impl Fn(&SessionHandle) -> H + Send + Sync + 'static,
) -> ServeSession
where
    H: ServerHandler + Send + 'static,
{
    Arc::new(move |sessions, transport| {
        let session = transport.session().clone();
        let handler = handler(&session);
        tokio::spawn(async move {
            // Boxed so that the large handshake future is freed once the session runs.
            let begun = Box::pin(rmcp::serve_server(RawResults(handler), transport)).await;
            match begun {
                Ok(running) => drop(running.waiting().await),
                Err(error) => tracing::debug!("a session failed to start: {error}"),
            }
            sessions.remove(session.id());
        });
    })
}

/// The `initialize` message that begins a session (2025-11-25 and earlier), if this is one.
pub(crate) fn beginning(headers: &HeaderMap, content: &Bytes) -> Option<ClientJsonRpcMessage> {
    // Cheap: requests of 2026-07-28 are not parsed twice.
    let is_stateless = headers
        .get(VERSION)
        .is_some_and(|it| it.as_bytes() >= ProtocolVersion::V_2026_07_28.as_str().as_bytes());
    if headers.contains_key(SESSION_ID) || (is_stateless && !contains(content, b"\"initialize\"")) {
        return None;
    }
    // One that is not short would have been found to begin a session.
    let message: ClientJsonRpcMessage = serde_json::from_slice(content).ok()?;
    let is_one = matches!(
        &message,
        ClientJsonRpcMessage::Request(it) if matches!(it.request, ClientRequest::InitializeRequest(_))
    );
    is_one.then_some(message)
}

fn contains(content: &[u8], word: &[u8]) -> bool {
    content.windows(word.len()).any(|it| it == word)
}

/// Begins a session and answers with its name.
pub(crate) async fn begin(
    sessions: &Arc<Sessions>,
    mut message: ClientJsonRpcMessage,
    parts: Parts,
    form: Form,
    hint: &str,
) -> Result<Response, Problem> {
    if let ClientJsonRpcMessage::Request(request) = &mut message {
        if let ClientRequest::InitializeRequest(initialize) = &mut request.request {
            lighten(&mut initialize.params);
            let asked = initialize.params.protocol_version.as_str();
            agree(&parts.headers, asked, &request.id)?;
        }
        request.request.extensions_mut().insert(parts);
    }
    let begun = sessions.begin(message).await;
    let (id, answer) = begun.map_err(|fault| refused(fault, hint))?;
    let failed = || {
        let why = "the session could not be started";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    };
    let content = serde_json::to_string(&answer).map_err(|_| failed())?;
    let (kind, content) = match form {
        Form::Events => (EVENTS, format!("data: {content}\n\n")),
        Form::Json => (JSON, content),
    };
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let ServerJsonRpcMessage::Response(_) = answer {
        let id = HeaderValue::from_str(&id).map_err(|_| failed())?;
        headers.insert(SESSION_ID, id);
    }
    Ok(response)
}

/// Takes out what nobody here reads: it would be kept as long as the session.
fn lighten(params: &mut InitializeRequestParams) {
    params.meta = None;
    params.capabilities.experimental = None;
    params.capabilities.extensions = None;
    let client = &mut params.client_info;
    (client.title, client.description) = (None, None);
    (client.icons, client.website_url) = (None, None);
    for text in [&mut client.name, &mut client.version] {
        text.truncate(text.floor_char_boundary(MAX_CLIENT_LEN));
        text.shrink_to_fit();
    }
}

/// What headers say has to be what the message says: others may go by the headers alone.
fn agree(headers: &HeaderMap, asked: &str, id: &RequestId) -> Result<(), Problem> {
    let said = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let refused = |error| {
        Err(Problem::of(
            StatusCode::BAD_REQUEST,
            Some(id.clone()),
            error,
        ))
    };
    let mut versions = headers.get_all(VERSION).iter();
    if let Some(other) = versions.find(|it| *it != asked) {
        let why = format!(
            "the header MCP-Protocol-Version says {}, but the message asks for {asked}",
            said(other)
        );
        return refused(ErrorData::invalid_request(why, None));
    }
    let mut methods = headers.get_all(METHOD).iter();
    if let Some(other) = methods.find(|it| *it != "initialize") {
        let why = format!(
            "the header Mcp-Method says {}, but the message is initialize",
            said(other)
        );
        return refused(ErrorData::new(ErrorCode::HEADER_MISMATCH, why, None));
    }
    Ok(())
}

fn refused(fault: SessionFault, hint: &str) -> Problem {
    match fault {
        SessionFault::TooMany => {
            let why =
                format!("{fault}; end one with DELETE, wait until unused ones end, or {hint}");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, why).retry_after(30)
        }
        SessionFault::Unknown | SessionFault::Ended => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, fault.to_string())
        }
    }
}

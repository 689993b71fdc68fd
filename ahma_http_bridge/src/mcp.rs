//! `/mcp`: what is around the SDK's own answer to a request.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Collected, Full, LengthLimitError, Limited};
use rmcp::ServerHandler;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::transport::StreamableHttpService;
use tokio::time::timeout;

use crate::admission::Rate;
use crate::echo::{Direction, MessageTrace};
use crate::endpoint::Endpoint;
use crate::handshake::{self, SESSION_ID};
use crate::messages::{ParsedMessage, parse_message, too_many_values, without_mark};
use crate::negotiation::{self, Form, OneDocument};
use crate::problem::Problem;
use crate::router::Bridge;
use crate::sessions::{Session, Sessions};

/// As other protocols over JSON-RPC know it.
const CANCELLED: ErrorCode = ErrorCode(-32800);
const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
const METHODS: &str = "GET, POST, DELETE";
/// Answered by events only: there is no end to what it tells.
const LISTEN: &str = "subscriptions/listen";

/// The SDK's service, whatever its handler is.
pub(crate) type Protocol =
    Arc<dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, SdkResponse> + Send + Sync>;
type SdkResponse = http::Response<BoxBody<Bytes, Infallible>>;

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

/// Answers a request of somebody who may ask.
pub(crate) async fn serve(
    bridge: &Bridge,
    endpoint: &Endpoint,
    parts: Parts,
    body: &mut Body,
) -> Result<Response, Problem> {
    let named = session_id(&parts.headers)?;
    let session = named.as_deref().and_then(|id| endpoint.sessions.find(id));
    count(bridge, session.as_deref())?;
    if let (Some(id), None) = (&named, &session)
        && endpoint.sessions.is_banned(id)
    {
        return Err(roots_changed());
    }
    if let Some(name) = &endpoint.workspace {
        let ready = (bridge.prepare)(name).await;
        ready.map_err(|why| not_ready(&why))?;
    }
    match parts.method {
        Method::POST => post(bridge, endpoint, parts, body, session.as_deref()).await,
        Method::GET => stream(bridge, endpoint, parts).await,
        Method::DELETE => match (named, session) {
            (None, _) => Err(no_session_named()),
            (Some(_), None) => Err(no_such_session()),
            (Some(_), Some(_)) => end(endpoint, parts).await,
        },
        _ => {
            let why = format!("/mcp takes {METHODS}");
            Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, why).allowing(METHODS))
        }
    }
}

fn not_ready(why: &str) -> Problem {
    let why = format!("the workspace cannot be used: {why}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, why)
}

fn session_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(SESSION_ID).iter();
    let first = values.next().map(|value| value.to_str());
    match (first, values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(id)), None) => Ok(Some(id.to_owned())),
        _ => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "one Mcp-Session-Id header, in ASCII, is taken",
        )),
    }
}

fn count(bridge: &Bridge, session: Option<&Session>) -> Result<(), Problem> {
    let Some(session) = session else {
        return bridge.admission.count_known();
    };
    session.touch();
    session.rate.as_ref().map_or(Ok(()), Rate::count)
}

async fn post(
    bridge: &Bridge,
    endpoint: &Endpoint,
    mut parts: Parts,
    body: &mut Body,
    session: Option<&Session>,
) -> Result<Response, Problem> {
    let Some(form) = negotiation::wanted(&parts.headers) else {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "answers are application/json or text/event-stream; accept one of them",
        ));
    };
    if !negotiation::is_json(&parts.headers) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send `Content-Type: application/json`, with one JSON-RPC message",
        ));
    }
    let listens = parts
        .headers
        .get("mcp-method")
        .is_some_and(|it| it == LISTEN);
    if listens && form == Form::Json {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "what subscriptions/listen tells comes as text/event-stream; accept that",
        ));
    }
    let content = read(bridge, &parts, body).await?;
    if session.is_some_and(|session| session.in_work() >= bridge.limits.requests) {
        let why = "too many requests of this session are in work; wait for answers";
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, why).retry_after(1));
    }
    if let Some(error) = too_many_values(&content) {
        return Err(Problem::of(StatusCode::BAD_REQUEST, None, error));
    }
    if let Some(echo) = &bridge.echo {
        echo.show(Direction::FromClient, &content);
    }
    if let Some(message) = handshake::beginning(&parts.headers, &content) {
        let begun = handshake::begin(&endpoint.sessions, message, parts, form).await?;
        return Ok(echoed(bridge, begun));
    }
    if let Some(session) = session
        && session.life.are_roots_locked()
        && changes_roots(&content)
    {
        tracing::warn!(
            session = session.life.id(),
            "its roots changed after its scope was set"
        );
        endpoint.sessions.ban(session.life.id());
        return Err(roots_changed());
    }
    negotiation::normalize_headers(&mut parts.headers);
    if form == Form::Json {
        parts.extensions.insert(OneDocument);
    }
    let request = Request::from_parts(parts, Full::new(content.clone()));
    let response = map_sdk_error((endpoint.protocol)(request).await, &content).await?;
    let response = match form {
        Form::Events => response,
        Form::Json => match negotiation::as_one_document(response).await {
            Some(response) => response,
            None => return Err(unanswered(&content)),
        },
    };
    Ok(echoed(bridge, response))
}

async fn stream(
    bridge: &Bridge,
    endpoint: &Endpoint,
    mut parts: Parts,
) -> Result<Response, Problem> {
    if !negotiation::takes_events(&parts.headers) {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "this is a stream of events for MCP clients; accept text/event-stream, or look at /tools",
        ));
    }
    negotiation::normalize_headers(&mut parts.headers);
    let request = Request::from_parts(parts, Full::default());
    let response = map_sdk_error((endpoint.protocol)(request).await, &Bytes::new()).await?;
    Ok(echoed(bridge, response))
}

async fn end(endpoint: &Endpoint, parts: Parts) -> Result<Response, Problem> {
    let request = Request::from_parts(parts, Full::default());
    let mut response = map_sdk_error((endpoint.protocol)(request).await, &Bytes::new()).await?;
    if response.status() == StatusCode::ACCEPTED {
        // It has been done; several clients warn of anything else.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(response)
}

/// Reads the content of a request, as far as it may go and as long as it may take.
async fn read(bridge: &Bridge, parts: &Parts, body: &mut Body) -> Result<Bytes, Problem> {
    let most = bridge.limits.body;
    let too_large = || {
        let why = format!(
            "a request has at most {} KiB; send less at once",
            most >> 10
        );
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let announced = parts.headers.get(CONTENT_LENGTH);
    let announced = announced.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let reading = Limited::new(body, most).collect();
    match timeout(bridge.limits.body_timeout, reading).await {
        Ok(Ok(content)) => {
            let content = content.to_bytes();
            let mark = content.len() - without_mark(&content).len();
            Ok(content.slice(mark..))
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            format!("the request could not be read: {error}"),
        )),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request took too long to come",
        )),
    }
}

/// What the SDK says, where it says it in JSON; else the same for people.
async fn map_sdk_error(response: SdkResponse, content: &Bytes) -> Result<Response, Problem> {
    let status = response.status();
    let is_fine = status.is_success() || negotiation::has_json(response.headers());
    if is_fine {
        return Ok(response.map(Body::new));
    }
    let said = response.into_body().collect().await;
    let said = said.map(Collected::to_bytes).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    Err(match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => no_message(content),
        StatusCode::BAD_REQUEST if said.contains("Session ID is required") => no_session_named(),
        StatusCode::NOT_FOUND => no_such_session(),
        StatusCode::METHOD_NOT_ALLOWED => {
            let why = "this protocol version has no sessions; only POST is taken";
            Problem::new(status, why).allowing("POST")
        }
        _ => Problem::new(status, said),
    })
}

/// What is wrong with content that is no message.
fn no_message(content: &Bytes) -> Problem {
    match parse_message(content) {
        ParsedMessage::Wrong(refusal) => {
            Problem::of(StatusCode::BAD_REQUEST, refusal.id, refusal.error)
        }
        ParsedMessage::Nothing if content.trim_ascii().is_empty() => {
            let error = ErrorData::parse_error("the request is empty; send a message", None);
            Problem::of(StatusCode::BAD_REQUEST, None, error)
        }
        ParsedMessage::Message(_) | ParsedMessage::Nothing => {
            let why = "this is no JSON-RPC message that the server knows";
            let error = ErrorData::invalid_request(why, None);
            Problem::of(StatusCode::BAD_REQUEST, None, error)
        }
    }
}

/// A request whose caller has cancelled it, and waits for its answer nevertheless.
fn unanswered(content: &Bytes) -> Problem {
    let id = serde_json::from_slice::<Named>(content).ok();
    let error = ErrorData::new(CANCELLED, "the request was cancelled", None);
    Problem::of(StatusCode::OK, id.and_then(|it| it.id), error)
}

#[derive(serde::Deserialize)]
struct Named {
    id: Option<RequestId>,
}

/// Whether a message says that the client has other roots than before.
fn changes_roots(content: &[u8]) -> bool {
    let method = serde_json::from_slice::<Told<'_>>(content);
    method.is_ok_and(|it| it.method == ROOTS_CHANGED)
}

#[derive(serde::Deserialize)]
struct Told<'m> {
    #[serde(borrow)]
    method: Cow<'m, str>,
}

fn roots_changed() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "the scope of this session was set by its first roots and cannot change, so it has ended; begin a new one with \
         `initialize`",
    )
}

fn no_session_named() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "this needs a session: send `initialize` first, and then the Mcp-Session-Id that comes with its answer; or \
         speak protocol version 2026-07-28, which has none",
    )
}

fn no_such_session() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "there is no such session, or it has ended; begin a new one with `initialize`",
    )
}

/// The same response, whose messages are shown as they go out.
fn echoed(bridge: &Bridge, response: Response) -> Response {
    let Some(echo) = bridge.echo.clone() else {
        return response;
    };
    let has_events = negotiation::has_events(response.headers());
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                show_sent(&echo, data, has_events);
            }
            frame
        }))
    })
}

/// Shows what goes out: a document, or the messages of events.
fn show_sent(echo: &MessageTrace, data: &[u8], has_events: bool) {
    if !has_events {
        echo.show(Direction::ToClient, data);
        return;
    }
    let lines = data.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| line.strip_prefix(b"data:"));
    for message in messages.map(<[u8]>::trim_ascii) {
        if !message.is_empty() {
            echo.show(Direction::ToClient, message);
        }
    }
}

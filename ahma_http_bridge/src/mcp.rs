//! `/mcp`: what is around the SDK's own answer to a request.

use ahma_transport::{Direction, LISTEN_WITH_TASKS, MessageTrace, renamed, without_bom};
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::time::timeout;

use crate::admission::Rate;
use crate::bytes_in_work::{Counted, InWork, SMALL};
use crate::drain::drain;
use crate::endpoint::Endpoint;
use crate::handshake::{self, SESSION_ID};
use crate::long_messages::Looked;
use crate::negotiation::{self, Form, OneDocument};
use crate::problem::{Problem, no_session_named, no_such_session};
use crate::sdk;
use crate::sessions::Session;
use crate::state::BridgeState;
use crate::workspace_path::workspace_name;

/// As other protocols over JSON-RPC know it.
const CANCELLED: ErrorCode = ErrorCode(-32800);
const METHODS: &str = "GET, POST, DELETE";
/// Answered by events only: there is no end to what it tells.
const LISTEN: &str = "subscriptions/listen";

/// `/mcp`
pub(crate) async fn plain(
    State(state): State<BridgeState>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let endpoint = state.endpoints.plain();
    answer(&state, endpoint, request).await
}

/// `/mcp/w/NAME`
pub(crate) async fn workspace(
    State(state): State<BridgeState>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let name = workspace_name(request.uri().path());
    let endpoint = name.and_then(|name| state.endpoints.workspace(name));
    let Some(endpoint) = endpoint else {
        drain(request.into_body()).await;
        let why = format!(
            "there is no such workspace; {}",
            state.hints.declare_workspace
        );
        return Err(Problem::new(StatusCode::NOT_FOUND, why));
    };
    answer(&state, endpoint, request).await
}

async fn answer(
    state: &BridgeState,
    endpoint: &Endpoint,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, mut body) = request.into_parts();
    let answer = serve(state, endpoint, parts, &mut body).await;
    if answer.is_err() {
        drain(body).await;
    }
    answer
}

async fn serve(
    state: &BridgeState,
    endpoint: &Endpoint,
    parts: Parts,
    body: &mut Body,
) -> Result<Response, Problem> {
    let named = session_id(&parts.headers)?;
    let session = named.as_deref().and_then(|id| endpoint.sessions.find(id));
    count(endpoint, session.as_deref())?;
    if let (Some(id), None) = (&named, &session)
        && endpoint.sessions.is_banned(id)
    {
        return Err(roots_changed());
    }
    if let Some(name) = &endpoint.workspace {
        let ready = state.backend.activate_workspace(name).await;
        ready.map_err(|why| not_ready(&why))?;
    }
    match parts.method {
        Method::POST => post(state, endpoint, parts, body, session.as_deref()).await,
        Method::GET => stream(state, endpoint, parts).await,
        Method::DELETE => match (named, session) {
            (None, _) => Err(no_session_named()),
            (Some(_), None) => Err(no_such_session()),
            (Some(_), Some(_)) => end(endpoint, parts).await,
        },
        _ => {
            let why = format!("this method is not supported here; use {METHODS}");
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
            "send one Mcp-Session-Id header, in ASCII",
        )),
    }
}

fn count(endpoint: &Endpoint, session: Option<&Session>) -> Result<(), Problem> {
    let Some(session) = session else {
        return endpoint.count_sessionless();
    };
    session.touch();
    session.rate.as_ref().map_or(Ok(()), Rate::count)
}

async fn post(
    state: &BridgeState,
    endpoint: &Endpoint,
    mut parts: Parts,
    body: &mut Body,
    session: Option<&Session>,
) -> Result<Response, Problem> {
    let Some(form) = negotiation::wanted(&parts.headers) else {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "answers are application/json or text/event-stream; accept one of the two",
        ));
    };
    if !negotiation::is_json(&parts.headers) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send one JSON-RPC message with `Content-Type: application/json`",
        ));
    }
    let listens = parts
        .headers
        .get("mcp-method")
        .is_some_and(|it| it == LISTEN);
    if listens && form == Form::Json {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "subscriptions/listen answers with events; accept text/event-stream",
        ));
    }
    let counted = Counted {
        session: session.map(|session| &session.bytes),
        endpoint: &endpoint.bytes,
        all: &state.bytes,
    };
    let (content, in_work) = read(state, &parts, body, counted).await?;
    if session.is_some_and(|session| session.in_work() >= state.limits.requests) {
        let why = "too many requests of this session are in progress; wait for some of them to be answered";
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, why).retry_after(1));
    }
    let looked = endpoint.long_messages.look(&content).await?;
    if let Some(trace) = &state.trace {
        trace.show(Direction::FromClient, &content);
    }
    let beginning = match looked {
        Looked::Begins(message) if !parts.headers.contains_key(SESSION_ID) => Some(*message),
        Looked::Short => handshake::beginning(&parts.headers, &content),
        _ => None,
    };
    if let Some(message) = beginning {
        let begun = handshake::begin(
            &endpoint.sessions,
            message,
            parts,
            form,
            state.hints.raise_sessions,
        )
        .await?;
        return Ok(traced(state, begun));
    }
    negotiation::normalize_headers(&mut parts.headers);
    if form == Form::Json {
        parts.extensions.insert(OneDocument);
    }
    let renamed = if listens { renamed(&content) } else { None };
    if renamed.is_some() {
        let name = HeaderValue::from_static(LISTEN_WITH_TASKS);
        parts.headers.insert("mcp-method", name);
    }
    let sent = renamed.map_or_else(|| content.clone(), Bytes::from);
    let request = Request::from_parts(parts, Full::new(sent));
    let calling = sdk::call(&endpoint.protocol, request, &content);
    let response = endpoint.long_messages.take_in(&content, calling).await?;
    let response = match form {
        Form::Events => response,
        Form::Json => match negotiation::as_one_document(response).await {
            Some(response) => response,
            None => return Err(unanswered(&content)),
        },
    };
    Ok(traced(state, in_work.until_the_end_of(response)))
}

async fn stream(
    state: &BridgeState,
    endpoint: &Endpoint,
    mut parts: Parts,
) -> Result<Response, Problem> {
    if !negotiation::takes_events(&parts.headers) {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "this is the event stream of MCP clients; accept text/event-stream, or read /tools",
        ));
    }
    negotiation::normalize_headers(&mut parts.headers);
    let request = Request::from_parts(parts, Full::default());
    let response = sdk::call(&endpoint.protocol, request, &Bytes::new()).await?;
    Ok(traced(state, response))
}

async fn end(endpoint: &Endpoint, parts: Parts) -> Result<Response, Problem> {
    let request = Request::from_parts(parts, Full::default());
    let mut response = sdk::call(&endpoint.protocol, request, &Bytes::new()).await?;
    if response.status() == StatusCode::ACCEPTED {
        // It has been done; several clients warn of anything else.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(response)
}

/// Reads the content of a request, as far as it may go and as long as it may take. One whose length is not said is counted
/// when it turns out not to be small.
async fn read(
    state: &BridgeState,
    parts: &Parts,
    body: &mut Body,
    counted: Counted<'_>,
) -> Result<(Bytes, InWork), Problem> {
    let most = state.limits.body;
    let too_large = || {
        let why = format!(
            "the request is larger than {} KiB; send less at once",
            most >> 10
        );
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let announced = announced(&parts.headers);
    if announced.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut in_work = counted.count(announced.unwrap_or(0))?;
    let reading = async {
        let mut content = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let why = format!("the request could not be read: {error}");
                Problem::new(StatusCode::BAD_REQUEST, why)
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if content.len() + data.len() > most {
                return Err(too_large());
            }
            content.extend_from_slice(&data);
            if announced.is_none() && in_work.is_nothing() && content.len() > SMALL {
                in_work = counted.count(most)?;
            }
        }
        in_work.shrink_to(content.len());
        Ok(content.freeze())
    };
    let content = timeout(state.limits.body_timeout, reading).await;
    let content = content.unwrap_or_else(|_| {
        let why = "the request took too long to arrive";
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, why))
    })?;
    let bom = content.len() - without_bom(&content).len();
    Ok((content.slice(bom..), in_work))
}

/// How long the content is, if that is said.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
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

fn roots_changed() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "the first root changed, but the scope of a session cannot; the session has ended, start a new one with `initialize`",
    )
}

/// The same response, whose messages are shown as they go out.
fn traced(state: &BridgeState, response: Response) -> Response {
    let Some(trace) = state.trace.clone() else {
        return response;
    };
    let has_events = negotiation::has_events(response.headers());
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                show_sent(&trace, data, has_events);
            }
            frame
        }))
    })
}

/// Shows what goes out: a document, or the messages of events.
fn show_sent(trace: &MessageTrace, data: &[u8], has_events: bool) {
    if !has_events {
        trace.show(Direction::ToClient, data);
        return;
    }
    let lines = data.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| line.strip_prefix(b"data:"));
    for message in messages.map(<[u8]>::trim_ascii) {
        if !message.is_empty() {
            trace.show(Direction::ToClient, message);
        }
    }
}

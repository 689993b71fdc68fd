//! A server that is reached over HTTP: each message is a request of its own, whose answer is one message or a stream of them.
//!
//! A request that may have reached the server is never sent again. Only a stream that broke off is asked for again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::authorized::Authorized;
use super::http_failure::{SHOWN, refused, shown, why};
use super::sse_reader::SseReader;
use super::{Outgoing, authorized, request_headers};
use crate::exchange::Exchange;
use crate::lifecycle::STATELESS;
use crate::request_error::RequestError;

/// Requests that are under way at the same time; more wait.
const MAX_AT_ONCE: usize = 32;
/// How often a stream that broke off is asked for again.
const MAX_RESUMES: u32 = 3;
/// How long it is waited before that, unless the server says otherwise, and at most.
const RESUME_AFTER: Duration = Duration::from_millis(500);
const MAX_RESUME_AFTER: Duration = Duration::from_secs(30);
/// How long a good-bye may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The way to one server.
pub(crate) struct HttpLink(Arc<Inner>);

struct Inner {
    client: Client,
    url: reqwest::Url,
    headers: HeaderMap,
    authorized: Authorized,
    exchange: Arc<Exchange>,
    session: Mutex<Option<HeaderValue>>,
    /// The revision, and whether there are no sessions in it.
    agreed: OnceLock<(HeaderValue, bool)>,
    /// The input schemas of tools, for arguments that go into headers.
    schemas: Mutex<HashMap<String, Value>>,
    under_way: Mutex<HashMap<u64, AbortHandle>>,
    others: Mutex<Vec<AbortHandle>>,
    slots: Semaphore,
    max: usize,
}

impl HttpLink {
    /// Reaches a server at a URL, with headers that every request carries. No message may be longer than `max`.
    pub(crate) fn new(
        client: Client,
        url: reqwest::Url,
        headers: HeaderMap,
        authorized: Authorized,
        exchange: &Arc<Exchange>,
        mut replies: mpsc::Receiver<Vec<u8>>,
        max: usize,
    ) -> Self {
        let inner = Arc::new(Inner {
            client,
            url,
            headers,
            authorized,
            exchange: Arc::clone(exchange),
            session: Mutex::default(),
            agreed: OnceLock::new(),
            schemas: Mutex::default(),
            under_way: Mutex::default(),
            others: Mutex::default(),
            slots: Semaphore::new(MAX_AT_ONCE),
            max,
        });
        let of_replies = Arc::downgrade(&inner);
        let replying = tokio::spawn(async move {
            while let Some(body) = replies.recv().await {
                let Some(inner) = Weak::upgrade(&of_replies) else {
                    return;
                };
                inner.post(body, HeaderMap::new(), None).await;
            }
        });
        lock(&inner.others).push(replying.abort_handle());
        HttpLink(inner)
    }

    /// Remembers the schemas of tools, for headers.
    pub(crate) fn note_schemas(&self, schemas: HashMap<String, Value>) {
        *lock(&self.0.schemas) = schemas;
    }

    /// From now on requests name this revision.
    pub(crate) fn agreed(&self, revision: &str, is_stateless: bool) {
        if let Ok(revision) = HeaderValue::from_str(revision) {
            let _ = self.0.agreed.set((revision, is_stateless));
        }
        if !is_stateless {
            let inner = Arc::clone(&self.0);
            let listening = tokio::spawn(async move { inner.listen().await });
            lock(&self.0.others).push(listening.abort_handle());
        }
    }

    /// Sends a message; the exchange hears what comes of it.
    pub(crate) fn send(&self, message: Outgoing<'_>) {
        let inner = Arc::clone(&self.0);
        let (id, headers) = match &message.request {
            None => (None, HeaderMap::new()),
            Some(request) => {
                let is_stateless = inner.agreed.get().is_some_and(|(_, it)| *it);
                let is_probe = request.method == "server/discover";
                let mut headers = match is_stateless || is_probe {
                    true => {
                        let name = request.params.text("name").unwrap_or_default();
                        let schemas = lock(&inner.schemas);
                        let schema = schemas.get(&name);
                        request_headers::of_request(request.method, request.params, schema)
                    }
                    false => HeaderMap::new(),
                };
                if is_probe && !is_stateless {
                    headers.insert(VERSION, HeaderValue::from_static(STATELESS));
                }
                (Some(request.id), headers)
            }
        };
        let body = message.body;
        let posting = tokio::spawn(async move {
            inner.post(body, headers, id).await;
            if let Some(id) = id {
                lock(&inner.under_way).remove(&id);
            }
        });
        if let Some(id) = id {
            lock(&self.0.under_way).insert(id, posting.abort_handle());
            // It may have been done before it was put there.
            if posting.is_finished() {
                lock(&self.0.under_way).remove(&id);
            }
        }
    }

    /// Reads no answer to this request any more.
    pub(crate) fn give_up(&self, id: u64) {
        if let Some(task) = lock(&self.0.under_way).remove(&id) {
            task.abort();
        }
    }

    /// Ends the session.
    pub(crate) async fn close(&self) {
        let session = lock(&self.0.session).take();
        if let Some(session) = session {
            let request = self.0.client.delete(self.0.url.clone());
            let request = self.0.with_headers(request).header(SESSION, session);
            let _ = timeout(CLOSE_TIMEOUT, self.0.authorized.send(request)).await;
        }
        self.0.exchange.end("the connection was closed");
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        for task in lock(&self.0.under_way).values() {
            task.abort();
        }
        for task in lock(&self.0.others).iter() {
            task.abort();
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of it is left half changed by a panic.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let mut request = request.headers(self.headers.clone());
        if let Some((revision, _)) = self.agreed.get() {
            request = request.header(VERSION, revision.clone());
        }
        if let Some(session) = &*lock(&self.session) {
            request = request.header(SESSION, session.clone());
        }
        request
    }

    /// Sends one message and takes whatever comes back.
    async fn post(&self, body: Vec<u8>, headers: HeaderMap, id: Option<u64>) {
        let Ok(_slot) = self.slots.acquire().await else {
            return;
        };
        let request = self.client.post(self.url.clone());
        let request = self
            .with_headers(request)
            .headers(headers)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body);
        let failure = match self.authorized.send(request).await {
            Ok(response) => self.take(response, id).await.err(),
            Err(error) => Some(error),
        };
        if let Some(id) = id {
            let unanswered = RequestError::lost("the server's answer ended before it was complete");
            self.exchange.settle(id, Err(failure.unwrap_or(unanswered)));
        }
    }

    /// Takes the answer to a request, and whatever comes with it.
    async fn take(&self, response: Response, id: Option<u64>) -> Result<(), RequestError> {
        let status = response.status();
        let session = response.headers().get(SESSION);
        // Some servers name one even where they refuse, and do not know it afterwards.
        if let Some(session) = session.filter(|_| status.is_success()) {
            lock(&self.session).get_or_insert_with(|| session.clone());
        }
        if authorized::refusal(&response).is_some() {
            let challenge = authorized::challenge(&response);
            return Err(RequestError::Unauthorized { challenge });
        }
        let has_session = lock(&self.session).is_some();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(RequestError::SessionGone);
        }
        let kind = response.headers().get("content-type");
        let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
        if status.is_success() && kind == "text/event-stream" {
            return self.stream(response, id).await;
        }
        let body = self.body(response).await?;
        // Errors of the protocol come with statuses that say the same.
        let beginning = body[..body.len().min(SHOWN)].to_vec();
        if status == StatusCode::FORBIDDEN {
            return Err(RequestError::Forbidden(shown(&beginning)));
        }
        if kind == "application/json" && !body.is_empty() {
            self.exchange.receive_any(body).await;
        }
        let body = beginning;
        let is_answered = id.is_none_or(|id| !self.exchange.is_waiting(id));
        match (status.is_success(), is_answered) {
            (true, _) if id.is_none() => Ok(()),
            (_, true) => Ok(()),
            (true, false) => {
                let kind = if kind.is_empty() { "nothing" } else { &kind };
                Err(RequestError::BadAnswer(format!(
                    "{kind} instead of a message: {}",
                    shown(&body)
                )))
            }
            (false, false) => Err(refused(status, &body)),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, RequestError> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(None) => return Ok(body),
                Ok(Some(piece)) if body.len() + piece.len() <= self.max => {
                    body.extend_from_slice(&piece);
                }
                Ok(Some(_)) => {
                    let why = format!("it is longer than {} MiB", self.max >> 20);
                    return Err(RequestError::BadAnswer(why));
                }
                Err(error) => return Err(RequestError::lost(why(&error))),
            }
        }
    }

    /// Takes the messages of a stream until the answer has come; asks for the rest where it breaks off.
    async fn stream(&self, response: Response, id: Option<u64>) -> Result<(), RequestError> {
        let mut response = response;
        let (mut last, mut pause) = (None, RESUME_AFTER);
        for _ in 0..=MAX_RESUMES {
            self.events(&mut response, &mut last, &mut pause).await?;
            let is_answered = id.is_none_or(|id| !self.exchange.is_waiting(id));
            let Some(event) = last.clone().filter(|_| !is_answered) else {
                break;
            };
            sleep(pause).await;
            response = match self.resume(&event).await {
                Some(response) => response,
                None => break,
            };
        }
        Ok(())
    }

    /// Takes what comes of a stream.
    async fn events(
        &self,
        response: &mut Response,
        last: &mut Option<String>,
        pause: &mut Duration,
    ) -> Result<(), RequestError> {
        let mut reader = SseReader::new(self.max);
        // A stream that breaks off is like one that ends.
        while let Ok(Some(piece)) = response.chunk().await {
            let too_long = |_| {
                let why = format!("it is longer than {} MiB", self.max >> 20);
                RequestError::BadAnswer(why)
            };
            for event in reader.take(&piece).map_err(too_long)? {
                if let Some(id) = event.id {
                    *last = Some(id);
                }
                if let Some(retry) = event.retry {
                    *pause = Duration::from_millis(retry).min(MAX_RESUME_AFTER);
                }
                if !event.data.is_empty() {
                    self.exchange.receive_any(event.data).await;
                }
            }
        }
        Ok(())
    }

    /// The rest of a stream after an event.
    async fn resume(&self, event: &str) -> Option<Response> {
        let request = self.client.get(self.url.clone());
        let request = self.with_headers(request);
        let request = request
            .header("accept", "text/event-stream")
            .header(LAST_EVENT, event);
        let response = self.authorized.send(request).await.ok()?;
        response.status().is_success().then_some(response)
    }

    /// Listens to what the server says unasked, where it offers that.
    async fn listen(&self) {
        let (mut last, mut pause, mut failed) = (None, RESUME_AFTER, 0);
        while failed < MAX_RESUMES {
            let request = self.client.get(self.url.clone());
            let mut request = self.with_headers(request);
            request = request.header("accept", "text/event-stream");
            if let Some(event) = &last {
                request = request.header(LAST_EVENT, event);
            }
            match self.authorized.send(request).await {
                Ok(mut response) if response.status().is_success() => {
                    failed = 0;
                    let _ = self.events(&mut response, &mut last, &mut pause).await;
                }
                // It does not offer it, or not to us.
                Ok(_) => return,
                Err(_) => failed += 1,
            }
            sleep(pause).await;
        }
    }
}

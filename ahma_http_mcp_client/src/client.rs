//! A conversation with one server: requests and their answers, each as it came.
//!
//! Everything has an end: a request that is not answered in time is given up, and the server is told. A request whose
//! future is dropped is given up likewise. Must not start or stop servers.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::config::UrlEntry;
use crate::exchange::{Exchange, OnProgress, PendingAnswer, ServerEvents};
use crate::http as http_client;
use crate::lifecycle::{self, Asking, ClientFacts, PeerFacts, stateless_meta};
use crate::link::{Authorized, HttpLink, LineLink, Link, Outgoing, OutgoingRequest};
use crate::listing::{self, Listed};
use crate::message::{self, Params};
use crate::request::Request;
use crate::request_error::RequestError;
use crate::subscription;

/// Tries after the first one, where another try can do no harm.
const RETRIES: u32 = 3;
/// How long is waited before the first of them; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// How a conversation is held.
#[derive(Clone)]
pub struct ClientOptions {
    /// Who we are.
    pub facts: ClientFacts,
    /// How long the beginning may take.
    pub connect_timeout: Duration,
    /// How long a request may take, unless it says otherwise.
    pub timeout: Duration,
    /// The longest message that is taken, in bytes.
    pub max_message: usize,
    /// Who hears what the server says unasked.
    pub events: Arc<dyn ServerEvents>,
    /// Whether changes of lists are to be heard, which takes a request of its own since 2026-07-28.
    pub listens: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            facts: ClientFacts {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                capabilities: json!({}),
                revision: None,
            },
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            max_message: 16 << 20,
            events: Arc::new(()),
            listens: false,
        }
    }
}

/// A server that answers.
pub struct Client {
    shared: Arc<Shared>,
    listening: Option<AbortHandle>,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

pub(crate) struct Shared {
    exchange: Arc<Exchange>,
    link: Link,
    options: ClientOptions,
    peer: OnceLock<PeerFacts>,
}

impl Client {
    /// Begins a conversation with the server at the other ends of two streams.
    pub async fn over_streams(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        options: ClientOptions,
    ) -> Result<Client, RequestError> {
        let (exchange, replies) = Exchange::new(Arc::clone(&options.events));
        let link = LineLink::start(input, output, &exchange, replies, options.max_message);
        Self::begin(exchange, Link::Lines(link), options).await
    }

    /// Begins a conversation with the server at a URL.
    pub async fn at(entry: &UrlEntry, options: ClientOptions) -> Result<Client, RequestError> {
        let wrong = |what: String| RequestError::not_sent(format!("{}: {what}", entry.place()));
        let url: reqwest::Url = entry
            .url()
            .parse()
            .map_err(|_| wrong("it is not a URL".to_owned()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in entry.headers() {
            let name = HeaderName::from_bytes(name.as_bytes());
            match (name, HeaderValue::from_str(value)) {
                (Ok(name), Ok(mut value)) => {
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
                _ => return Err(wrong("a header of it cannot be one".to_owned())),
            }
        }
        let client = http_client::pooled_client(&url, entry.socket());
        let client = client.map_err(|error| wrong(error.to_string()))?;
        let authorized = Authorized::new(entry.authorization(), &url)
            .map_err(|error| wrong(error.to_string()))?;
        let (exchange, replies) = Exchange::new(Arc::clone(&options.events));
        let link = HttpLink::new(
            client,
            url,
            headers,
            authorized,
            &exchange,
            replies,
            options.max_message,
        );
        Self::begin(exchange, Link::Http(link), options).await
    }

    async fn begin(
        exchange: Arc<Exchange>,
        link: Link,
        options: ClientOptions,
    ) -> Result<Client, RequestError> {
        let shared = Arc::new(Shared {
            exchange,
            link,
            options,
            peer: OnceLock::new(),
        });
        let limit = shared.options.connect_timeout;
        let beginning = lifecycle::begin(&*shared, &shared.options.facts);
        let peer = match timeout(limit, beginning).await {
            Ok(peer) => peer?,
            Err(_) => return Err(RequestError::Timeout(limit)),
        };
        shared.link.agreed(&peer.revision, peer.is_stateless);
        if !peer.is_stateless {
            let body = message::notification("notifications/initialized", &Params::new());
            let request = None;
            shared.link.send(Outgoing { body, request }).await?;
        }
        // Who has no session is told of changes only while it listens.
        let filter = match peer.is_stateless {
            true => subscription::filter(&peer.capabilities),
            false => Map::new(),
        };
        let _ = shared.peer.set(peer);
        let listening = match filter.is_empty() || !shared.options.listens {
            true => None,
            false => Some(subscription::listen(Arc::clone(&shared), filter)),
        };
        Ok(Client { shared, listening })
    }

    /// What is known of the server.
    pub fn peer(&self) -> &PeerFacts {
        // It is set before there is a client.
        static NOBODY: PeerFacts = PeerFacts {
            revision: String::new(),
            is_stateless: false,
            capabilities: Value::Null,
            server: Value::Null,
            instructions: None,
        };
        self.shared.peer.get().unwrap_or(&NOBODY)
    }

    /// Why the connection has ended, once it has.
    pub fn ended(&self) -> Option<Arc<str>> {
        self.shared.exchange.ended()
    }

    /// Waits for the end of the connection.
    pub async fn closed(&self) -> Arc<str> {
        self.shared.exchange.closed().await
    }

    /// Sends a request, and waits for its result.
    pub async fn request(&self, request: Request<'_>) -> Result<Box<RawValue>, RequestError> {
        let limit = request.timeout.unwrap_or(self.shared.options.timeout);
        let mut meta = request.meta;
        if self.peer().is_stateless {
            let facts = &self.shared.options.facts;
            meta.extend(stateless_meta(facts, request.capabilities.as_ref()));
        }
        let (method, params, may_repeat) = (request.method, request.params, request.may_repeat);
        // Progress is told once, so such a request is sent once.
        let mut progress = request.progress;
        let retries = if progress.is_some() { 0 } else { RETRIES };
        let mut pause = FIRST_PAUSE;
        let mut tried = 0;
        loop {
            let trying =
                self.shared
                    .try_once(method, params.clone(), meta.clone(), progress.take());
            let Ok(outcome) = timeout(limit, trying).await else {
                return Err(RequestError::Timeout(limit));
            };
            let is_worth_it = |error: &RequestError| {
                matches!(error, RequestError::Transport { .. })
                    && (may_repeat || error.has_not_run())
                    && self.ended().is_none()
            };
            match outcome {
                Err(error) if tried < retries && is_worth_it(&error) => {
                    tried += 1;
                    sleep(pause.mul_f64(jitter())).await;
                    pause *= 2;
                }
                outcome => return outcome,
            }
        }
    }

    /// Everything of one kind that the server offers: `tools`, `prompts`, `resources`, `resourceTemplates`.
    pub async fn list(&self, method: &str, key: &str) -> Result<Listed, RequestError> {
        let mut listed = listing::list(self, method, key).await?;
        if let (Link::Http(link), "tools/list") = (&self.shared.link, method) {
            if self.peer().is_stateless {
                listing::leave_out_unusable(&mut listed);
            }
            link.note_schemas(listing::schemas_with_headers(&listed));
        }
        Ok(listed)
    }

    /// The tools that the server offers.
    pub async fn tools(&self) -> Result<Listed, RequestError> {
        self.list("tools/list", "tools").await
    }

    /// The prompts that the server offers.
    pub async fn prompts(&self) -> Result<Listed, RequestError> {
        self.list("prompts/list", "prompts").await
    }

    /// The resources that the server offers.
    pub async fn resources(&self) -> Result<Listed, RequestError> {
        self.list("resources/list", "resources").await
    }

    /// The kinds of resources that the server offers.
    pub async fn resource_templates(&self) -> Result<Listed, RequestError> {
        let (method, key) = ("resources/templates/list", "resourceTemplates");
        self.list(method, key).await
    }

    /// Whether the server answers, and how long that takes.
    pub async fn health_check(&self) -> Result<Duration, RequestError> {
        let method = match self.peer().is_stateless {
            true => "server/discover",
            false => "ping",
        };
        let asked = Instant::now();
        let mut request = Request::new(method, Params::new());
        request.may_repeat = false;
        self.request(request).await?;
        Ok(asked.elapsed())
    }

    /// Ends the conversation.
    pub async fn close(self) {
        self.shared.link.close().await;
        self.shared.exchange.end("the connection was closed");
    }
}

impl Asking for Shared {
    async fn ask(&self, method: &str, params: Params) -> Result<Box<RawValue>, RequestError> {
        self.try_once(method, params, Map::new(), None).await
    }
}

impl Shared {
    /// A request that lasts as long as the server wants.
    pub(crate) async fn subscribe(
        &self,
        method: &str,
        params: Params,
    ) -> Result<Box<RawValue>, RequestError> {
        let meta = stateless_meta(&self.options.facts, None);
        self.try_once(method, params, meta, None).await
    }

    /// Whether the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.exchange.ended().is_some()
    }

    async fn try_once(
        &self,
        method: &str,
        params: Params,
        mut meta: Map<String, Value>,
        progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, RequestError> {
        let wants_progress = progress.is_some();
        let pending = self.exchange.expect(progress)?;
        if wants_progress {
            meta.insert("progressToken".to_owned(), json!(pending.id));
        }
        let params = match meta.is_empty() {
            true => params,
            false => params.with("_meta", &meta),
        };
        let id = pending.id;
        let mut guard = GivenUp {
            shared: self,
            pending,
            // Nobody may take back the beginning of a conversation.
            can_be_cancelled: !matches!(method, "initialize" | "server/discover"),
            is_sent: false,
        };
        let request = OutgoingRequest {
            id,
            method,
            params: &params,
        };
        let body = message::request(id, method, &params);
        let request = Some(request);
        self.link.send(Outgoing { body, request }).await?;
        guard.is_sent = true;
        guard.pending.answer().await
    }
}

/// Tells the server when nobody waits for a request any more.
struct GivenUp<'s> {
    shared: &'s Shared,
    pending: PendingAnswer,
    can_be_cancelled: bool,
    is_sent: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if !self.is_sent || self.pending.is_answered() {
            return;
        }
        let link = &self.shared.link;
        let is_stateless = self.shared.peer.get().is_some_and(|it| it.is_stateless);
        // There, the end of the request itself says so.
        let by_hanging_up = is_stateless && matches!(link, Link::Http(_));
        if self.can_be_cancelled && !by_hanging_up && self.shared.exchange.ended().is_none() {
            let params = Params::new()
                .with("requestId", &self.pending.id)
                .with("reason", "nobody waits for it any more");
            link.send_soon(message::notification("notifications/cancelled", &params));
        }
        link.give_up(self.pending.id);
    }
}

/// Between 0.5 and 1.5, so that many clients do not come back at the same moment.
fn jitter() -> f64 {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    0.5 + f64::from(byte[0]) / 255.0
}

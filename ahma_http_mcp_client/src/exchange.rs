//! Requests that wait for their answers, and who hears what a server says unasked. Must not know how messages travel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};

use crate::message::{self, Incoming, answered_by};
use crate::request_error::{ErrorAnswer, RequestError};

/// Requests of a server that are worked on at the same time; more are refused.
const MAX_REQUESTS: usize = 16;
/// A longer message is read beside the runtime: its length, the server decides.
const LONG: usize = 256 * 1024;
/// Answers to a server that wait to be sent.
const MAX_REPLIES: usize = 64;

/// What a server says and asks unasked. All of it is called in the order in which it came, and must not take long.
pub trait ServerEvents: Send + Sync + 'static {
    /// A notification; progress of requests goes to whoever made them.
    fn notified(&self, method: &str, params: Option<&RawValue>) {
        let _ = (method, params);
    }

    /// A request. `ping` is answered here already.
    fn asked(
        &self,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> BoxFuture<'static, Result<Box<RawValue>, ErrorAnswer>> {
        let _ = params;
        let error = ErrorAnswer::no_method(method);
        Box::pin(std::future::ready(Err(error)))
    }

    /// Something that is no message: a banner, a broken line.
    fn rubbish(&self, text: &[u8]) {
        let _ = text;
    }
}

/// For whoever is interested in answers only.
impl ServerEvents for () {}

/// What is told about a request while it goes on: the parameters of a progress notification.
pub type OnProgress = Box<dyn FnMut(&RawValue) + Send>;

/// A request that waits.
struct Waiting {
    answer: oneshot::Sender<Result<Box<RawValue>, RequestError>>,
    progress: Option<OnProgress>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    waiting: HashMap<u64, Waiting>,
    asked: usize,
}

/// All of one connection.
pub(crate) struct Exchange {
    state: Mutex<State>,
    events: Arc<dyn ServerEvents>,
    /// Answers of ours to the server.
    replies: mpsc::Sender<Vec<u8>>,
    /// Why the connection has ended, once it has.
    ended: watch::Sender<Option<Arc<str>>>,
}

#[derive(Deserialize)]
struct ProgressToken {
    #[serde(rename = "progressToken")]
    token: serde_json::Value,
}

impl Exchange {
    /// An exchange, and the answers that it wants to have sent.
    pub(crate) fn new(events: Arc<dyn ServerEvents>) -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (replies, to_send) = mpsc::channel(MAX_REPLIES);
        let exchange = Exchange {
            state: Mutex::default(),
            events,
            replies,
            ended: watch::Sender::new(None),
        };
        (Arc::new(exchange), to_send)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of it is left half changed by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the connection has ended, once it has.
    pub(crate) fn ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Waits for the end of the connection.
    pub(crate) async fn closed(&self) -> Arc<str> {
        let mut ended = self.ended.subscribe();
        let ended = ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|it| it.clone()).unwrap_or_default()
    }

    /// A place for a request that is about to be sent.
    pub(crate) fn expect(
        self: &Arc<Self>,
        progress: Option<OnProgress>,
    ) -> Result<PendingAnswer, RequestError> {
        if let Some(why) = self.ended() {
            return Err(RequestError::not_sent(&*why));
        }
        let (answer, coming) = oneshot::channel();
        let mut state = self.state();
        state.next_id += 1;
        let id = state.next_id;
        state.waiting.insert(id, Waiting { answer, progress });
        Ok(PendingAnswer {
            id,
            coming,
            exchange: Arc::clone(self),
            is_answered: false,
        })
    }

    /// Takes a message that has come, beside the runtime where it is long. Messages are taken in their order.
    pub(crate) async fn receive_any(self: &Arc<Self>, text: Vec<u8>) {
        if text.len() <= LONG {
            return self.receive(&text);
        }
        let exchange = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || Incoming::parse(&text));
        if let Ok(message) = reading.await {
            exchange.take(message, &[]);
        }
    }

    fn receive(self: &Arc<Self>, text: &[u8]) {
        self.take(Incoming::parse(text), text);
    }

    fn take(self: &Arc<Self>, message: Incoming, text: &[u8]) {
        match message {
            Incoming::Answer { id, answer } => {
                self.settle(id, answer.map_err(RequestError::Refused));
            }
            Incoming::Unreadable { id, why } => self.settle(id, Err(RequestError::BadAnswer(why))),
            Incoming::Notification { method, params } => self.notified(&method, params.as_deref()),
            Incoming::Request { id, method, params } => self.asked(id, &method, params),
            Incoming::Rubbish => self.events.rubbish(text),
        }
    }

    /// A message that was too long to be held, by its beginning and its end.
    pub(crate) fn too_long(&self, ends: &[u8], limit: usize) {
        match answered_by(ends) {
            Some(id) => {
                let why = format!("it is longer than {} MiB", limit >> 20);
                self.settle(id, Err(RequestError::BadAnswer(why)));
            }
            None => self.events.rubbish(ends),
        }
    }

    /// Ends the waiting of one request.
    pub(crate) fn settle(&self, id: u64, answer: Result<Box<RawValue>, RequestError>) {
        let waiting = self.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // Whoever waited may have gone.
            let _ = waiting.answer.send(answer);
        }
    }

    /// Whether somebody still waits for an answer.
    pub(crate) fn is_waiting(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Ends the connection: nobody waits any longer.
    pub(crate) fn end(&self, why: &str) {
        let is_first = self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| why.into());
            is_first
        });
        if is_first {
            let waiting = std::mem::take(&mut self.state().waiting);
            for (_, waiting) in waiting {
                let _ = waiting.answer.send(Err(RequestError::lost(why)));
            }
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        if method != "notifications/progress" {
            return self.events.notified(method, params);
        }
        let token = params.and_then(|it| serde_json::from_str::<ProgressToken>(it.get()).ok());
        let id = token.and_then(|it| match &it.token {
            serde_json::Value::String(text) => text.parse().ok(),
            token => token.as_u64(),
        });
        let mut state = self.state();
        let waiting = id.and_then(|id| state.waiting.get_mut(&id));
        if let (Some(progress), Some(params)) =
            (waiting.and_then(|it| it.progress.as_mut()), params)
        {
            progress(params);
        }
    }

    fn asked(self: &Arc<Self>, id: Box<RawValue>, method: &str, params: Option<Box<RawValue>>) {
        if method == "ping" {
            let nothing = serde_json::value::to_raw_value(&serde_json::json!({}));
            let answer = nothing.map_err(|error| ErrorAnswer::new(-32603, error.to_string()));
            let _ = self.replies.try_send(message::answer(&id, &answer));
            return;
        }
        {
            let mut state = self.state();
            if state.asked >= MAX_REQUESTS {
                drop(state);
                let busy = Err(ErrorAnswer::new(-32603, "too many requests at once"));
                let _ = self.replies.try_send(message::answer(&id, &busy));
                return;
            }
            state.asked += 1;
        }
        let answering = self.events.asked(method, params);
        let exchange = Arc::clone(self);
        tokio::spawn(async move {
            let answer = tokio::select! {
                answer = answering => Some(answer),
                _ = exchange.closed() => None,
            };
            exchange.state().asked -= 1;
            if let Some(answer) = answer {
                let _ = exchange.replies.send(message::answer(&id, &answer)).await;
            }
        });
    }
}

/// A request whose answer is waited for. Not waited for any more when dropped.
pub(crate) struct PendingAnswer {
    pub(crate) id: u64,
    coming: oneshot::Receiver<Result<Box<RawValue>, RequestError>>,
    exchange: Arc<Exchange>,
    is_answered: bool,
}

impl PendingAnswer {
    /// Waits for the answer.
    pub(crate) async fn answer(&mut self) -> Result<Box<RawValue>, RequestError> {
        let answer = (&mut self.coming).await;
        self.is_answered = true;
        answer.unwrap_or_else(|_| Err(RequestError::lost("the connection has ended")))
    }

    /// Whether the answer has come.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        self.exchange.state().waiting.remove(&self.id);
    }
}

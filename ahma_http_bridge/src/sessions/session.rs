//! One session: which message belongs to which request.
//!
//! Inside, every request has an id of its own, whatever its client called it: the SDK takes equal ids for the
//! same request. The same goes for tokens of progress that are in use already.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahma_transport::{RequestIds, SessionHandle, cancelling, cancels};
use http::request::Parts;
use rmcp::model::{
    CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode,
    ErrorData, GetExtensions as _, GetMeta as _, NumberOrString, ProgressToken, ProtocolVersion,
    RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::outbox::{Messages, Outbox, parse_event_id};
use crate::admission::Rate;
use crate::bytes_in_work::BytesInWork;
use crate::negotiation::OneDocument;

/// Messages that the handler has not looked at yet.
pub(super) const INBOX: usize = 64;
/// Answers that nobody has read to the end and that can be fetched again; of more, the oldest are dropped.
const MAX_UNREAD: usize = 16;
/// Answers that were sent, and can be fetched again by a client whose connection broke before they came.
const MAX_DONE: usize = 4;
/// Tokens of progress that were given another name.
const MAX_RENAMED: usize = 200;

pub(crate) struct Session {
    pub(crate) handle: SessionHandle,
    /// In boxes: a channel has room for many messages, and a message is large even when it says little.
    inbox: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    routes: Mutex<Routes>,
    pub(crate) rate: Option<Rate>,
    /// Of requests that are in progress.
    pub(crate) bytes: BytesInWork,
}

struct Routes {
    /// Made at random, for names that no client uses.
    name: u32,
    requests: RequestIds<InWork>,
    tokens: HashMap<ProgressToken, Arc<Outbox>>,
    /// Inner to outer, in the order they were given.
    renamed: VecDeque<(ProgressToken, ProgressToken)>,
    /// For what belongs to no request.
    common: Arc<Outbox>,
    /// Of requests that are answered.
    unread: VecDeque<Arc<Outbox>>,
    last_stream: u64,
    /// The client has said that it is ready.
    is_ready: bool,
    /// Whether streams begin with where to come back to: older clients read that as a broken message.
    is_primed: bool,
    last_used: Instant,
}

/// What a request is, as far as that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its client does not use the session yet.
    Beginning,
    /// What it did cannot be asked for again.
    Call,
    /// It can be.
    Question,
}

impl Kind {
    fn of(request: &ClientRequest) -> Self {
        match request {
            ClientRequest::InitializeRequest(_) => Kind::Beginning,
            ClientRequest::CallToolRequest(_) => Kind::Call,
            _ => Kind::Question,
        }
    }
}

struct InWork {
    /// Whether its caller can be asked something on the stream of its answer.
    takes_questions: bool,
    outbox: Arc<Outbox>,
    token: Option<ProgressToken>,
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        rate: Option<Rate>,
        bytes: BytesInWork,
    ) -> (Self, mpsc::Receiver<Box<ClientJsonRpcMessage>>) {
        let (inbox, messages) = mpsc::channel(INBOX);
        let session = Session {
            handle: SessionHandle::new(id),
            inbox,
            rate,
            bytes,
            routes: Mutex::new(Routes {
                name: uuid::Uuid::new_v4().as_fields().0,
                requests: RequestIds::default(),
                tokens: HashMap::new(),
                renamed: VecDeque::new(),
                common: Arc::new(Outbox::new(0)),
                unread: VecDeque::new(),
                last_stream: 0,
                is_ready: false,
                is_primed: false,
                last_used: Instant::now(),
            }),
        };
        (session, messages)
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        // Each change of the maps is whole.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message of the client; of a request, what is answered.
    pub(super) async fn take(&self, mut message: ClientJsonRpcMessage) -> Option<Messages> {
        if let Some(cancelled) = cancels(&message) {
            self.cancel(cancelled).await;
            return None;
        }
        // Room first: a request whose client goes while there is none must not count as one that is in work.
        let room = self.inbox.reserve().await.ok()?;
        let answers = match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                let mut routes = self.routes();
                let token = request.request.get_meta().get_progress_token();
                let kind = Kind::of(&request.request);
                let parts = request.request.extensions().get::<Parts>();
                let takes_questions =
                    parts.is_none_or(|it| it.extensions.get::<OneDocument>().is_none());
                let id = std::mem::replace(&mut request.id, RequestId::Number(0));
                let arrived = routes.arrived(id, token, kind, takes_questions);
                if let Some(token) = arrived.renamed {
                    request.request.get_meta_mut().set_progress_token(token);
                }
                request.id = RequestId::Number(arrived.inner);
                request.request.extensions_mut().insert(self.handle.clone());
                Some(arrived.outbox.read(routes.is_primed))
            }
            ClientJsonRpcMessage::Notification(notification) => {
                let extensions = notification.notification.extensions_mut();
                extensions.insert(self.handle.clone());
                if let ClientNotification::InitializedNotification(_) = notification.notification {
                    self.routes().is_ready = true;
                }
                None
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => None,
        };
        room.send(Box::new(message));
        answers
    }

    async fn cancel(&self, cancelled: &CancelledNotificationParam) {
        // Not before it can be passed on: what is not in work any more is not found by a second try.
        let Ok(room) = self.inbox.reserve().await else {
            return;
        };
        let id = cancelled.request_id.as_ref();
        if let Some(inner) = id.and_then(|id| self.routes().cancelled(id)) {
            let message = cancelling(inner, cancelled.reason.clone());
            room.send(Box::new(message));
        }
    }

    /// Takes a message of the handler to where it belongs.
    pub(super) fn deliver(&self, mut message: ServerJsonRpcMessage) {
        let mut routes = self.routes();
        match &mut message {
            ServerJsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(result) = &response.result {
                    let first = ProtocolVersion::V_2025_11_25;
                    routes.is_primed = result.protocol_version.as_str() >= first.as_str();
                }
                if let Some((outer, request)) = routes.answered(&response.id) {
                    response.id = outer;
                    routes.end(request.outbox, message);
                }
            }
            ServerJsonRpcMessage::Error(error) => {
                let request = error.id.as_ref().and_then(|id| routes.answered(id));
                if let Some((outer, request)) = request {
                    error.id = Some(outer);
                    routes.end(request.outbox, message);
                }
            }
            ServerJsonRpcMessage::Notification(it) => {
                let outbox = routes.route_notification(&mut it.notification);
                outbox.put(message);
            }
            ServerJsonRpcMessage::Request(request) => {
                let cause = request.request.extensions().get::<OriginatingRequestId>();
                let request = cause.and_then(|cause| routes.requests.get(&cause.0));
                let request = request.filter(|(_, it)| it.takes_questions);
                let outbox = request.map_or(&routes.common, |(_, it)| &it.outbox);
                Arc::clone(outbox).put(message);
            }
        }
    }

    /// What belongs to no request.
    pub(super) fn notifications(&self) -> Messages {
        let routes = self.routes();
        routes.common.read(routes.is_primed)
    }

    /// The rest of a stream that broke.
    pub(super) fn rest(&self, event_id: &str) -> Option<Messages> {
        let (stream, after) = parse_event_id(event_id)?;
        let routes = self.routes();
        let in_work = routes.requests.values().map(|it| &it.outbox);
        let mut known = in_work.chain(&routes.unread).chain([&routes.common]);
        let outbox = known.find(|outbox| outbox.number() == stream)?;
        Some(outbox.read_again(after))
    }

    /// Requests that have no answer yet.
    pub(crate) fn in_work(&self) -> usize {
        self.routes().requests.len()
    }

    /// Somebody has just used it.
    pub(crate) fn touch(&self) {
        self.routes().last_used = Instant::now();
    }

    /// Since when nobody uses it, and whether its client was ever ready. None while it is used: a stream is open, a
    /// request is in work, or something runs for it.
    pub(super) fn idle_since(&self) -> Option<(Instant, bool)> {
        let routes = self.routes();
        let is_used = self.handle.is_guarded()
            || routes.common.is_read()
            || (routes.is_ready && !routes.requests.is_empty())
            || routes.unread.iter().any(|outbox| outbox.is_read());
        (!is_used).then_some((routes.last_used, routes.is_ready))
    }

    /// Ends the stream of news, so that its connection can close.
    pub(super) fn close_notifications(&self) {
        self.routes().common.finish();
    }

    /// Ends it: what runs for it is told, and whoever waits for an answer gets an error.
    pub(super) fn end(&self) {
        self.handle.closed().cancel();
        let mut routes = self.routes();
        routes.common.finish();
        let unanswered: Vec<(RequestId, InWork)> = routes.requests.drain().collect();
        routes.tokens.clear();
        for (outer, request) in unanswered {
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the session has ended", None);
            let message = ServerJsonRpcMessage::error(error, Some(outer));
            routes.end(request.outbox, message);
        }
    }
}

/// A request that was taken in.
struct Arrived {
    inner: i64,
    outbox: Arc<Outbox>,
    /// Its progress token, when that had to be renamed.
    renamed: Option<ProgressToken>,
}

impl Routes {
    /// Takes in a request.
    fn arrived(
        &mut self,
        outer: RequestId,
        token: Option<ProgressToken>,
        kind: Kind,
        takes_questions: bool,
    ) -> Arrived {
        self.last_used = Instant::now();
        self.last_stream += 1;
        // A client that asks for something is ready, and some never say so.
        self.is_ready |= kind != Kind::Beginning;
        let outbox = match kind {
            Kind::Call => Outbox::new(self.last_stream),
            Kind::Beginning | Kind::Question => Outbox::forgetful(self.last_stream),
        };
        let outbox = Arc::new(outbox);
        let is_taken = token
            .as_ref()
            .is_some_and(|it| self.tokens.contains_key(it));
        let renamed = token.clone().filter(|_| is_taken).map(|outer| {
            let name = format!("ahma-{}-{}", self.name, self.last_stream);
            let inner = ProgressToken(NumberOrString::String(name.into()));
            self.renamed.push_back((inner.clone(), outer));
            if self.renamed.len() > MAX_RENAMED {
                self.renamed.pop_front();
            }
            inner
        });
        let token = renamed.clone().or(token);
        if let Some(token) = &token {
            self.tokens.insert(token.clone(), Arc::clone(&outbox));
        }
        let in_work = InWork {
            takes_questions,
            outbox: Arc::clone(&outbox),
            token,
        };
        Arrived {
            inner: self.requests.arrived(outer, in_work),
            outbox,
            renamed,
        }
    }

    fn answered(&mut self, id: &RequestId) -> Option<(RequestId, InWork)> {
        let answered = self.requests.answered(id)?;
        self.forget_token(&answered.1);
        Some(answered)
    }

    /// Removes the request that the client cancels; its id inside. No answer follows.
    fn cancelled(&mut self, id: &RequestId) -> Option<RequestId> {
        let (inner, request) = self.requests.cancelled(id)?;
        self.forget_token(&request);
        request.outbox.finish();
        Some(inner)
    }

    fn forget_token(&mut self, request: &InWork) {
        if let Some(token) = &request.token {
            self.tokens.remove(token);
        }
        self.last_used = Instant::now();
    }

    /// The last message of a stream.
    fn end(&mut self, outbox: Arc<Outbox>, message: ServerJsonRpcMessage) {
        outbox.put(message);
        outbox.finish();
        self.unread.push_back(outbox);
        // Oldest first. One that is being read is held by its reader.
        let done = self.unread.iter().filter(|it| it.is_done()).count();
        let mut too_many = done.saturating_sub(MAX_DONE);
        self.unread.retain(|outbox| {
            let goes = too_many > 0 && outbox.is_done();
            too_many -= usize::from(goes);
            !goes
        });
        if self.unread.len() > MAX_UNREAD {
            self.unread.pop_front();
        }
    }

    /// Where news go, with the token that the client knows.
    fn route_notification(&mut self, notification: &mut ServerNotification) -> Arc<Outbox> {
        let renamed = |token: &ProgressToken| {
            let mut known = self.renamed.iter();
            let found = known.find(|(inner, _)| inner == token);
            found.map(|(_, outer)| outer.clone())
        };
        match notification {
            ServerNotification::ProgressNotification(progress) => {
                let token = &mut progress.params.progress_token;
                let outbox = self.tokens.get(token).cloned();
                if let Some(outer) = renamed(token) {
                    *token = outer;
                }
                outbox.unwrap_or_else(|| Arc::clone(&self.common))
            }
            ServerNotification::CustomNotification(custom) => {
                let token = custom.params.as_mut();
                let token = token.and_then(|params| params.get_mut("progressToken"));
                if let Some(token) = token
                    && let Ok(inner) = serde_json::from_value::<ProgressToken>(token.clone())
                    && let Some(outer) = renamed(&inner)
                {
                    *token = serde_json::json!(outer);
                }
                Arc::clone(&self.common)
            }
            _ => Arc::clone(&self.common),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use rmcp::model::PingRequest;

    use super::*;

    fn ping(id: i64) -> ClientJsonRpcMessage {
        let request = ClientRequest::PingRequest(PingRequest::default());
        ClientJsonRpcMessage::request(request, RequestId::Number(id))
    }

    /// Proves: H12.
    #[test]
    fn a_request_that_is_given_up_before_there_is_room_for_it_is_not_in_work() {
        let (session, mut messages) = Session::new("s".into(), None, BytesInWork::new(0));
        let room = i64::try_from(INBOX).unwrap();
        for id in 0..room {
            assert!(session.take(ping(id)).now_or_never().is_some());
        }
        assert!(session.take(ping(room)).now_or_never().is_none(), "full");
        assert_eq!(session.in_work(), INBOX);
        messages.try_recv().unwrap();
        assert!(session.take(ping(room)).now_or_never().is_some());
        assert_eq!(session.in_work(), INBOX + 1);
    }
}

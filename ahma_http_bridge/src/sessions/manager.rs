//! Every session that is open: begun, found, and ended when nobody uses it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::outbox::Messages;
use super::session::Session;
use super::transport::SessionTransport;
use crate::admission::Rate;
use crate::bytes_in_work::BytesInWork;
use crate::config::Limits;

/// Serves a session that has just begun, until it ends.
pub(crate) type ServeSession = Arc<dyn Fn(Arc<Sessions>, SessionTransport) + Send + Sync>;

/// Sessions are not looked at more often than this to see whether they are still used.
const MIN_LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The head of an answer does not wait longer than this for its content.
const SOON: Duration = Duration::from_millis(100);

/// How long a client whose session was ended for what it did is told so, and how many are remembered.
const BANNED_FOR: Duration = Duration::from_secs(300);
const MAX_BANNED: usize = 1000;

/// Why a session cannot do what was asked.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum SessionFault {
    /// There are as many as there may be.
    #[error("there are too many sessions")]
    TooMany,
    #[error("there is no such session")]
    Unknown,
    #[error("the session ended before it could answer")]
    Ended,
}

/// Every session that is open.
pub(crate) struct Sessions {
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Those of all endpoints.
    all: Arc<AtomicUsize>,
    /// Those that ended because their client did what it may not, and when. Oldest first.
    banned: Mutex<VecDeque<(SessionId, Instant)>>,
    limits: Limits,
    /// What is said to a session that sends requests too fast.
    rate_hint: &'static str,
    serve: ServeSession,
    /// Wakes who ends what nobody uses.
    opened: Notify,
}

impl Sessions {
    pub(crate) fn new(
        limits: Limits,
        rate_hint: &'static str,
        all: Arc<AtomicUsize>,
        serve: ServeSession,
    ) -> Self {
        Sessions {
            open: Mutex::default(),
            all,
            banned: Mutex::default(),
            limits,
            rate_hint,
            serve,
            opened: Notify::new(),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        // Each change of the map is whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.open().get(id).cloned()
    }

    /// Passes a request on; what is answered to it.
    async fn answers(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<Messages, SessionFault> {
        let session = self.known(id)?;
        let answers = session.take(message).await.ok_or(SessionFault::Ended)?;
        // One that comes soon is sent together with its head: that wakes the client once, not twice.
        let _ = timeout(SOON, answers.first()).await;
        Ok(answers)
    }

    fn known(&self, id: &SessionId) -> Result<Arc<Session>, SessionFault> {
        self.find(id).ok_or(SessionFault::Unknown)
    }

    /// Ends the streams of news of all: the server stops.
    pub(crate) fn close_notifications(&self) {
        for session in self.open().values() {
            session.close_notifications();
        }
    }

    /// Ends all of them.
    pub(crate) fn end_all(&self) {
        let open = std::mem::take(&mut *self.open());
        for session in open.into_values() {
            self.all.fetch_sub(1, Ordering::Relaxed);
            session.end();
        }
    }

    /// Begins a session with its first message; its name, and the answer. One that is refused ends at once.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        message: ClientJsonRpcMessage,
    ) -> Result<(SessionId, ServerJsonRpcMessage), SessionFault> {
        let (id, transport) = self.create_session().await?;
        self.end_when_revoked(&id);
        (self.serve)(Arc::clone(self), transport);
        let answer = self.initialize_session(&id, message).await;
        if !matches!(answer, Ok(ServerJsonRpcMessage::Response(_))) {
            self.remove(&id);
        }
        Ok((id, answer?))
    }

    /// Has a session end when its client has done what it may not.
    fn end_when_revoked(self: &Arc<Self>, id: &SessionId) {
        if let Some(session) = self.find(id) {
            let (sessions, id) = (Arc::downgrade(self), Arc::clone(id));
            session.handle.when_revoked(move || {
                if let Some(sessions) = sessions.upgrade() {
                    sessions.ban(&id);
                }
            });
        }
    }

    pub(crate) fn remove(&self, id: &str) {
        let gone = self.open().remove(id);
        if let Some(session) = gone {
            self.all.fetch_sub(1, Ordering::Relaxed);
            session.end();
        }
    }

    /// Ends a session whose client did what it may not. For a while it is told so, and not that there is no such
    /// session.
    pub(crate) fn ban(&self, id: &str) {
        self.remove(id);
        let mut banned = self.banned();
        banned.push_back((id.into(), Instant::now()));
        if banned.len() > MAX_BANNED {
            banned.pop_front();
        }
    }

    pub(crate) fn is_banned(&self, id: &str) -> bool {
        let mut banned = self.banned();
        banned.retain(|(_, since)| since.elapsed() < BANNED_FOR);
        banned.iter().any(|(it, _)| **it == *id)
    }

    fn banned(&self) -> MutexGuard<'_, VecDeque<(SessionId, Instant)>> {
        // Each change of the list is whole.
        self.banned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends those that nobody has used for long enough; when the next one will be.
    fn end_those_unused(&self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        let mut unused = Vec::new();
        for (id, session) in self.open().iter() {
            let end = match session.idle_since() {
                Some((since, true)) => since + self.limits.idle,
                Some((since, false)) => since + self.limits.unready.min(self.limits.idle),
                None => now + self.limits.idle,
            };
            if end <= now {
                unused.push(id.clone());
            } else {
                next = Some(next.map_or(end, |next| next.min(end)));
            }
        }
        for id in unused {
            tracing::info!(session = %id, "a session that nobody uses ends");
            self.remove(&id);
        }
        next
    }
}

/// Ends sessions that nobody uses any more, for ever.
pub(crate) async fn end_unused(sessions: Arc<Sessions>) {
    let far = Duration::from_secs(365 * 24 * 3600);
    loop {
        let now = Instant::now();
        let next = sessions.end_those_unused(now).unwrap_or(now + far);
        let mut next = next.max(now + MIN_LOOK_INTERVAL);
        loop {
            tokio::select! {
                () = sleep_until(next) => break,
                () = sessions.opened.notified() => {
                    // Only a new one can end earlier than those that were looked at.
                    next = next.min(Instant::now() + sessions.limits.unready.min(sessions.limits.idle));
                }
            }
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionFault;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), SessionFault> {
        let id: SessionId = uuid::Uuid::new_v4().to_string().into();
        let rate = self.limits.rate.map(|rate| Rate::new(rate, self.rate_hint));
        let (session, messages) = Session::new(
            Arc::clone(&id),
            rate,
            BytesInWork::new(self.limits.session_bytes),
        );
        let session = Arc::new(session);
        let most = self.limits.sessions;
        let one_more = |all: usize| (all < most).then_some(all + 1);
        let taken = self
            .all
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.map_err(|_| SessionFault::TooMany)?;
        self.open().insert(Arc::clone(&id), Arc::clone(&session));
        self.opened.notify_one();
        tracing::debug!(session = %id, "a session begins");
        Ok((id, SessionTransport::new(session, messages)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionFault> {
        let mut answers = self.answers(id, message).await?;
        while let Some(event) = answers.next().await {
            let message = event.message.map(Arc::unwrap_or_clone);
            if let Some(
                answer @ (ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)),
            ) = message
            {
                return Ok(answer);
            }
        }
        Err(SessionFault::Ended)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionFault> {
        Ok(self.find(id).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionFault> {
        self.remove(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        self.answers(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionFault> {
        self.known(id)?.take(message).await;
        Ok(())
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        Ok(self.known(id)?.notifications())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        let session = self.known(id)?;
        session.rest(&last_event_id).ok_or(SessionFault::Unknown)
    }
}

impl From<SessionFault> for io::Error {
    fn from(fault: SessionFault) -> Self {
        io::Error::other(fault)
    }
}

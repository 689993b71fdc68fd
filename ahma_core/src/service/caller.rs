//! Who made a call, and how they hear of what happens.
//!
//! While a call that carries a token is open, they are told what the command last wrote. The end of an
//! operation that goes on in the background is pushed to clients of the older lifecycle, once
//! as progress and once as a message, because several drop progress that comes after the answer. The
//! newer lifecycle has no place for either; its clients can have a task instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ahma_http_bridge::SessionHandle;
use rmcp::RoleServer;
use rmcp::model::{CustomNotification, ProgressToken, ProtocolVersion, ServerNotification};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ServiceState;
use super::progress::LiveProgress;
use super::respond::{RECORD_KEY, finished_text};
use crate::operation::Operation;

/// A longer name of a client is cut.
const MAX_CLIENT_LEN: usize = 200;
const SESSION_OVER: &str = "its session has ended";

/// The maker of a call.
pub(super) struct Caller {
    /// What the program calls itself.
    pub(super) client: Arc<str>,
    /// They do not want the answer any more.
    pub(super) cancelled: CancellationToken,
    /// They can follow what goes on in the background as a task.
    pub(super) takes_tasks: bool,
    /// Their session, where they have one that can end before the server does.
    session: Option<SessionHandle>,
    live: Option<LiveProgress>,
    listener: Option<Listener>,
}

/// Where news can be sent after the answer.
#[derive(Clone)]
struct Listener {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// How often they were told of progress.
    told: Arc<AtomicU32>,
    wants_messages: Arc<AtomicBool>,
}

impl Caller {
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        wants_messages: &Arc<AtomicBool>,
    ) -> Self {
        let is_stateless = is_stateless(context);
        let token = context.meta.get_progress_token();
        let capabilities = context.client_capabilities();
        let told = Arc::<AtomicU32>::default();
        Caller {
            client: context.client_info().map_or("unknown".into(), |client| {
                let name = format!("{} {}", client.name, client.version);
                name[..name.floor_char_boundary(MAX_CLIENT_LEN)].into()
            }),
            cancelled: context.ct.clone(),
            takes_tasks: is_stateless && capabilities.is_some_and(|it| it.supports_tasks()),
            session: context.extensions.get::<SessionHandle>().cloned(),
            live: token.clone().map(|token| LiveProgress {
                peer: context.peer.clone(),
                told: Arc::clone(&told),
                token,
            }),
            listener: (!is_stateless).then(|| Listener {
                peer: context.peer.clone(),
                token,
                told,
                wants_messages: Arc::clone(wants_messages),
            }),
        }
    }

    /// Nobody hears anything.
    pub(super) fn nobody() -> Self {
        Caller {
            client: "".into(),
            cancelled: CancellationToken::new(),
            takes_tasks: false,
            session: None,
            live: None,
            listener: None,
        }
    }

    /// Waits, and tells them meanwhile what operations write. Nothing is told after the wait has ended.
    pub(super) async fn notified_while<T>(
        &self,
        operations: &[Arc<Operation>],
        wait: impl Future<Output = T>,
    ) -> T {
        match &self.live {
            Some(live) => live.notify_while(operations, wait).await,
            None => wait.await,
        }
    }

    /// Waits until they do not want what they asked for: the call is cancelled, or the session over.
    pub(super) async fn gives_up(&self) -> &'static str {
        tokio::select! {
            () = self.cancelled.cancelled() => "the client cancelled the call",
            () = over(self.session.as_ref()) => SESSION_OVER,
        }
    }

    /// Ends an operation that goes on after the answer when their session ends, which it keeps open until then.
    pub(super) fn end_with_session(&self, operation: &Arc<Operation>) {
        if let Some(session) = self.session.clone() {
            let (operation, lease) = (Arc::clone(operation), session.guard());
            tokio::spawn(async move {
                tokio::select! {
                    _ = operation.ended() => {}
                    () = session.closed().cancelled() => operation.cancel(SESSION_OVER),
                }
                drop(lease);
            });
        }
    }

    /// Tells them when an operation has ended that goes on after the answer.
    pub(super) fn notify_at_end(&self, operation: &Arc<Operation>, state: &Arc<ServiceState>) {
        if let Some(listener) = self.listener.clone() {
            let (operation, state) = (Arc::clone(operation), Arc::clone(state));
            let answered = self.cancelled.clone();
            tokio::spawn(async move {
                operation.ended().await;
                // The SDK uses the same token to say that the answer is on its way: the news come after it.
                answered.cancelled().await;
                listener.tell(&operation, &state).await;
            });
        }
    }
}

/// Waits until a session is over; for ever where there is none.
pub(super) async fn over(session: Option<&SessionHandle>) {
    match session {
        Some(session) => session.closed().cancelled().await,
        None => std::future::pending().await,
    }
}

/// Whether a request belongs to the lifecycle of 2026-07-28 or later.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let first = ProtocolVersion::V_2026_07_28;
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= first.as_str())
}

impl Listener {
    async fn tell(&self, operation: &Operation, state: &ServiceState) {
        let record = operation.record();
        let text = finished_text(operation, state);
        let meta = json!({ RECORD_KEY: record });
        // Without a token of its own, the operation's id serves as one.
        let token = match &self.token {
            Some(token) => json!(token),
            None => json!(operation.id()),
        };
        let last = self.told.load(Ordering::Relaxed) + 1;
        let progress = json!({
            "progressToken": token, "progress": last, "total": last, "message": text, "_meta": meta
        });
        self.send("notifications/progress", progress).await;
        if self.wants_messages.load(Ordering::Relaxed) {
            let message = json!({
                "level": "info", "logger": "ahma_mcp", "data": text, "_meta": meta
            });
            self.send("notifications/message", message).await;
        }
    }

    /// A client that is gone needs no news.
    async fn send(&self, method: &str, params: Value) {
        let notification = CustomNotification::new(method, Some(params));
        let notification = ServerNotification::CustomNotification(notification);
        let _ = self.peer.send_notification(notification).await;
    }
}

//! Who made a call, and how they hear of what happens after its answer.
//!
//! The end of an operation that goes on in the background is pushed to clients of the older lifecycle, once
//! as progress and once as a message, because several drop progress that comes after the answer. The
//! newer lifecycle has no place for either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::model::{CustomNotification, ProgressToken, ProtocolVersion, ServerNotification};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ServiceState;
use super::respond::{RECORD_KEY, finished_text};
use crate::operation::Operation;

/// The maker of a call.
pub(super) struct Caller {
    /// They do not want the answer any more.
    pub(super) cancelled: CancellationToken,
    listener: Option<Listener>,
}

/// Where news can be sent after the answer.
#[derive(Clone)]
struct Listener {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    wants_messages: Arc<AtomicBool>,
}

impl Caller {
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        wants_messages: &Arc<AtomicBool>,
    ) -> Self {
        let newer = ProtocolVersion::V_2026_07_28;
        let version = context.protocol_version();
        let is_older = version.is_some_and(|version| version.as_str() < newer.as_str());
        let listener = is_older.then(|| Listener {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            wants_messages: Arc::clone(wants_messages),
        });
        Caller {
            cancelled: context.ct.clone(),
            listener,
        }
    }

    /// Tells them when an operation has ended that goes on after the answer.
    pub(super) fn tell_at_the_end(&self, operation: &Arc<Operation>, state: &Arc<ServiceState>) {
        if let Some(listener) = self.listener.clone() {
            let (operation, state) = (Arc::clone(operation), Arc::clone(state));
            tokio::spawn(async move {
                operation.ended().await;
                listener.tell(&operation, &state).await;
            });
        }
    }
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
        let progress = json!({
            "progressToken": token, "progress": 1, "total": 1, "message": text, "_meta": meta
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

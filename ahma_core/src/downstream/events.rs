//! What a server says and asks unasked: that its lists have changed, messages for the log, questions.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ahma_http_mcp_client::{ErrorAnswer, ServerEvents};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, broadcast};

use super::questions::{self, OpenCalls};
use super::tool_changes::ToolChanges;

/// Lines that are no messages and are logged; more are counted only.
const MAX_RUBBISH: usize = 5;
/// Letters of such a line.
const SHOWN: usize = 200;

/// A longer message is for the log only.
const MAX_MESSAGE: usize = 64 * 1024;

/// Where messages of servers go.
pub(super) type Messages = broadcast::Sender<Arc<Map<String, Value>>>;

/// Hears one server.
pub(super) struct UpstreamEvents {
    pub(super) server: String,
    /// What it offers has changed. One is enough, however often it is said.
    pub(super) lists_changed: Arc<Notify>,
    tool_changes: Arc<ToolChanges>,
    messages: Messages,
    /// Who can be asked what it asks.
    calls: Arc<OpenCalls>,
    /// Whether a subscription has been acknowledged.
    subscribed: AtomicBool,
    rubbish: AtomicUsize,
}

impl UpstreamEvents {
    pub(super) fn new(
        server: &str,
        lists_changed: &Arc<Notify>,
        tool_changes: &Arc<ToolChanges>,
        messages: &Messages,
        calls: &Arc<OpenCalls>,
    ) -> Self {
        UpstreamEvents {
            server: server.to_owned(),
            lists_changed: Arc::clone(lists_changed),
            tool_changes: Arc::clone(tool_changes),
            messages: messages.clone(),
            calls: Arc::clone(calls),
            subscribed: AtomicBool::new(false),
            rubbish: AtomicUsize::new(0),
        }
    }
}

impl UpstreamEvents {
    /// Passes a message on to whoever listens, under the server's name.
    fn pass_on(&self, said: &str) {
        if self.messages.receiver_count() == 0 || said.len() > MAX_MESSAGE {
            return;
        }
        let Ok(mut message) = serde_json::from_str::<Map<String, Value>>(said) else {
            return;
        };
        let logger = match message.get("logger").and_then(Value::as_str) {
            Some(logger) => format!("{}/{logger}", self.server),
            None => self.server.clone(),
        };
        message.insert("logger".to_owned(), json!(logger));
        // Nobody may have been left meanwhile.
        let _ = self.messages.send(Arc::new(message));
    }
}

impl ServerEvents for UpstreamEvents {
    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => {
                self.tool_changes.say();
                self.lists_changed.notify_one();
            }
            "notifications/prompts/list_changed" | "notifications/resources/list_changed" => {
                self.lists_changed.notify_one();
            }
            // A subscription that was made anew: what happened in between was not told.
            "notifications/subscriptions/acknowledged"
                if self.subscribed.swap(true, Ordering::Relaxed) =>
            {
                self.tool_changes.say();
                self.lists_changed.notify_one();
            }
            "notifications/message" => {
                let said = params.map(RawValue::get).unwrap_or_default();
                let end = said.floor_char_boundary(SHOWN);
                tracing::info!(server = self.server, "{}", &said[..end]);
                self.pass_on(said);
            }
            _ => {}
        }
    }

    fn asked(
        &self,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> BoxFuture<'static, Result<Box<RawValue>, ErrorAnswer>> {
        if method != questions::METHOD {
            return ready(Err(ErrorAnswer::no_method(method))).boxed();
        }
        let calls = Arc::clone(&self.calls);
        async move { calls.ask(params).await }.boxed()
    }

    fn rubbish(&self, text: &[u8]) {
        if self.rubbish.fetch_add(1, Ordering::Relaxed) < MAX_RUBBISH {
            let text = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned();
            tracing::warn!(server = self.server, "this is not a message: {text:?}");
        }
    }
}

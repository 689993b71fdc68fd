//! A handler whose calls can be watched, and held until the test lets them go.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use ahma_transport::SessionHandle;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomNotification, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, ServerNotification,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::Notify;

/// What handlers did, and what they wait for.
#[derive(Default)]
pub(super) struct Seen {
    events: Mutex<Vec<String>>,
    released: Mutex<HashSet<String>>,
    news: Notify,
}

impl Seen {
    fn note(&self, event: String) {
        self.events.lock().unwrap().push(event);
    }

    pub(super) fn has(&self, event: &str) -> bool {
        self.events.lock().unwrap().iter().any(|it| it == event)
    }

    /// As if nothing had happened yet.
    pub(super) fn forget(&self) {
        self.events.lock().unwrap().clear();
        self.released.lock().unwrap().clear();
    }

    /// Lets a call of `hold` or `lease` go.
    pub(super) fn release(&self, name: &str) {
        self.released.lock().unwrap().insert(name.to_owned());
        self.news.notify_waiters();
    }

    async fn released(&self, name: &str) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if self.released.lock().unwrap().contains(name) {
                return;
            }
            news.await;
        }
    }
}

pub(super) struct Handler(Arc<Seen>);

impl Handler {
    pub(super) fn new(seen: &Arc<Seen>) -> Self {
        Handler(Arc::clone(seen))
    }

    async fn hold(&self, name: String, context: &RequestContext<RoleServer>) -> String {
        self.0.note(format!("began {name}"));
        let life = context.extensions.get::<SessionHandle>().cloned();
        let over = async {
            match life {
                Some(life) => life.closed().cancelled().await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            () = self.0.released(&name) => "released",
            () = context.ct.cancelled() => "cancelled",
            () = over => "over",
        };
        self.0.note(format!("{outcome} {name}"));
        name
    }

    fn lease(&self, name: String, context: &RequestContext<RoleServer>) -> String {
        if let Some(life) = context.extensions.get::<SessionHandle>().cloned() {
            let (seen, held) = (Arc::clone(&self.0), name.clone());
            tokio::spawn(async move {
                let guard = life.guard();
                tokio::select! {
                    () = seen.released(&held) => {}
                    () = life.closed().cancelled() => seen.note(format!("over {held}")),
                }
                drop(guard);
            });
        }
        name
    }
}

async fn progress(number: u64, context: &RequestContext<RoleServer>) {
    if let Some(token) = context.meta.get_progress_token() {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let progress = ProgressNotificationParam::new(token, number as f64);
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// Tells whoever called how far it is, and everybody that something happened.
async fn news(count: u64, context: &RequestContext<RoleServer>) {
    for number in 0..count {
        progress(number, context).await;
        let params = serde_json::json!({ "number": number });
        let event = CustomNotification::new("notifications/test", Some(params));
        let event = ServerNotification::CustomNotification(event);
        let _ = context.peer.send_notification(event).await;
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(Vec::new()))
    }

    /// Every method can make a mistake.
    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        panic!("another mistake")
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        let answer = match &*request.name {
            "echo" => text("text"),
            "hold" => {
                let held = self.hold(text("name"), &context).await;
                if arguments["tells"] == true {
                    progress(0, &context).await;
                }
                held
            }
            "lease" => self.lease(text("name"), &context),
            "news" => {
                news(number("count"), &context).await;
                "told".to_owned()
            }
            "mistake" => panic!("a mistake"),
            "big" => "x".repeat(usize::try_from(number("bytes")).unwrap()),
            name => return Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(answer)]).into())
    }
}

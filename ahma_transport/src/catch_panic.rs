//! A handler around a handler: one log span per request, and a panic becomes an error.
//!
//! Without it the SDK leaves a request whose handler panicked without an answer, and the client waits for ever.
//! Forwards every method and must not do more. What a handler says of itself (`get_info`, versions, subscription
//! filter) is not guarded.

#![expect(
    deprecated,
    reason = "clients of 2025-11-25 and earlier use what 2026-07-28 has removed"
)]

use std::any::Any;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
    DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tracing::Instrument as _;

/// A handler whose log lines name the request, and whose panics are answered.
pub struct CatchPanic<H> {
    handler: H,
    name_of: NameRequest,
}

/// What a request is called in the log; only its transport knows.
type NameRequest = fn(&RequestContext<RoleServer>) -> String;

impl<H> CatchPanic<H> {
    /// Wraps a handler of a transport that names its requests this way.
    pub fn new(handler: H, name_of: NameRequest) -> Self {
        CatchPanic { handler, name_of }
    }
}

/// Answers a request, under its name in the log; when that panics, with an error.
async fn answered<T>(
    id: String,
    answering: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let span = tracing::info_span!("request", id);
    // State that requests share is behind locks whose contents are consistent after a panic.
    let outcome = AssertUnwindSafe(answering.instrument(span.clone()))
        .catch_unwind()
        .await;
    outcome.unwrap_or_else(|panic| {
        let what = text(panic.as_ref());
        span.in_scope(|| tracing::error!("the handler of a request panicked: {what}"));
        let why = format!(
            "internal error: the server failed to handle this request; its log has the details under {id}"
        );
        Err(ErrorData::internal_error(why, None))
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

macro_rules! requests {
    ($($method:ident($($request:ident: $params:ty)?) -> $result:ty;)*) => {$(
        async fn $method(
            &self,
            $($request: $params,)?
            context: RequestContext<RoleServer>,
        ) -> Result<$result, ErrorData> {
            // In a block of its own: what panics before it waits is caught too.
            let id = (self.name_of)(&context);
            answered(id, async { self.handler.$method($($request,)? context).await }).await
        }
    )*};
}

macro_rules! notifications {
    ($($method:ident($($told:ident: $params:ty)?);)*) => {$(
        async fn $method(&self, $($told: $params,)? context: NotificationContext<RoleServer>) {
            self.handler.$method($($told,)? context).await;
        }
    )*};
}

#[warn(
    clippy::missing_trait_methods,
    reason = "a method that a newer SDK adds with a default body would silently not reach the handler"
)]
impl<H: ServerHandler> ServerHandler for CatchPanic<H> {
    requests! {
        ping() -> ();
        initialize(request: InitializeRequestParams) -> InitializeResult;
        discover() -> DiscoverResult;
        complete(request: CompleteRequestParams) -> CompleteResult;
        set_level(request: SetLevelRequestParams) -> ();
        get_prompt(request: GetPromptRequestParams) -> GetPromptResponse;
        list_prompts(request: Option<PaginatedRequestParams>) -> ListPromptsResult;
        list_resources(request: Option<PaginatedRequestParams>) -> ListResourcesResult;
        list_resource_templates(request: Option<PaginatedRequestParams>) -> ListResourceTemplatesResult;
        read_resource(request: ReadResourceRequestParams) -> ReadResourceResponse;
        subscribe(request: SubscribeRequestParams) -> ();
        unsubscribe(request: UnsubscribeRequestParams) -> ();
        call_tool(request: CallToolRequestParams) -> CallToolResponse;
        list_tools(request: Option<PaginatedRequestParams>) -> ListToolsResult;
        on_custom_request(request: CustomRequest) -> CustomResult;
        get_task(request: GetTaskParams) -> GetTaskResult;
        update_task(request: UpdateTaskParams) -> ();
        cancel_task(request: CancelTaskParams) -> ();
    }

    // Each has a task of its own, whose panic reaches nobody.
    notifications! {
        on_cancelled(notification: CancelledNotificationParam);
        on_progress(notification: ProgressNotificationParam);
        on_initialized();
        on_roots_list_changed();
        on_custom_notification(notification: CustomNotification);
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let id = (self.name_of)(context.request_context());
        answered(id, async { self.handler.listen(context).await }).await
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        self.handler.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.handler.supported_protocol_versions()
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.handler.accepted_subscription_filter(requested)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.handler.get_tool(name)
    }

    fn get_info(&self) -> ServerConfig {
        self.handler.get_info()
    }
}

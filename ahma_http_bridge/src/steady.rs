//! What every request has around it, whatever its handler does: its name in the log, and an answer. A mistake of a handler
//! costs the request that met it, and nothing else.
//!
//! Without this, the SDK leaves a request whose handler panicked without an answer, and whoever asked waits.
//! Forwards every method of a handler; it must not do more. What a handler says of itself (its name, its versions, whether
//! it has subscriptions) is not looked after.

#![expect(
    deprecated,
    reason = "clients of the older lifecycle use what later ones do without"
)]

use std::any::Any;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use axum::http::request::Parts;
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

use crate::router::REQUEST_ID_HEADER;

/// A handler whose log lines name the request, and whose panics are answered.
#[derive(Debug)]
pub struct CatchPanic<H>(pub H);

/// What a request is called in the log.
fn request_id(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<Parts>();
    let header = parts.and_then(|parts| parts.headers.get(REQUEST_ID_HEADER)?.to_str().ok());
    header.map_or_else(|| format!("stdio-{}", context.id), str::to_owned)
}

/// Answers a request, under its name in the log; when that panics, with an error.
async fn answered<T>(
    id: String,
    answering: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let span = tracing::info_span!("request", id);
    // What requests share is behind locks whose contents are whole after a panic.
    let outcome = AssertUnwindSafe(answering.instrument(span.clone()))
        .catch_unwind()
        .await;
    outcome.unwrap_or_else(|panic| {
        let what = text(panic.as_ref());
        span.in_scope(|| tracing::error!("a request met a mistake of the server: {what}"));
        let why = format!(
            "the server made a mistake with this request; its log says more, at the request {id}"
        );
        Err(ErrorData::internal_error(why, None))
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say what")
}

macro_rules! requests {
    ($($method:ident($($request:ident: $params:ty)?) -> $result:ty;)*) => {$(
        async fn $method(
            &self,
            $($request: $params,)?
            context: RequestContext<RoleServer>,
        ) -> Result<$result, ErrorData> {
            // In a block of its own: what panics before it waits is caught too.
            let id = request_id(&context);
            answered(id, async { self.0.$method($($request,)? context).await }).await
        }
    )*};
}

macro_rules! notifications {
    ($($method:ident($($told:ident: $params:ty)?);)*) => {$(
        async fn $method(&self, $($told: $params,)? context: NotificationContext<RoleServer>) {
            self.0.$method($($told,)? context).await;
        }
    )*};
}

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
        let id = request_id(context.request_context());
        answered(id, async { self.0.listen(context).await }).await
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        self.0.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }
}

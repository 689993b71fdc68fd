//! Results that the SDK could not carry whole: fields and kinds of content that it does not know.
//!
//! A handler leaves such a result in the [`RawSlot`] of its request, and answers with anything; what is sent is the result
//! in the slot. Must not look into results.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, Extensions, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

/// The kind of a result that asks the client something, since 2026-07-28.
pub const QUESTION: &str = "input_required";

/// Where a handler leaves the result of one request. Found in the extensions of the request.
#[derive(Debug, Clone, Default)]
pub struct RawSlot(Arc<Mutex<Option<Value>>>);

impl RawSlot {
    /// Leaves a result.
    pub fn put(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// The slot of a request: put there by [`RawResults`], or by whoever received it over HTTP.
    pub fn of(extensions: &Extensions) -> Option<RawSlot> {
        let over_http = || {
            let parts = extensions.get::<http::request::Parts>()?;
            parts.extensions.get::<RawSlot>().cloned()
        };
        let own = extensions.get::<RawSlot>().cloned();
        own.or_else(over_http)
    }

    /// Whether there is a result.
    pub fn is_filled(&self) -> bool {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.is_some()
    }

    /// Takes the result, in the form of the lifecycle that its client speaks.
    pub fn take(&self, is_stateless: bool) -> Option<Value> {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Value::Object(mut result)) = left else {
            return None;
        };
        // It belongs to one hop: the other server may speak another revision. Only a question is passed on as one.
        let is_question = result.get("resultType").is_some_and(|it| it == QUESTION);
        match is_stateless {
            true if is_question => {}
            true => drop(result.insert("resultType".to_owned(), "complete".into())),
            false => drop(result.shift_remove("resultType")),
        }
        Some(Value::Object(result))
    }
}

/// A handler whose results may be more than the SDK knows.
pub struct RawResults<H>(pub H);

impl<H: ServerHandler> Service<RoleServer> for RawResults<H> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_one = matches!(
            request,
            ClientRequest::CallToolRequest(_)
                | ClientRequest::ListToolsRequest(_)
                | ClientRequest::GetPromptRequest(_)
                | ClientRequest::ListPromptsRequest(_)
                | ClientRequest::ListResourcesRequest(_)
                | ClientRequest::ListResourceTemplatesRequest(_)
                | ClientRequest::ReadResourceRequest(_)
        );
        if !is_one {
            return Service::handle_request(&self.0, request, context).await;
        }
        let slot = RawSlot::default();
        context.extensions.insert(slot.clone());
        let version = context.protocol_version();
        let is_stateless = version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28);
        let answer = Service::handle_request(&self.0, request, context).await?;
        Ok(match slot.take(is_stateless) {
            Some(result) => ServerResult::CustomResult(CustomResult(result)),
            None => answer,
        })
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

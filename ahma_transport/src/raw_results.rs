//! Results that the SDK could not carry whole: fields and kinds of content that it does not know.
//!
//! A handler leaves such a result in the [`RawSlot`] of its request, and answers with anything; what is sent is the result
//! in the slot. Must not look into results.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

/// Where a handler leaves the result of one request. Found in the extensions of the request.
#[derive(Debug, Clone, Default)]
pub struct RawSlot(Arc<Mutex<Option<Value>>>);

impl RawSlot {
    /// Leaves a result.
    pub fn put(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
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
            ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_)
        );
        if !is_one {
            return Service::handle_request(&self.0, request, context).await;
        }
        let slot = RawSlot::default();
        context.extensions.insert(slot.clone());
        let version = context.protocol_version();
        let is_stateless = version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28);
        let answer = Service::handle_request(&self.0, request, context).await?;
        Ok(match slot.take() {
            Some(Value::Object(mut result)) => {
                // It belongs to one hop: the other server may speak another revision.
                match is_stateless {
                    true => drop(result.insert("resultType".to_owned(), "complete".into())),
                    false => drop(result.shift_remove("resultType")),
                }
                ServerResult::CustomResult(CustomResult(Value::Object(result)))
            }
            Some(_) | None => answer,
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

//! Messages to the client, with the ids that the client knows.

use ahma_transport::RequestIds;
use rmcp::model::{GetMeta as _, ServerJsonRpcMessage, ServerResult};

/// Where the id of a subscription stands in a result.
const SUBSCRIPTION_ID: &str = "/_meta/io.modelcontextprotocol~1subscriptionId";

/// Puts the client's ids into a message that goes out; whether it may go out. What belongs to a request that was
/// cancelled may not: nobody waits for it, and its inner id is nobody's business.
pub(super) fn restore(ids: &mut RequestIds<()>, message: &mut ServerJsonRpcMessage) -> bool {
    match message {
        ServerJsonRpcMessage::Response(response) => {
            let Some((outer, ())) = ids.answered(&response.id) else {
                return false;
            };
            match &mut response.result {
                ServerResult::SubscriptionsListenResult(result) => {
                    result.meta.set_subscription_id(outer.clone());
                }
                ServerResult::CustomResult(result) => {
                    if let Some(id) = result.0.pointer_mut(SUBSCRIPTION_ID) {
                        *id = serde_json::json!(outer);
                    }
                }
                _ => {}
            }
            response.id = outer;
            true
        }
        ServerJsonRpcMessage::Error(error) => match error.id.take() {
            Some(id) => {
                error.id = ids.answered(&id).map(|(outer, ())| outer);
                error.id.is_some()
            }
            None => true,
        },
        ServerJsonRpcMessage::Notification(message) => {
            let meta = message.notification.get_meta_mut();
            let Some(subscription) = meta.subscription_id() else {
                return true;
            };
            let outer = ids.get(&subscription).map(|(outer, ())| outer.clone());
            let is_known = outer.is_some();
            if let Some(outer) = outer {
                meta.set_subscription_id(outer);
            }
            is_known
        }
        // Its id is ours.
        ServerJsonRpcMessage::Request(_) => true,
    }
}

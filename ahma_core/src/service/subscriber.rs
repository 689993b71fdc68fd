//! A client of 2026-07-28 that has subscribed, and what it is told. Must not tell anything that it has not asked for.

use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, GetMeta as _, PromptListChangedNotification, RequestId,
    ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification, SubscriptionFilter, SubscriptionsListenResult, ToolListChangedNotification,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use serde_json::{Value, json};

/// A client that has subscribed.
pub(super) struct Subscriber {
    peer: Peer<RoleServer>,
    id: RequestId,
    /// What it wants to hear of.
    pub(super) wanted: SubscriptionFilter,
}

impl Subscriber {
    /// One whose subscription the SDK has accepted.
    pub(super) fn of(subscription: &SubscriptionContext) -> Self {
        let request = subscription.request_context();
        Subscriber {
            peer: request.peer.clone(),
            id: request.id.clone(),
            wanted: subscription.accepted().clone(),
        }
    }

    /// One whose subscription the SDK could not read: it names tasks too. Says what was accepted of it.
    pub(super) async fn accepted(
        request: &RequestContext<RoleServer>,
        wanted: SubscriptionFilter,
        tasks: &[String],
    ) -> Self {
        let subscriber = Subscriber {
            peer: request.peer.clone(),
            id: request.id.clone(),
            wanted,
        };
        let mut accepted = json!(subscriber.wanted);
        accepted["taskIds"] = json!(tasks);
        let params = json!({ "notifications": accepted });
        subscriber
            .custom("notifications/subscriptions/acknowledged", params)
            .await;
        subscriber
    }

    /// Tells that the list of tools has changed; whether it is still there.
    pub(super) async fn tools_changed(&self) -> bool {
        let changed = ToolListChangedNotification {
            method: Default::default(),
            extensions: Default::default(),
        };
        self.wanted.tools_list_changed != Some(true)
            || self
                .send(ServerNotification::ToolListChangedNotification(changed))
                .await
    }

    /// The same of prompts.
    pub(super) async fn prompts_changed(&self) -> bool {
        let changed = PromptListChangedNotification {
            method: Default::default(),
            extensions: Default::default(),
        };
        self.wanted.prompts_list_changed != Some(true)
            || self
                .send(ServerNotification::PromptListChangedNotification(changed))
                .await
    }

    /// The same of resources.
    pub(super) async fn resources_changed(&self) -> bool {
        let changed = ResourceListChangedNotification {
            method: Default::default(),
            extensions: Default::default(),
        };
        self.wanted.resources_list_changed != Some(true)
            || self
                .send(ServerNotification::ResourceListChangedNotification(changed))
                .await
    }

    /// Tells that a resource has changed.
    pub(super) async fn resource_updated(&self, uri: String) -> bool {
        let updated = ResourceUpdatedNotificationParam::new(uri);
        let updated = ResourceUpdatedNotification::new(updated);
        self.send(ServerNotification::ResourceUpdatedNotification(updated))
            .await
    }

    /// Tells of something that the SDK does not know.
    pub(super) async fn custom(&self, method: &str, params: Value) -> bool {
        let custom = CustomNotification::new(method, Some(params));
        self.send(ServerNotification::CustomNotification(custom))
            .await
    }

    /// The result of a subscription that has ended, as the SDK would give it.
    pub(super) fn last_word(&self) -> Value {
        json!(SubscriptionsListenResult::complete(self.id.clone()))
    }

    async fn send(&self, mut notification: ServerNotification) -> bool {
        notification
            .get_meta_mut()
            .set_subscription_id(self.id.clone());
        self.peer.send_notification(notification).await.is_ok()
    }
}

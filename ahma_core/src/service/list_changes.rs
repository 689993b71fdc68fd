//! Changes of lists, as one client sees them and is told of them.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::Tool;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;

use crate::registry::{ForeignContent, ForeignServers, Registry, ToolSnapshot};

/// What a client has seen of the list, and what comes after.
pub(super) struct ListChanges {
    seen: Arc<[Arc<Tool>]>,
    changes: watch::Receiver<Arc<ToolSnapshot>>,
}

impl ListChanges {
    /// Changes from what a client could have seen.
    pub(super) fn since(seen: &ToolSnapshot, registry: &Registry) -> Self {
        ListChanges {
            changes: registry.changes(),
            seen: Arc::clone(seen.listed()),
        }
    }

    /// Waits until the list differs from the one the client knows; `false` when the server ends.
    pub(super) async fn next(&mut self) -> bool {
        loop {
            let now = Arc::clone(self.changes.borrow_and_update().listed());
            if !Arc::ptr_eq(&now, &self.seen) && now != self.seen {
                self.seen = now;
                return true;
            }
            if self.changes.changed().await.is_err() {
                return false;
            }
        }
    }
}

/// What a client could have seen of prompts and resources, and what comes after.
pub(super) struct ContentChanges(Option<(Arc<ForeignContent>, Content)>);

type Content = watch::Receiver<Arc<ForeignContent>>;

/// Which of these lists have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedContent {
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl ContentChanges {
    /// Changes from now on.
    pub(super) fn of(foreign: Option<&Arc<dyn ForeignServers>>) -> Self {
        ContentChanges(foreign.map(|foreign| {
            let content = foreign.content();
            let seen = Arc::clone(&content.borrow());
            (seen, content)
        }))
    }

    /// Waits until one of them differs from what the client knows; for ever where nothing can change.
    pub(super) async fn next(&mut self) -> ChangedContent {
        if let Some((seen, content)) = &mut self.0 {
            while content.changed().await.is_ok() {
                let now = Arc::clone(&content.borrow_and_update());
                let before = std::mem::replace(seen, now);
                let changed = ChangedContent {
                    prompts: before.prompts != seen.prompts,
                    resources: before.resources != seen.resources
                        || before.resource_templates != seen.resource_templates,
                };
                if changed.prompts || changed.resources {
                    return changed;
                }
            }
        }
        std::future::pending().await
    }
}

/// Tells a client of changes until nobody listens. From the moment that it has tools of its own, those count, which is a change in
/// itself.
pub(super) async fn tell_client(
    peer: &Peer<RoleServer>,
    (mut list, mut content): (ListChanges, ContentChanges),
    own_tools: impl Future<Output = ListChanges>,
    closed: impl Future<Output = ()>,
) {
    tokio::pin!(closed, own_tools);
    let mut has_own_tools = false;
    loop {
        let has_changed = tokio::select! {
            has_changed = list.next() => has_changed,
            own = &mut own_tools, if !has_own_tools => {
                has_own_tools = true;
                list = own;
                continue;
            }
            changed = content.next() => {
                // Who is gone is noticed by the session.
                if changed.prompts {
                    let _ = peer.notify_prompt_list_changed().await;
                }
                if changed.resources {
                    let _ = peer.notify_resource_list_changed().await;
                }
                continue;
            }
            () = &mut closed => false,
        };
        if !has_changed || peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// Tells a subscriber of the changes that it wants to hear of, until it is gone.
pub(super) async fn tell_subscriber(
    subscription: &SubscriptionContext,
    (mut list, mut content): (ListChanges, ContentChanges),
) {
    let accepted = subscription.accepted();
    let wants_tools = accepted.tools_list_changed == Some(true);
    let wants_prompts = accepted.prompts_list_changed == Some(true);
    let wants_resources = accepted.resources_list_changed == Some(true);
    let sink = subscription.sink();
    loop {
        tokio::select! {
            () = subscription.cancelled() => return,
            has_changed = list.next(), if wants_tools => {
                let sent = sink.notify_tool_list_changed().await;
                if !has_changed || sent.is_err() {
                    return;
                }
            }
            changed = content.next(), if wants_prompts || wants_resources => {
                if changed.prompts && wants_prompts && sink.notify_prompt_list_changed().await.is_err() {
                    return;
                }
                if changed.resources && wants_resources && sink.notify_resource_list_changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

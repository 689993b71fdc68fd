//! Changes of lists, as one client sees them and is told of them.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::Tool;
use rmcp::service::Peer;
use serde_json::Value;
use tokio::sync::watch;

use super::content::{ContentKind, merged};
use super::subscriber::Subscriber;
use crate::registry::{ContentLists, DeclaredContent, ForeignServers, Registry, ToolSnapshot};

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
pub(super) struct ContentChanges {
    own: watch::Receiver<Arc<DeclaredContent>>,
    others: Option<watch::Receiver<Arc<ContentLists>>>,
    seen: Lists,
}

/// Prompts, resources and kinds of resources, as clients list them.
type Lists = [Vec<Value>; 3];

/// Which of these lists have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedContent {
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl ContentChanges {
    /// Changes from now on, of files and of other servers.
    pub(super) fn of(registry: &Registry, foreign: Option<&Arc<dyn ForeignServers>>) -> Self {
        let mut changes = ContentChanges {
            own: registry.content(),
            others: foreign.map(|it| it.content()),
            seen: Lists::default(),
        };
        changes.seen = changes.now();
        changes
    }

    /// From now on the files of another scope count.
    fn of_scope(&mut self, registry: &Registry) {
        self.own = registry.content();
        self.own.mark_changed();
    }

    fn now(&mut self) -> Lists {
        let own = Arc::clone(&self.own.borrow_and_update());
        let others = self
            .others
            .as_mut()
            .map(|it| Arc::clone(&it.borrow_and_update()));
        let others = others.unwrap_or_default();
        [
            ContentKind::Prompts,
            ContentKind::Resources,
            ContentKind::Templates,
        ]
        .map(|kind| merged(kind, own.lists(), &others))
    }

    /// Waits until one of them differs from what the client knows; for ever where nothing can change.
    pub(super) async fn next(&mut self) -> ChangedContent {
        loop {
            let others = async {
                match &mut self.others {
                    Some(others) => others.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            let is_there = tokio::select! {
                changed = self.own.changed() => changed.is_ok(),
                is_there = others => is_there,
            };
            if !is_there {
                std::future::pending::<()>().await;
            }
            let now = self.now();
            let before = std::mem::replace(&mut self.seen, now);
            let changed = ChangedContent {
                prompts: before[0] != self.seen[0],
                resources: before[1..] != self.seen[1..],
            };
            if changed.prompts || changed.resources {
                return changed;
            }
        }
    }
}

/// Tells a client of changes until nobody listens. From the moment that it has tools of its own, those count, which is a change in
/// itself.
pub(super) async fn tell_client(
    peer: &Peer<RoleServer>,
    (mut list, mut content): (ListChanges, ContentChanges),
    own_tools: impl Future<Output = (ListChanges, Arc<Registry>)>,
    closed: impl Future<Output = ()>,
) {
    tokio::pin!(closed, own_tools);
    let mut has_own_tools = false;
    loop {
        let has_changed = tokio::select! {
            has_changed = list.next() => has_changed,
            (own, registry) = &mut own_tools, if !has_own_tools => {
                has_own_tools = true;
                list = own;
                content.of_scope(&registry);
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
    subscriber: &Subscriber,
    (mut list, mut content): (ListChanges, ContentChanges),
) {
    loop {
        let is_there = tokio::select! {
            has_changed = list.next() => has_changed && subscriber.tools_changed().await,
            changed = content.next() => {
                (!changed.prompts || subscriber.prompts_changed().await)
                    && (!changed.resources || subscriber.resources_changed().await)
            }
        };
        if !is_there {
            return;
        }
    }
}

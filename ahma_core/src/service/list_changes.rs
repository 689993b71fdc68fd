//! Changes of lists, as one client sees them.

use std::sync::Arc;

use rmcp::model::Tool;
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

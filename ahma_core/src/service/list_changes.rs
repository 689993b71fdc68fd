//! Changes of the list of tools, as one client sees them.

use std::sync::Arc;

use rmcp::model::Tool;
use tokio::sync::watch;

use crate::registry::{Registry, ToolSnapshot};

/// What a client has seen of the list, and what comes after.
pub(super) struct ListChanges {
    seen: Arc<[Tool]>,
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

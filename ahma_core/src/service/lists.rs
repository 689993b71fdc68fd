//! The list of tools, and who has to hear that it is another one.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool;
use tokio::sync::watch;

use super::{ServiceState, declared};
use crate::registry::ToolSnapshot;

/// The declared tools as clients see them, made once for all of them.
#[derive(Debug, Default)]
pub struct ListedTools(Mutex<Option<Known>>);

/// A snapshot, and its tools.
type Known = (Arc<ToolSnapshot>, Arc<[Tool]>);

impl ListedTools {
    /// Those of a snapshot.
    pub(super) fn of(&self, snapshot: &Arc<ToolSnapshot>, always_sync: bool) -> Arc<[Tool]> {
        // What is remembered is whole after any panic.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, tools)) = &*known
            && Arc::ptr_eq(of, snapshot)
        {
            return Arc::clone(tools);
        }
        let tools = snapshot.tools().iter();
        let tools: Arc<[Tool]> = tools.map(|it| declared::tool(it, always_sync)).collect();
        *known = Some((Arc::clone(snapshot), Arc::clone(&tools)));
        tools
    }
}

/// What a client has been told of the list of tools.
pub(super) struct ListChanges {
    state: Arc<ServiceState>,
    seen: Arc<[Tool]>,
    changes: watch::Receiver<Arc<ToolSnapshot>>,
}

impl ListChanges {
    /// Changes from what a client could have seen.
    pub(super) fn since(seen: Arc<[Tool]>, state: &Arc<ServiceState>) -> Self {
        ListChanges {
            changes: state.registry.changes(),
            state: Arc::clone(state),
            seen,
        }
    }

    /// Waits until the list is another than the one the client knows of; `false` when the server ends.
    pub(super) async fn next(&mut self) -> bool {
        loop {
            let now = self.changes.borrow_and_update().clone();
            let now = self.state.declared(&now);
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

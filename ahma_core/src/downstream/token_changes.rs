//! Changes of the directory that tokens are kept in, whoever makes them. Must not say which.

use ahma_http_mcp_client::auth::TokenStore;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::spawn_blocking;

/// Tells of changes for as long as it is held.
pub(super) struct TokenChanges {
    changes: Receiver<()>,
    _watcher: Option<RecommendedWatcher>,
}

impl TokenChanges {
    /// Begins to watch. Where that is not possible, nothing is told.
    pub(super) async fn watch(store: &TokenStore) -> Self {
        let (told, changes) = channel(1);
        let directory = store.directory().to_owned();
        let watching = spawn_blocking(move || {
            // One word is enough, however much happens.
            let heard = move |_| {
                let _ = told.try_send(());
            };
            let mut watcher = notify::recommended_watcher(heard).ok()?;
            let watched = watcher.watch(&directory, RecursiveMode::NonRecursive);
            watched.ok().map(|()| watcher)
        });
        TokenChanges {
            changes,
            _watcher: watching.await.ok().flatten(),
        }
    }

    /// Waits for the next change.
    pub(super) async fn next(&mut self) {
        if self.changes.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

//! Tool files that change while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_sandbox::{SandboxPolicy, SandboxReport};
use tokio::sync::Notify;

use super::sources::ToolSources;
use crate::config::load;
use crate::executor::AvailabilityJudge;
use crate::registry::{Registry, ToolSnapshot, Verdicts, Watcher};

/// Where reloading takes its files from.
pub(super) struct Reload {
    pub(super) sources: ToolSources,
    pub(super) project: PathBuf,
    /// The operator asks for it.
    pub(super) asked: Arc<Notify>,
}

impl Reload {
    /// The tools as the files are now; a file that is broken keeps what it was `before`.
    pub(super) fn read(&self, before: &ToolSnapshot) -> Result<ToolSnapshot, String> {
        let catalog = load(self.sources.read()?);
        Ok(ToolSnapshot::new(catalog, &self.project, before))
    }

    /// Reads the files again whenever they change or the operator asks, for ever. Directories that commands
    /// can write are read again only when the operator asks.
    pub(super) async fn keep_current(
        self,
        registry: Arc<Registry>,
        watched: Vec<PathBuf>,
        judge: AvailabilityJudge,
    ) {
        let reload = Arc::new(self);
        let mut watcher = Watcher::new(watched).ok();
        // Something may have changed before anyone watched.
        reload.asked.notify_one();
        loop {
            let changed = async {
                match &mut watcher {
                    Some(watcher) => watcher.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = reload.asked.notified() => {}
            }
            let (work, before) = (Arc::clone(&reload), registry.current());
            let read = tokio::task::spawn_blocking(move || work.read(&before)).await;
            // A directory that cannot be read now, for instance while it is replaced, changes nothing.
            let Ok(Ok(snapshot)) = read else {
                continue;
            };
            let checks = snapshot.checks();
            registry.publish(snapshot);
            // The tools that need no check are there; the others follow.
            let verdicts: Verdicts = judge.judge(checks).await.into_iter().collect();
            let current = registry.current();
            if *current.verdicts() != verdicts {
                registry.publish(current.judged(verdicts));
            }
        }
    }
}

/// Whether commands cannot write a directory: it is out of their reach, or protected.
pub(super) fn is_safe(directory: &Path, policy: &SandboxPolicy, report: &SandboxReport) -> bool {
    let Ok(real) = directory.canonicalize() else {
        return false;
    };
    let mut writable = policy.write.iter().chain([&policy.scope]);
    let mut protected = report.protected.iter();
    !writable.any(|root| real.starts_with(root)) || protected.any(|path| real.starts_with(path))
}

//! Notices that something has changed in directories of tool files.
//!
//! It watches the directories, not the files: editors replace files, and half-written ones are followed
//! by more events. It tells that something happened, not what; everything is read again then.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// Events within this time belong together.
const QUIET: Duration = Duration::from_millis(150);
/// A storm of events is not waited out for longer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Watches directories.
pub(crate) struct Watcher {
    watcher: RecommendedWatcher,
    directories: Vec<PathBuf>,
    events: mpsc::Receiver<()>,
}

impl Watcher {
    /// Watches these, and notices when one of them is replaced.
    pub(crate) fn new(directories: Vec<PathBuf>) -> notify::Result<Self> {
        // One event that waits is enough: whoever gets it reads everything.
        let (sender, events) = mpsc::channel(1);
        let watched = directories.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_of_interest(&event, &watched)) {
                let _ = sender.try_send(());
            }
        })?;
        let mut watcher = Watcher {
            watcher,
            directories,
            events,
        };
        watcher.watch();
        Ok(watcher)
    }

    /// Waits until something has changed and no more events come.
    pub(crate) async fn changed(&mut self) {
        if self.events.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let end = Instant::now() + TIMEOUT;
        while let Ok(Ok(Some(()))) = timeout_at(end, timeout(QUIET, self.events.recv())).await {}
        // A directory may have been replaced by another one of the same name.
        self.watch();
    }

    /// Watches the directories that have these names now. One that is not there is seen when it comes back,
    /// by the one above it.
    pub(crate) fn watch(&mut self) {
        for directory in &self.directories {
            let above = directory.parent().filter(|above| *above != Path::new(""));
            for path in above.into_iter().chain([directory.as_path()]) {
                let _ = self.watcher.watch(path, RecursiveMode::NonRecursive);
            }
        }
    }
}

/// Reading a file is not a change; neither is what happens beside the directories.
fn is_of_interest(event: &notify::Event, directories: &[PathBuf]) -> bool {
    let mut paths = event.paths.iter();
    // After too much at once nobody knows what happened.
    event.need_rescan()
        || !event.kind.is_access()
            && paths.any(|path| directories.iter().any(|it| path.starts_with(it)))
}

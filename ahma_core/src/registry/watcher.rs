//! Notices that something has changed in directories of tool files, or that another file has.
//!
//! It watches the directories, not the files: editors replace files, and half-written ones are followed
//! by more events. It tells that something happened, not what; everything is read again then.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

/// Events within this time belong together.
const QUIET: Duration = Duration::from_millis(150);
/// A storm of events is not waited out for longer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Watches directories, or a file.
pub(crate) struct Watcher {
    watcher: Arc<Mutex<RecommendedWatcher>>,
    watched: Watched,
    events: mpsc::Receiver<()>,
}

/// What is watched.
#[derive(Clone)]
enum Watched {
    Directories(Vec<PathBuf>),
    /// A file that may not be there yet. Its directory is watched, and the one above.
    #[cfg(feature = "cli")]
    File(PathBuf),
}

impl Watcher {
    /// Watches these. One that comes later is noticed from the first [`watch`](Self::watch) on: to watch the directories above
    /// may take long, because their size is nobody's choice here.
    pub(crate) fn new(directories: Vec<PathBuf>) -> notify::Result<Self> {
        Self::of(Watched::Directories(directories))
    }

    /// Watches a file, which may be replaced, or a link.
    #[cfg(feature = "cli")]
    pub(crate) fn of_file(file: PathBuf) -> notify::Result<Self> {
        let watcher = Self::of(Watched::File(file))?;
        watch_paths(&watcher.watcher, &watcher.watched, true);
        Ok(watcher)
    }

    fn of(watched: Watched) -> notify::Result<Self> {
        // One event that waits is enough: whoever gets it reads everything.
        let (sender, events) = mpsc::channel(1);
        let interesting = watched.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_of_interest(&event, &interesting)) {
                let _ = sender.try_send(());
            }
        })?;
        let watcher = Watcher {
            watcher: Arc::new(Mutex::new(watcher)),
            watched,
            events,
        };
        watch_paths(&watcher.watcher, &watcher.watched, false);
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
        self.watch().await;
    }

    /// Watches the directories that have these names now. One that is not there is seen when it comes back,
    /// by the one above it. Beside the runtime: how many entries a directory has, others decide.
    pub(crate) async fn watch(&self) {
        let (watcher, watched) = (Arc::clone(&self.watcher), self.watched.clone());
        let watching = spawn_blocking(move || watch_paths(&watcher, &watched, true));
        // It fails only when the program ends.
        let _ = watching.await;
    }
}

/// Watches what has these names now, and what is above it. Blocks.
fn watch_paths(watcher: &Mutex<RecommendedWatcher>, watched: &Watched, with_above: bool) {
    let directories = match watched {
        Watched::Directories(directories) => directories.clone(),
        #[cfg(feature = "cli")]
        Watched::File(file) => directories_of(file),
    };
    // Nothing of it is left half changed by a panic.
    let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
    for directory in &directories {
        let above = directory.parent().filter(|above| *above != Path::new(""));
        let above = above.filter(|_| with_above);
        for path in above.into_iter().chain([directory.as_path()]) {
            let _ = watcher.watch(path, RecursiveMode::NonRecursive);
        }
    }
}

/// Where a file is, and where it leads to.
#[cfg(feature = "cli")]
fn directories_of(file: &Path) -> Vec<PathBuf> {
    let files = [Some(file.to_owned()), file.canonicalize().ok()];
    let directories = files.iter().flatten().filter_map(|it| it.parent());
    directories.map(Path::to_owned).collect()
}

/// Reading a file is not a change; neither is what happens beside what is watched.
fn is_of_interest(event: &notify::Event, watched: &Watched) -> bool {
    let mut paths = event.paths.iter();
    let is_meant = |path: &PathBuf| match watched {
        Watched::Directories(directories) => directories.iter().any(|it| path.starts_with(it)),
        // A directory on the way to it, too.
        #[cfg(feature = "cli")]
        Watched::File(file) => {
            file.starts_with(path) || file.canonicalize().is_ok_and(|it| it.starts_with(path))
        }
    };
    // After too much at once nobody knows what happened.
    event.need_rescan() || !event.kind.is_access() && paths.any(is_meant)
}

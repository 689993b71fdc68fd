//! Tells that something has changed in directories that somebody is interested in. One watch for all: the system gives few of them.
//!
//! Says that something happened, not what: whoever is told looks for himself. Must not open files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::light_watch::LightWatch;

/// Directories that are watched at the same time.
const MAX_DIRECTORIES: usize = 1000;

/// Tells of changes in directories.
#[derive(Default)]
pub(crate) struct FileWatch {
    watching: Mutex<Option<Watching>>,
    /// How many changes there were.
    changes: Arc<LightWatch<u64>>,
}

struct Watching {
    watcher: RecommendedWatcher,
    /// How many are interested in each.
    directories: HashMap<PathBuf, usize>,
}

/// A directory that is watched as long as this is kept.
pub(crate) struct WatchedDirectory {
    watch: Arc<FileWatch>,
    directory: PathBuf,
}

impl FileWatch {
    /// Watches a directory, not those below it. One that is not there is not watched, which is no fault. May block.
    pub(crate) fn watch(self: &Arc<Self>, directory: &Path) -> Result<WatchedDirectory, String> {
        let mut watching = self.watching();
        if watching.is_none() {
            let changes = Arc::clone(&self.changes);
            let watcher =
                notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                    // Reading a file is no change.
                    if event.is_ok_and(|it| it.need_rescan() || !it.kind.is_access()) {
                        changes.change(|count| {
                            *count += 1;
                            true
                        });
                    }
                });
            let watcher = watcher.map_err(|error| format!("files cannot be watched: {error}"))?;
            *watching = Some(Watching {
                watcher,
                directories: HashMap::new(),
            });
        }
        if let Some(watching) = watching.as_mut() {
            let is_new = !watching.directories.contains_key(directory);
            if is_new && watching.directories.len() >= MAX_DIRECTORIES {
                return Err(format!(
                    "{MAX_DIRECTORIES} directories are watched already, which is the most"
                ));
            }
            *watching
                .directories
                .entry(directory.to_owned())
                .or_default() += 1;
            // Again, too: another directory may have taken its place.
            let _ = watching
                .watcher
                .watch(directory, RecursiveMode::NonRecursive);
        }
        Ok(WatchedDirectory {
            watch: Arc::clone(self),
            directory: directory.to_owned(),
        })
    }

    /// How many changes there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.changes.read(|count| *count)
    }

    /// Waits until there were more than that; how many there are then.
    pub(crate) async fn changed(&self, seen: u64) -> u64 {
        let more = |count: &u64| Some(*count).filter(|it| *it > seen);
        self.changes.wait(more).await
    }

    fn watching(&self) -> MutexGuard<'_, Option<Watching>> {
        // Counts that are off by one after a panic do no harm.
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchedDirectory {
    fn drop(&mut self) {
        let mut watching = self.watch.watching();
        let Some(all) = watching.as_mut() else { return };
        let Some(count) = all.directories.get_mut(&self.directory) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            all.directories.remove(&self.directory);
            let _ = all.watcher.unwatch(&self.directory);
        }
        // The system gives few of them.
        if all.directories.is_empty() {
            *watching = None;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn whoever_is_interested_is_told_and_nothing_is_kept_for_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let watch = Arc::new(FileWatch::default());
        let one = watch.watch(directory.path()).unwrap();
        let other = watch.watch(directory.path()).unwrap();
        drop(one);
        let before = watch.count();
        fs::write(directory.path().join("f"), "x").unwrap();
        assert!(watch.changed(before).await > before);
        drop(other);
        assert!(watch.watching().is_none());
    }

    #[test]
    fn directories_beyond_the_limit_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let watch = Arc::new(FileWatch::default());
        let at = |number: usize| base.path().join(number.to_string());
        let kept: Vec<_> = (0..MAX_DIRECTORIES)
            .map(|it| watch.watch(&at(it)).unwrap())
            .collect();
        assert!(watch.watch(&at(0)).is_ok(), "one that is watched already");
        assert!(watch.watch(&at(MAX_DIRECTORIES)).is_err());
        drop(kept);
    }
}

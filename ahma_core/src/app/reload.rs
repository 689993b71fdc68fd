//! Tool files that change while the server runs.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_sandbox::{SandboxPolicy, SandboxReport};
use tokio::sync::Notify;

use super::settings::Settings;
use super::sources::ToolSources;
use crate::config::load;
use crate::executor::AvailabilityJudge;
use crate::registry::{Registry, ToolSnapshot, Verdicts, Watcher};

/// Where reloading takes its files from.
pub(super) struct Reload {
    sources: ToolSources,
    project: PathBuf,
    /// The operator asks for it.
    pub(super) asked: Arc<Notify>,
}

impl Reload {
    /// Of the project in the scope.
    pub(super) fn of(settings: &Settings) -> Self {
        Reload {
            sources: settings.tools.clone(),
            project: settings.scope.clone(),
            asked: Arc::default(),
        }
    }

    /// The tools as the files are now; a file that is broken keeps what it was `before`.
    pub(super) fn read(&self, before: &ToolSnapshot) -> Result<ToolSnapshot, String> {
        let catalog = load(self.sources.read()?);
        let snapshot = ToolSnapshot::new(catalog, &self.project, before);
        report_rejected(&snapshot);
        Ok(snapshot)
    }

    /// Reads the files again whenever they change or the operator asks, for ever.
    ///
    /// All of them are read at once. So they are read because of a change only where commands can write none
    /// of the directories, and none has been replaced: what protects a directory is not there for another one
    /// in its place. Otherwise the operator has to ask.
    pub(super) async fn keep_current(
        self,
        registry: Arc<Registry>,
        are_safe: bool,
        judge: AvailabilityJudge,
    ) {
        let reload = Arc::new(self);
        let directories = reload.sources.directories();
        let mut known = identities(&directories);
        let watched = are_safe && !directories.is_empty();
        let mut watcher = watched
            .then(|| Watcher::new(directories.clone()).ok())
            .flatten();
        // Something may have changed before anyone watched.
        let mut is_due = watcher.is_some();
        loop {
            if is_due && !reload.take_over(&registry).await {
                is_due = false;
                continue;
            }
            // The tools that need no check are there; the others follow.
            let checks = registry.current().checks();
            let verdicts: Verdicts = judge.judge(checks).await.into_iter().collect();
            let current = registry.current();
            if *current.verdicts() != verdicts {
                registry.publish(current.judged(verdicts));
            }
            loop {
                let changed = async {
                    match &mut watcher {
                        Some(watcher) => watcher.changed().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = changed => {
                        if identities(&directories) == known {
                            break;
                        }
                    }
                    () = reload.asked.notified() => {
                        known = identities(&directories);
                        if let Some(watcher) = &mut watcher {
                            watcher.watch();
                        }
                        break;
                    }
                }
            }
            is_due = true;
        }
    }

    /// Reads the files and publishes what they say; whether that was possible. A directory that cannot be
    /// read now changes nothing.
    async fn take_over(self: &Arc<Self>, registry: &Registry) -> bool {
        let (work, before) = (Arc::clone(self), registry.current());
        let read = tokio::task::spawn_blocking(move || work.read(&before)).await;
        match read {
            Ok(Ok(snapshot)) => {
                tracing::info!(tools = snapshot.leaves().len(), "tool files read");
                registry.publish(snapshot);
                true
            }
            Ok(Err(error)) => {
                tracing::warn!("{error}; the tools stay as they were");
                false
            }
            Err(_) => false,
        }
    }
}

fn report_rejected(tools: &ToolSnapshot) {
    for file in tools.rejected() {
        let path = file.path.display();
        for fault in &file.faults {
            let (line, column) = (fault.line, fault.column);
            tracing::warn!("rejected: {path}:{line}:{column}: {}", fault.message);
        }
    }
}

/// Which directories these are, whatever they are called.
fn identities(directories: &[PathBuf]) -> Vec<Option<(u64, u64)>> {
    let about = directories.iter().map(|directory| directory.metadata());
    about
        .map(|about| about.ok().map(|about| (about.dev(), about.ino())))
        .collect()
}

/// Whether commands can write none of the directories.
pub(super) fn are_safe(
    sources: &ToolSources,
    policy: &SandboxPolicy,
    report: &SandboxReport,
) -> bool {
    let directories = sources.directories();
    let mut directories = directories.iter();
    directories.all(|directory| is_safe(directory, policy, report))
}

/// Whether commands cannot write a directory: it is out of their reach, or protected.
fn is_safe(directory: &Path, policy: &SandboxPolicy, report: &SandboxReport) -> bool {
    let Ok(real) = directory.canonicalize() else {
        return false;
    };
    let mut writable = policy.write.iter().chain([&policy.scope]);
    let mut protected = report.protected.iter();
    !writable.any(|root| real.starts_with(root)) || protected.any(|path| real.starts_with(path))
}

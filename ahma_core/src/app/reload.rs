//! Tool files that change while the server runs.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{SandboxPolicy, SandboxReport};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::settings::Settings;
use super::sources::ToolSources;
use super::way::real_path_outside;
use crate::config::load;
use crate::executor::AvailabilityProbe;
use crate::registry::{ProbeResults, Registry, ToolSnapshot, Watcher};

/// How long checks of availability wait for a client to list the tools it can have without them: they
/// would take the processor from its answer.
const FIRST_LIST: Duration = Duration::from_millis(500);

const WRITABLE: &str = "commands can write a directory of tool files, or a link to it, so changes of the files are \
                        taken over when the server gets SIGHUP only";
const NOT_WATCHED: &str = "directories of tool files cannot be watched, so changes are taken over when the server gets \
                           SIGHUP only; are there too many inotify watches?";
const REPLACED: &str = "a directory of tool files was replaced by another one, which is read when the server gets SIGHUP";

/// Keeps the tools as the files say.
pub(super) struct Reload {
    reader: Arc<ToolReader>,
    /// The operator asks for it.
    pub(super) asked: Arc<Notify>,
    directories: Vec<PathBuf>,
    /// Which directories these were when they were read last.
    known: Vec<Option<(u64, u64)>>,
    watcher: Option<Watcher>,
}

/// Reads tool files.
struct ToolReader {
    sources: ToolSources,
    project: PathBuf,
}

impl ToolReader {
    /// The tools as the files are now; a file that is broken keeps what it was `before`.
    fn read(&self, before: &ToolSnapshot) -> Result<ToolSnapshot, String> {
        let catalog = load(self.sources.read()?);
        let snapshot = ToolSnapshot::new(catalog, &self.project, before);
        report_rejected(&snapshot);
        Ok(snapshot)
    }
}

impl Reload {
    /// Of the project in the scope. From here on no change is missed.
    pub(super) fn of(settings: &Settings) -> Self {
        let directories = settings.tools.directories();
        let watcher = Watcher::new(directories.clone()).ok();
        Reload {
            known: identities(&directories),
            watcher: watcher.filter(|_| !directories.is_empty()),
            directories,
            asked: Arc::default(),
            reader: Arc::new(ToolReader {
                sources: settings.tools.clone(),
                project: settings.scope.clone(),
            }),
        }
    }

    /// Begins to read the files for the first time.
    pub(super) fn read_first(&self) -> JoinHandle<Result<ToolSnapshot, String>> {
        let reader = Arc::clone(&self.reader);
        spawn_blocking(move || reader.read(&ToolSnapshot::default()))
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
        probe: AvailabilityProbe,
    ) {
        let Reload {
            reader,
            asked,
            directories,
            mut known,
            watcher,
        } = self;
        let is_watched = watcher.is_some();
        let mut watcher = watcher.filter(|_| are_safe);
        if !directories.is_empty() && !are_safe {
            registry.hold_back(Some(WRITABLE));
        } else if !directories.is_empty() && !is_watched {
            registry.hold_back(Some(NOT_WATCHED));
        }
        // Checks are made beside everything else; those of older files are given up.
        let mut checking = JoinSet::new();
        let (listed, checked) = (Arc::clone(&registry), probe.clone());
        checking.spawn(async move {
            let _ = timeout(FIRST_LIST, listed.listed()).await;
            check(listed, checked).await;
        });
        loop {
            let changed = async {
                match &mut watcher {
                    Some(watcher) => watcher.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {
                    if identities(&directories) != known {
                        registry.hold_back(Some(REPLACED));
                        continue;
                    }
                }
                () = asked.notified() => {
                    known = identities(&directories);
                    if let Some(watcher) = &mut watcher {
                        watcher.watch();
                        registry.hold_back(None);
                    }
                }
            }
            if reader.take_over(&registry).await {
                checking.abort_all();
                checking.spawn(check(Arc::clone(&registry), probe.clone()));
            }
        }
    }
}

/// Finds out which tools can be used, and publishes it. The tools that need no check are there; the others
/// follow.
async fn check(registry: Arc<Registry>, probe: AvailabilityProbe) {
    let checks = registry.current().checks();
    let results: ProbeResults = probe.probe(checks).await.into_iter().collect();
    let current = registry.current();
    if *current.results() != results {
        registry.publish(current.judged(results));
    }
}

impl ToolReader {
    /// Reads the files and publishes what they say; whether that was possible. A directory that cannot be
    /// read now changes nothing.
    async fn take_over(self: &Arc<Self>, registry: &Registry) -> bool {
        let (reader, before) = (Arc::clone(self), registry.current());
        let read = spawn_blocking(move || reader.read(&before)).await;
        match read {
            Ok(Ok(snapshot)) => {
                tracing::info!(tools = snapshot.tools().len(), "tool files read");
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
    settings: &Settings,
    policy: &SandboxPolicy,
    report: &SandboxReport,
) -> bool {
    let mut writable = policy.write.clone();
    writable.push(policy.scope.clone());
    writable.extend(settings.other_scopes());
    let directories = settings.tools.directories();
    let mut directories = directories.iter();
    directories.all(|directory| is_safe(directory, &writable, report))
}

/// Whether commands cannot write a directory: every step of the way to it is out of their reach, or it is
/// protected and no link is on the way.
fn is_safe(directory: &Path, writable: &[PathBuf], report: &SandboxReport) -> bool {
    let Ok(absolute) = std::path::absolute(directory) else {
        return false;
    };
    if real_path_outside(&absolute, writable).is_some() {
        return true;
    }
    let is_real = absolute.canonicalize().is_ok_and(|real| real == absolute);
    let mut protected = report.protected.iter();
    is_real && protected.any(|path| absolute.starts_with(path))
}

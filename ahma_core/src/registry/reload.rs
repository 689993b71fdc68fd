//! Tool files that change while the server runs: noticed, read again, checked, published.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::current::Registry;
use super::declared::{DeclaredTools, Presentation, Prober};
use super::declared_content::DeclaredContent;
use super::tool_files::ToolFiles;
use super::watcher::Watcher;
use crate::config::content::{load_prompts, load_resources};
use crate::config::{RejectedFile, ServerFacts, WarnedFile, load_beside};

/// How long checks of availability wait for a client to list the tools it can have without them: they
/// would take the processor from its answer.
const FIRST_LIST: Duration = Duration::from_millis(500);

/// How long after the end of an operation files and programs are looked at again.
const AFTER_END: Duration = Duration::from_millis(100);

const WRITABLE: &str = "commands can write a directory of tool files, or a link to it, so changes of the files are \
                        taken over when the server gets SIGHUP only";
const NOT_WATCHED: &str = "directories of tool files cannot be watched, so changes are taken over when the server gets \
                           SIGHUP only; are there too many inotify watches?";
const REPLACED: &str = "a directory of tool files was replaced by another one, which is read when the server gets SIGHUP";

/// Whether changes of tool files can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReloadSafety {
    /// Commands can write none of the directories.
    Safe,
    /// They can write one of them, so only the operator may have the files read again.
    Unsafe,
}

/// Keeps the tools as the files say.
pub(crate) struct Reload {
    reader: Arc<ToolReader>,
    /// The operator asks for it.
    asked: Arc<Notify>,
    directories: Vec<PathBuf>,
    /// Which directories these were when they were read last.
    known: Identities,
    watcher: Option<Watcher>,
}

/// Reads tool files.
struct ToolReader {
    files: ToolFiles,
    facts: ServerFacts,
    presentation: Presentation,
}

impl ToolReader {
    /// The tools as the files are now; a file that is broken keeps what it was `before`.
    fn read(
        &self,
        before: &DeclaredTools,
        content_before: &DeclaredContent,
    ) -> Result<(DeclaredTools, DeclaredContent), String> {
        let found = self.files.read()?;
        let catalog = load_beside(found.own, found.shipped, &self.facts);
        report_warned(&catalog.warned);
        let tools = DeclaredTools::new(catalog, before, &self.presentation);
        let prompts = load_prompts(found.prompts).beside(load_prompts(found.shipped_prompts));
        let resources = load_resources(found.resources);
        report_warned(&prompts.warned);
        report_warned(&resources.warned);
        let content = DeclaredContent::new(prompts, resources, content_before);
        report_rejected(tools.rejected().iter().chain(content.rejected()));
        Ok((tools, content))
    }
}

impl Reload {
    /// Of the project in a scope. From here on no change is missed. May block.
    pub(crate) fn new(files: ToolFiles, facts: ServerFacts, presentation: Presentation) -> Self {
        let directories = files.directories();
        let watcher = Watcher::new(directories.clone()).ok();
        Reload {
            known: identities(&directories),
            watcher: watcher.filter(|_| !directories.is_empty()),
            directories,
            asked: Arc::default(),
            reader: Arc::new(ToolReader {
                files,
                facts,
                presentation,
            }),
        }
    }

    /// What has the files read again when the operator asks.
    pub(crate) fn trigger(&self) -> Arc<Notify> {
        Arc::clone(&self.asked)
    }

    /// Reads the files for the first time. Blocks.
    pub(crate) fn read_now(&self) -> Result<(DeclaredTools, DeclaredContent), String> {
        let nothing = (DeclaredTools::default(), DeclaredContent::default());
        let (tools, content) = self.reader.read(&nothing.0, &nothing.1)?;
        let surface = &self.reader.presentation.surface;
        match surface.unknown(tools.files().iter().map(Arc::as_ref)) {
            Some(unknown) if tools.rejected().is_empty() => Err(unknown),
            // It may be in a file that is broken now.
            Some(unknown) => {
                tracing::warn!("{unknown}");
                Ok((tools, content))
            }
            None => Ok((tools, content)),
        }
    }

    /// Reads the files again whenever they change or the operator asks, and looks again for what they ask for when an
    /// operation has ended, for ever.
    ///
    /// All of them are read at once. So they are read because of a change only where commands can write none
    /// of the directories, and none has been replaced: what protects a directory is not there for another one
    /// in its place. Otherwise the operator has to ask.
    pub(crate) async fn keep_current(
        self,
        registry: Arc<Registry>,
        safety: ReloadSafety,
        prober: Arc<dyn Prober>,
        ended: Arc<Notify>,
    ) {
        let Reload {
            reader,
            asked,
            directories,
            mut known,
            watcher,
        } = self;
        let is_watched = watcher.is_some();
        let is_safe = safety == ReloadSafety::Safe;
        let mut watcher = watcher.filter(|_| is_safe);
        if !directories.is_empty() && !is_safe {
            registry.hold_back(Some(WRITABLE));
        } else if !directories.is_empty() && !is_watched {
            registry.hold_back(Some(NOT_WATCHED));
        }
        // Checks run beside everything else; those of older files are given up.
        let mut checking = JoinSet::new();
        let (listed, checked) = (Arc::clone(&registry), Arc::clone(&prober));
        checking.spawn(async move {
            // A list that waits for them comes before one that does not.
            if !listed.current().declared().is_undecided() {
                let _ = timeout(FIRST_LIST, listed.listed()).await;
            }
            check(listed, checked).await;
        });
        let looking = keep_looking(Arc::clone(&registry), Arc::clone(&prober), ended);
        let looking = tokio::spawn(looking);
        // It ends with this.
        let _looking = AbortOnDrop(looking.abort_handle());
        // After a client has its first list, which this would hold up.
        let _ = timeout(FIRST_LIST, registry.listed()).await;
        if let Some(watcher) = &watcher {
            watcher.watch().await;
        }
        let mut has_come = watcher.is_some() && identities_of(&directories).await != known;
        loop {
            let changed = async {
                match &mut watcher {
                    _ if std::mem::take(&mut has_come) => {}
                    Some(watcher) => watcher.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {
                    if identities_of(&directories).await != known {
                        registry.hold_back(Some(REPLACED));
                        continue;
                    }
                }
                () = asked.notified() => {
                    known = identities_of(&directories).await;
                    if let Some(watcher) = &watcher {
                        watcher.watch().await;
                        registry.hold_back(None);
                    }
                }
            }
            if reader.take_over(&registry).await {
                checking.abort_all();
                look_again(&registry, &prober).await;
                checking.spawn(check(Arc::clone(&registry), Arc::clone(&prober)));
            }
        }
    }
}

/// Ends a task that would go on without its owner.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Looks again after every operation, which may have made a project, or a program.
async fn keep_looking(registry: Arc<Registry>, prober: Arc<dyn Prober>, ended: Arc<Notify>) {
    loop {
        ended.notified().await;
        // Many may end at the same time.
        sleep(AFTER_END).await;
        if look_again(&registry, &prober).await {
            check(Arc::clone(&registry), Arc::clone(&prober)).await;
        }
    }
}

/// Looks which files and programs there are now, and publishes what that changes; whether tools are undecided now.
async fn look_again(registry: &Registry, prober: &Arc<dyn Prober>) -> bool {
    let (current, prober) = (registry.current(), Arc::clone(prober));
    let checks = current.declared().checks();
    let paths = registry.paths();
    let looking = spawn_blocking(move || prober.look(&checks, &paths)).await;
    if let Ok((looked, present)) = looking {
        // Something else may have been found out meanwhile.
        let mut circumstances = registry.current().declared().circumstances().clone();
        circumstances.looked = looked;
        circumstances.present = present;
        registry.publish_under(circumstances);
    }
    registry.current().declared().is_undecided()
}

/// Makes the checks that need commands, and publishes their results.
async fn check(registry: Arc<Registry>, prober: Arc<dyn Prober>) {
    let checks = registry.current().declared().open_checks();
    let probed = prober.probe(checks).await;
    let mut circumstances = registry.current().declared().circumstances().clone();
    circumstances.probed.extend(probed);
    registry.publish_under(circumstances);
}

impl ToolReader {
    /// Reads the files and publishes what they say; whether that was possible. A directory that cannot be
    /// read now changes nothing.
    async fn take_over(self: &Arc<Self>, registry: &Registry) -> bool {
        let (reader, before) = (Arc::clone(self), registry.current());
        let content_before = Arc::clone(&registry.content().borrow());
        let reading = move || reader.read(before.declared(), &content_before);
        let read = spawn_blocking(reading).await;
        match read {
            Ok(Ok((declared, content))) => {
                tracing::info!(tools = declared.entries().len(), "tool files read");
                registry.publish(declared);
                registry.publish_content(content);
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

fn report_rejected<'f>(files: impl Iterator<Item = &'f RejectedFile>) {
    for file in files {
        let path = file.path.display();
        for fault in &file.faults {
            let (line, column) = (fault.line, fault.column);
            tracing::warn!("rejected: {path}:{line}:{column}: {}", fault.message);
        }
    }
}

fn report_warned(files: &[WarnedFile]) {
    for file in files {
        let path = file.path.display();
        for warning in &file.warnings {
            let (line, column) = (warning.line, warning.column);
            tracing::warn!("{path}:{line}:{column}: {}", warning.message);
        }
    }
}

/// Which directories these are, whatever they are called.
type Identities = Vec<Option<(u64, u64)>>;

fn identities(directories: &[PathBuf]) -> Identities {
    let about = directories.iter().map(|directory| directory.metadata());
    about
        .map(|about| about.ok().map(|about| (about.dev(), about.ino())))
        .collect()
}

/// The same beside the runtime: a disk may be slow.
async fn identities_of(directories: &[PathBuf]) -> Identities {
    let directories = directories.to_vec();
    let looking = spawn_blocking(move || identities(&directories));
    looking.await.unwrap_or_default()
}

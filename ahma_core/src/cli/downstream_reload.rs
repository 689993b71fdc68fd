//! The operator's `mcp.json` while the server runs: read again when it changes, and taken over where it has no fault. Must not
//! read a file again that commands can write: they would decide what is started, unconfined.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::downstream::{DownstreamFile, described};
use crate::config::downstream::ServerSpec;
use crate::downstream::{DownstreamServers, Replaced, Source};
use crate::registry::Watcher;
use crate::scope::in_reach;

const WRITABLE: &str =
    "commands can write this file, or a link to it, so it is read once, at the start";
const NOT_WATCHED: &str = "this file cannot be watched, so changes are taken over when the server gets SIGHUP only; are there too \
                           many inotify watches?";

/// Keeps servers as their file says.
pub(super) struct FileReload {
    reader: Arc<Reader>,
    watcher: Option<Watcher>,
    /// There was no file at the start. It is watched for, and looked for once more, when everything else is done.
    is_later: bool,
}

struct Reader {
    file: DownstreamFile,
    home: Option<PathBuf>,
    /// What commands can write.
    writable: Vec<PathBuf>,
}

/// What a file amounts to.
struct Read {
    source: Option<Source>,
    /// None where nothing may change.
    specs: Option<Vec<ServerSpec>>,
}

impl FileReload {
    /// Of a file that commands cannot write; none of another one. From here on no change is missed. May block.
    pub(super) fn new(
        file: &DownstreamFile,
        home: Option<PathBuf>,
        writable: Vec<PathBuf>,
    ) -> Option<Self> {
        if in_reach(file.path(), &writable) {
            return None;
        }
        let reader = Reader {
            file: file.clone(),
            home,
            writable,
        };
        let is_later = !file.is_there();
        let watch = || Watcher::of_file(file.path().to_owned()).ok();
        Some(FileReload {
            watcher: (!is_later).then(watch).flatten(),
            reader: Arc::new(reader),
            is_later,
        })
    }

    /// Why changes are not taken over by themselves, when they are not.
    pub(super) fn held_back(reload: Option<&Self>) -> Option<String> {
        match reload {
            None => Some(WRITABLE.to_owned()),
            Some(it) if it.is_later => None,
            Some(it) => it.watcher.is_none().then(|| NOT_WATCHED.to_owned()),
        }
    }

    /// Reads the file again whenever it changes or the operator asks, for as long as there are servers.
    pub(super) async fn keep_current(
        mut self,
        servers: Weak<DownstreamServers>,
        asked: Arc<Notify>,
    ) {
        let mut is_unread = self.is_later;
        if std::mem::take(&mut self.is_later) {
            let path = self.reader.file.path().to_owned();
            let watching = spawn_blocking(move || Watcher::of_file(path).ok());
            self.watcher = watching.await.ok().flatten();
        }
        let held_back = Self::held_back(Some(&self));
        loop {
            let changed = async {
                if std::mem::take(&mut is_unread) {
                    return;
                }
                match &mut self.watcher {
                    Some(watcher) => watcher.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = asked.notified() => {}
            }
            let (reader, held_back) = (Arc::clone(&self.reader), held_back.clone());
            let reading = spawn_blocking(move || reader.read(held_back)).await;
            let (Ok(read), Some(servers)) = (reading, servers.upgrade()) else {
                return;
            };
            for fault in read.source.iter().flat_map(|it| &it.faults) {
                tracing::warn!("{fault}; the servers stay as they were");
            }
            servers.note_source(read.source);
            if let Some(specs) = read.specs {
                report(&servers.replace(specs).await);
            }
        }
    }
}

impl Reader {
    fn read(&self, held_back: Option<String>) -> Read {
        let file = self.file.path().to_owned();
        if in_reach(&file, &self.writable) {
            let (faults, held_back) = (Vec::new(), Some(WRITABLE.to_owned()));
            let source = Some(Source {
                file,
                faults,
                held_back,
            });
            return Read {
                source,
                specs: None,
            };
        }
        let Some(config) = self.file.read(self.home.as_deref()) else {
            // The user has removed it.
            return Read {
                source: None,
                specs: Some(Vec::new()),
            };
        };
        let faults = described(&config);
        let specs = faults.is_empty().then_some(config.servers);
        let source = Some(Source {
            file,
            faults,
            held_back,
        });
        Read { source, specs }
    }
}

fn report(replaced: &Replaced) {
    for warning in &replaced.warnings {
        tracing::warn!("{warning}");
    }
    let lists = [
        ("added", &replaced.added),
        ("changed", &replaced.changed),
        ("removed", &replaced.removed),
    ];
    for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
        tracing::info!("servers {what}: {}", names.join(", "));
    }
}

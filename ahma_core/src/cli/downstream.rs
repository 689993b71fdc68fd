//! Servers that the operator puts behind this one: which file names them, and what they are started with.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_contract::UserDirectories;
use ahma_sandbox::{PrivateDir, SandboxPolicy};
use tokio::task::spawn_blocking;

use super::args::Args;
use super::downstream_reload::FileReload;
use super::startup_error::StartupError;
use super::warnings::warn_loudly;
use crate::config::downstream::{DownstreamConfig, load};
use crate::config::files::read_file;
use crate::downstream::{DownstreamServers, Means, Places, Source};
use crate::executor::HostPool;
use crate::scope::{SharedResources, in_reach};

/// The name of the file in the user's configuration directory.
const FILE: &str = "mcp.json";
/// Where records of servers are, in the user's state directory.
const RECORDS: &str = "downstream";

/// The file that names servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DownstreamFile {
    path: PathBuf,
    /// Whether the operator has named it; else it is the user's, where there is one.
    is_named: bool,
}

/// Servers that are ready, and what keeps them as the file says.
pub(super) struct Prepared {
    pub(super) servers: Arc<DownstreamServers>,
    /// Where they may write. It goes last.
    pub(super) private: PrivateDir,
    /// None where the file is read once.
    pub(super) reload: Option<FileReload>,
}

impl DownstreamFile {
    /// The file that a flag names, else that of the user, unless commands can write it.
    pub(super) fn resolve(
        args: &Args,
        user: &UserDirectories,
        directory: &Path,
        writable: &[PathBuf],
    ) -> Option<Self> {
        if let Some(path) = &args.mcp_config {
            let path = directory.join(path);
            return Some(DownstreamFile {
                path: std::path::absolute(&path).unwrap_or(path),
                is_named: true,
            });
        }
        let path = user.config.as_ref()?.join(FILE);
        (!in_reach(&path, writable)).then_some(DownstreamFile {
            path,
            is_named: false,
        })
    }

    /// Where it is, or would be.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; none where nobody has named one and there is none. May block.
    pub(super) fn read(&self, home: Option<&Path>) -> Option<DownstreamConfig> {
        self.is_there()
            .then(|| load(read_file(self.path.clone()), home))
    }

    /// Whether there is one, or there should be.
    pub(super) fn is_there(&self) -> bool {
        self.is_named || self.path.exists()
    }

    /// Gets the servers of the file ready; none where there are none, and none can come later.
    pub(super) async fn prepare(
        self,
        (scope, writable): (&Path, Vec<PathBuf>),
        user: &UserDirectories,
        environment: &BTreeMap<OsString, OsString>,
        shared: &SharedResources,
    ) -> Result<Option<Prepared>, StartupError> {
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        let is_named = self.is_named;
        let (path, base) = (self.path.clone(), shared.private_base().to_owned());
        let reach = writable.clone();
        let reading = spawn_blocking(move || {
            // Before it is read: no change is missed.
            let reload = FileReload::new(&self, home.clone(), reach);
            let config = self.read(home.as_deref());
            let private = match config.is_some() || reload.is_some() {
                true => Some(PrivateDir::create(&base)?),
                false => None,
            };
            Ok::<_, std::io::Error>((config, private, reload))
        });
        let stopped = |error: tokio::task::JoinError| StartupError::Other(error.to_string());
        let (config, private, reload) = reading.await.map_err(stopped)??;
        let faults = config.as_ref().map(described).unwrap_or_default();
        let source = config.as_ref().map(|_| Source {
            file: path.clone(),
            faults: faults.clone(),
            held_back: FileReload::held_back(reload.as_ref()),
        });
        let specs = config.map(|it| it.servers).unwrap_or_default();
        if is_named && specs.is_empty() && !faults.is_empty() {
            return Err(StartupError::Usage(faults.join("\n")));
        }
        for fault in &faults {
            warn_loudly(fault);
        }
        let Some(private) = private.filter(|_| reload.is_some() || !specs.is_empty()) else {
            return Ok(None);
        };
        let policy = SandboxPolicy::new(scope, private.path()).unconfined();
        let records = records(user).unwrap_or_else(|| private.path().join(RECORDS));
        let hosts = Arc::new(HostPool::new(shared.sandbox().clone(), policy));
        let of_file = path.parent().map(Path::to_owned);
        let of_file = of_file.filter(|it| !in_reach(it, &writable));
        let places = Places {
            scope: scope.to_owned(),
            trusted: of_file.unwrap_or_else(|| private.path().join("home")),
            writable,
            is_file_in_reach: reload.is_none(),
        };
        let means = Means::new(environment.clone(), places, records, hosts);
        let servers = DownstreamServers::prepare(specs, means).await;
        for warning in servers.warnings() {
            warn_loudly(&warning);
        }
        servers.note_source(source);
        Ok(Some(Prepared {
            servers,
            private,
            reload,
        }))
    }
}

/// Where records of servers are, for a user who has a place for them.
pub(super) fn records(user: &UserDirectories) -> Option<PathBuf> {
    user.state.as_ref().map(|it| it.join(RECORDS))
}

/// What is wrong with a file, a line each.
pub(super) fn described(config: &DownstreamConfig) -> Vec<String> {
    let path = config.path.display();
    let line = |fault: &crate::config::Fault| {
        let (line, column, message) = (fault.line, fault.column, &fault.message);
        let hint = fault.hint.as_ref().map(|it| format!("; {it}"));
        let hint = hint.unwrap_or_default();
        format!("{path}:{line}:{column}: {message}{hint}")
    };
    config.faults.iter().map(line).collect()
}

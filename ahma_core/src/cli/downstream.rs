//! Servers that the operator puts behind this one: which file names them, and what they are started with.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_contract::UserDirectories;
use ahma_sandbox::{PrivateDir, SandboxPolicy};
use tokio::task::spawn_blocking;

use super::args::Args;

use super::startup_error::StartupError;
use super::warnings::warn_loudly;
use crate::config::downstream::{DownstreamConfig, load};
use crate::config::files::read_file;
use crate::downstream::{DownstreamServers, Means, Places};
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
        let is_there = self.is_named || self.path.exists();
        is_there.then(|| load(read_file(self.path.clone()), home))
    }

    /// Gets the servers of the file ready; none where there is no file.
    pub(super) async fn prepare(
        self,
        (scope, writable): (&Path, Vec<PathBuf>),
        user: &UserDirectories,
        environment: &BTreeMap<OsString, OsString>,
        shared: &SharedResources,
    ) -> Result<Option<(Arc<DownstreamServers>, PrivateDir)>, StartupError> {
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        let is_named = self.is_named;
        let base = shared.private_base().to_owned();
        let reading = spawn_blocking(move || {
            let Some(config) = self.read(home.as_deref()) else {
                return Ok(None);
            };
            let private = PrivateDir::create(&base)?;
            Ok::<_, std::io::Error>(Some((config, private)))
        });
        let stopped = |error: tokio::task::JoinError| StartupError::Other(error.to_string());
        let Some((config, private)) = reading.await.map_err(stopped)?? else {
            return Ok(None);
        };
        let faults = described(&config);
        if is_named && config.servers.is_empty() && !faults.is_empty() {
            return Err(StartupError::Usage(faults.join("\n")));
        }
        for fault in &faults {
            warn_loudly(fault);
        }
        if config.servers.is_empty() {
            return Ok(None);
        }
        let policy = SandboxPolicy::new(scope, private.path()).unconfined();
        let records = records(user).unwrap_or_else(|| private.path().join(RECORDS));
        let hosts = Arc::new(HostPool::new(shared.sandbox().clone(), policy));
        let of_file = config.path.parent().map(Path::to_owned);
        let of_file = of_file.filter(|it| !in_reach(it, &writable));
        let places = Places {
            scope: scope.to_owned(),
            trusted: of_file.unwrap_or_else(|| private.path().join("home")),
            writable,
        };
        let means = Means::new(environment.clone(), places, records, hosts);
        let servers = DownstreamServers::prepare(config.servers, means).await;
        for warning in servers.warnings() {
            warn_loudly(&warning);
        }
        Ok(Some((servers, private)))
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

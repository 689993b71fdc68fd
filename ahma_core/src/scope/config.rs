//! What is decided about one scope before it is opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{Layer, Network};

use crate::operation::Retention;
use crate::registry::ToolFileRules;

/// A scope to open. [`ScopeConfig::new`] has what is right for most; change the fields that differ.
///
/// ```
/// use ahma_core::ScopeConfig;
///
/// let mut config = ScopeConfig::new("/srv/project");
/// config.always_sync = true;
/// assert_eq!(config.max_operations, 128);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScopeConfig {
    /// The directory that commands are confined to: a real path.
    pub directory: PathBuf,
    /// Further paths that commands may read.
    pub read: Vec<PathBuf>,
    /// Further paths that commands may read and write.
    pub write: Vec<PathBuf>,
    /// Paths in the directory that commands may not write, beside the usual ones.
    pub protect: Vec<PathBuf>,
    /// Paths that commands may write although they are usually protected.
    pub unprotect: Vec<PathBuf>,
    /// Whether the home of commands is there again for the next server.
    pub keep_home: bool,
    /// Whether commands may run programs that the user has installed in the home directory.
    pub user_path: bool,
    /// Whether commands have a network.
    pub network: Network,
    /// Runs commands without the kernel's confinement.
    pub unconfined: bool,
    /// Layers of the sandbox without which nothing is served.
    pub require: Vec<Layer>,
    /// Variables of the server's environment that commands get beside the usual ones.
    pub pass_env: Vec<OsString>,
    /// Deadline of a command unless call or tool say otherwise.
    pub timeout: Duration,
    /// Commands that run at the same time; others wait.
    pub max_operations: usize,
    /// How many operations may wait, and how long ended ones are remembered.
    pub retention: Retention,
    /// Shells that wait for scripts.
    pub warm_shells: usize,
    /// Whether no shell is started before the first script has come.
    pub lazy_warm_shells: bool,
    /// Where tools come from.
    pub tool_files: ToolFileRules,
    /// Whether every call waits for its command.
    pub always_sync: bool,
    /// Whether there is no shell tool.
    pub no_shell: bool,
    /// How long an asynchronous call waits for a result that may be there in a moment.
    pub inline: Duration,
    /// How long a synchronous call waits before it hands over to the background; for ever where there is no limit.
    pub sync_limit: Option<Duration>,
    /// Other directories of the same program in which commands may write.
    pub siblings: Arc<Siblings>,
}

/// Scopes of one program, as far as one has to know of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Siblings {
    /// Every scope that the operator has named.
    pub declared: Vec<PathBuf>,
    /// Directories below which sessions have scopes of their own.
    pub roots: Vec<PathBuf>,
}

impl ScopeConfig {
    /// The usual configuration for a directory: network, no further grants, tools of the project.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        ScopeConfig {
            directory: directory.into(),
            read: Vec::new(),
            write: Vec::new(),
            protect: Vec::new(),
            unprotect: Vec::new(),
            keep_home: true,
            user_path: true,
            network: Network::On,
            unconfined: false,
            require: Vec::new(),
            pass_env: Vec::new(),
            timeout: Duration::from_secs(300),
            max_operations: 128,
            retention: Retention::default(),
            warm_shells: 2,
            lazy_warm_shells: false,
            tool_files: ToolFileRules::default(),
            always_sync: false,
            no_shell: false,
            inline: Duration::from_secs(1),
            sync_limit: Some(Duration::from_secs(50)),
            siblings: Arc::default(),
        }
    }

    /// The same for another directory.
    pub(super) fn in_directory(&self, directory: &Path) -> Self {
        ScopeConfig {
            directory: directory.to_owned(),
            ..self.clone()
        }
    }

    /// Scopes beside this one in which commands may write.
    pub(super) fn other_scopes(&self) -> Vec<PathBuf> {
        let all = self.siblings.declared.iter().chain(&self.siblings.roots);
        all.filter(|it| **it != self.directory).cloned().collect()
    }
}

//! What every call of a scope needs: made once with the scope, shared by all its clients.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::endpoint_info::EndpointInfo;
use super::proposals::Proposals;
use super::setting_origin::SettingOrigin;
use crate::executor::{Environment, Executor, HostPool, InternalCommands};
use crate::file_watch::FileWatch;
use crate::operation::OperationStore;
use crate::owner_warnings::OwnerWarnings;
use crate::registry::{ForeignServers, Registry};

/// How long a call, or a list, waits for other servers that have never been asked what they offer.
const SERVERS_WAIT: Duration = Duration::from_secs(5);

/// The parts of a scope that calls use.
pub(crate) struct ServiceContext {
    /// The tools that are offered now.
    pub(crate) registry: Arc<Registry>,
    /// Servers that stand behind this one.
    pub(crate) foreign: Option<Arc<dyn ForeignServers>>,
    /// Runs commands.
    pub(crate) executor: Executor,
    /// The sandbox they run in.
    pub(crate) hosts: Arc<HostPool>,
    /// Runs the server's own commands.
    pub(crate) internal: InternalCommands,
    /// What every command starts from.
    pub(crate) commands: Commands,
    /// How calls relate to their commands.
    pub(crate) style: CallStyle,
    /// Watches files whose changes clients want to hear of.
    pub(crate) files: Arc<FileWatch>,
    /// What can be proposed for values.
    pub(crate) proposals: Proposals,
    /// How the server is reached.
    pub(crate) endpoint: EndpointInfo,
    /// When the server started.
    pub(crate) started: SystemTime,
    /// What the operator should know, such as a log that cannot be written.
    pub(crate) warnings: Vec<String>,
    /// Settings that are not the default.
    pub(crate) settings: Arc<[SettingOrigin]>,
    /// What the owner of this scope has been warned of.
    pub(crate) owner: Arc<OwnerWarnings>,
}

/// What every command of a scope starts from.
pub(crate) struct Commands {
    /// Its variables.
    pub(crate) environment: Environment,
    /// The shell of scripts.
    pub(crate) shell: PathBuf,
    /// Its deadline, unless call or tool say otherwise.
    pub(crate) timeout: Duration,
    /// The scope and what the operator granted: paths of calls lie below one of these.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether the operator switched the sandbox off.
    pub(crate) unconfined: bool,
}

/// How calls relate to their commands, as the operator decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallStyle {
    /// Every call waits for its command.
    pub(crate) always_sync: bool,
    /// There is no shell.
    pub(crate) no_shell: bool,
    /// How long an asynchronous call waits for a result that may be there in a moment.
    pub(crate) inline: Duration,
    /// How long a synchronous call waits before it hands over; for ever where there is none.
    pub(crate) sync_limit: Option<Duration>,
}

impl ServiceContext {
    /// Waits until other servers have said what they offer, for a while at most, and offers it.
    pub(crate) async fn foreign_settled(&self) {
        let Some(foreign) = &self.foreign else {
            return;
        };
        let _ = timeout(SERVERS_WAIT, foreign.settled()).await;
        let now = Arc::clone(&foreign.tools().borrow());
        if !self.registry.has_foreign(&now) {
            let registry = Arc::clone(&self.registry);
            // How many there are, others decide.
            let _ = spawn_blocking(move || registry.publish_foreign(&now)).await;
        }
    }

    pub(crate) fn operations(&self) -> &Arc<OperationStore> {
        self.executor.store()
    }
}

//! A scope that is served: its sandbox, its tools, its operations, and how they end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use ahma_http_bridge::{Direction, MessageTrace};
use ahma_sandbox::{PrivateDir, Sandbox};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::confinement::{Confinement, private_base};
use super::reload::{self, Reload};
use super::settings::Settings;
use super::startup_error::StartupError;
use crate::audit::AuditLog;
use crate::config::AvailabilityCheck;
use crate::executor::{AvailabilityProbe, Executor, InternalCommands, ShowTrouble};
use crate::operation::{OperationState, OperationStore};
use crate::output::{SpoolBudget, SpoolPlace};
use crate::registry::{Registry, ToolSnapshot};
use crate::service::{EndpointInfo, ListedTools, ServiceState, built_in_tools};

/// This program, even when the file it was started from has been replaced or removed meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// How long sandbox hosts, which then have nothing to do, are waited for.
const LAST_PROCESSES: Duration = Duration::from_millis(500);

/// What all scopes of a server have in common.
pub(super) struct Common {
    /// Starts the hosts of all scopes.
    pub(super) sandbox: Sandbox,
    /// Where private directories are: out of reach of commands in every scope.
    pub(super) private_base: PathBuf,
    /// The server's own variables.
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) started: SystemTime,
    /// Commands that run at the same time, in all scopes together.
    pub(super) slots: Arc<Semaphore>,
    /// Disk that outputs take together.
    pub(super) spools: Arc<SpoolBudget>,
    pub(super) audit: Option<Arc<AuditLog>>,
    pub(super) echo: Option<MessageTrace>,
    /// What the operator should know.
    pub(super) warnings: Vec<String>,
    /// Every scope that is served now.
    served: Mutex<Vec<Weak<ServiceState>>>,
    /// Those whose tool files are read again when the operator asks.
    reloads: Mutex<Vec<Weak<Notify>>>,
}

impl Common {
    pub(super) fn new(
        environment: BTreeMap<OsString, OsString>,
        settings: &Settings,
        audit: Option<AuditLog>,
        echo: Option<MessageTrace>,
        warnings: Vec<String>,
    ) -> Result<Self, StartupError> {
        let private_base = private_base(settings, &environment)?;
        // What servers left behind that were killed is cleared away beside the work.
        let base = private_base.clone();
        tokio::task::spawn_blocking(move || PrivateDir::sweep(&base));
        Ok(Common {
            sandbox: Sandbox::new(THIS_PROGRAM)?,
            private_base,
            environment,
            started: SystemTime::now(),
            slots: Arc::new(Semaphore::new(settings.all_at_once)),
            spools: Arc::new(SpoolBudget::new(settings.spool_bytes)),
            audit: audit.map(Arc::new),
            echo,
            warnings,
            served: Mutex::default(),
            reloads: Mutex::default(),
        })
    }

    /// How many operations are in this state, in all scopes.
    pub(super) fn count(&self, wanted: OperationState) -> usize {
        // A list of pointers is whole after any panic.
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.retain(|it| it.strong_count() > 0);
        let states = served.iter().filter_map(Weak::upgrade);
        states
            .map(|state| {
                let operations = state.executor.store().newest_first();
                let fitting = operations.iter().filter(|it| it.state() == wanted);
                fitting.count()
            })
            .sum()
    }

    /// Has the tool files of every scope read again.
    pub(super) fn reload_all(&self) {
        let mut reloads = self.reloads.lock().unwrap_or_else(PoisonError::into_inner);
        reloads.retain(|it| it.strong_count() > 0);
        for reload in reloads.iter().filter_map(Weak::upgrade) {
            reload.notify_one();
        }
    }
}

/// Where the tools of a scope come from.
pub(super) enum Tools {
    /// From its own files, which are watched.
    OfTheScope,
    /// They are those of another.
    Of(Arc<Registry>),
}

/// A scope that is served.
pub(super) struct World {
    pub(super) state: Arc<ServiceState>,
    /// Its private directories.
    private: Mutex<Option<PrivateDir>>,
    reloading: Option<JoinHandle<()>>,
    _reload_asked: Option<Arc<Notify>>,
}

impl World {
    /// Gets everything ready: the first sandbox host runs when this returns.
    pub(super) async fn establish(
        settings: &Settings,
        common: &Common,
        tools: Tools,
        serving: EndpointInfo,
    ) -> Result<Self, StartupError> {
        let (reload, reading) = match &tools {
            Tools::OfTheScope => {
                let reload = Reload::of(settings);
                // Tool files are read while the first sandbox host starts.
                let reading = reload.read_first();
                (Some(reload), Some(reading))
            }
            Tools::Of(_) => (None, None),
        };
        let confinement = Confinement::establish(settings, common).await?;
        let hosts = &confinement.hosts;
        let internal = InternalCommands::new(Arc::clone(hosts), confinement.environment.clone());
        let probe = AvailabilityProbe::new(internal.clone());
        let registry = match (tools, reading) {
            (Tools::Of(registry), _) => registry,
            (Tools::OfTheScope, reading) => {
                let first = match reading {
                    Some(reading) => {
                        let read = reading
                            .await
                            .map_err(|it| StartupError::Other(it.to_string()))?;
                        read.map_err(StartupError::Usage)?
                    }
                    None => ToolSnapshot::default(),
                };
                Arc::new(Registry::new(known_at_once(first, &probe).await))
            }
        };
        let asked = reload.as_ref().map(|it| Arc::clone(&it.asked));
        let reloading = reload.map(|reload| {
            let are_safe = reload::are_safe(settings, hosts.policy(), &confinement.report);
            tokio::spawn(reload.keep_current(Arc::clone(&registry), are_safe, probe))
        });
        let spools = SpoolPlace::new(confinement.session.path(), Arc::clone(&common.spools));
        let store = Arc::new(OperationStore::new(settings.retention, spools));
        let mut executor = Executor::new(Arc::clone(hosts), store, settings.at_once)
            .with_common_slots(Arc::clone(&common.slots));
        if let Some(audit) = &common.audit {
            executor = executor.with_audit_log(Arc::clone(audit));
        }
        if let Some(echo) = &common.echo {
            executor = executor.with_trouble_shown(shown_by(echo.clone()));
        }
        let state = Arc::new(ServiceState {
            executor,
            hosts: Arc::clone(hosts),
            environment: confinement.environment.clone(),
            shell: confinement.shell.clone(),
            default_deadline: settings.deadline,
            sandbox_is_off: settings.sandbox_is_off,
            started: common.started,
            internal,
            warnings: common.warnings.clone(),
            registry,
            always_sync: settings.always_sync,
            no_shell: settings.no_shell,
            serving,
            built_in: built_in_tools(settings.no_shell, settings.always_sync),
            listed: ListedTools::default(),
        });
        remember(&common.served, &state);
        if let Some(asked) = &asked {
            remember(&common.reloads, asked);
        }
        Ok(World {
            state,
            private: Mutex::new(Some(confinement.session)),
            reloading,
            _reload_asked: asked,
        })
    }

    /// Ends every operation; answers about them can still be given.
    pub(super) async fn end_operations(&self, reason: &str) {
        if let Some(reloading) = &self.reloading {
            reloading.abort();
        }
        self.state.executor.shut_down(reason).await;
    }

    /// Whether something runs or waits to run.
    pub(super) fn is_busy(&self) -> bool {
        let operations = self.state.executor.store().newest_first();
        operations.iter().any(|it| !it.state().is_final())
    }

    /// Removes the private directories, which may hold very much: beside everything else.
    pub(super) async fn remove_private(&self) {
        let private = self
            .private
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let _ = tokio::task::spawn_blocking(move || drop(private)).await;
    }

    /// Ends the sandbox. It ends with the server anyway; whoever waits for the server finds it gone.
    pub(super) async fn end_hosts(&self) {
        let _ = timeout(LAST_PROCESSES, self.state.hosts.end()).await;
    }
}

/// Adds one to a list, and takes out those that are gone.
fn remember<T>(list: &Mutex<Vec<Weak<T>>>, one: &Arc<T>) {
    // A list of pointers is whole after any panic.
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.retain(|it| it.strong_count() > 0);
    list.push(Arc::downgrade(one));
}

fn shown_by(echo: MessageTrace) -> ShowTrouble {
    Arc::new(move |trouble| echo.show(Direction::Error, trouble.as_bytes()))
}

/// The tools with what can be known of them before anyone asks, because no command has to run for it.
async fn known_at_once(tools: ToolSnapshot, probe: &AvailabilityProbe) -> ToolSnapshot {
    let mut checks = tools.checks();
    checks.retain(|check| matches!(check, AvailabilityCheck::OnPath(_)));
    tools.judged(probe.probe(checks).await.into_iter().collect())
}

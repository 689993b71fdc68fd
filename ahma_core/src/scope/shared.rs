//! What all scopes of a program share: the thread that starts sandbox hosts, limits, logs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

use ahma_sandbox::{PrivateDir, Sandbox};
use tokio::sync::Notify;

use super::confinement::private_base;
use super::kept_home;
use super::open_error::OpenError;
use crate::audit::AuditLog;
use crate::executor::{ByteBudget, OF_ALL, ReportTrouble, Slots};
use crate::operation::{OperationState, OperationStore};
use crate::output::{SPOOL_TOTAL, SpoolBudget};
use crate::owner_warnings::SayWarning;
use crate::registry::ForeignServers;
use crate::service::{EndpointInfo, SettingOrigin};
use crate::tamper::Guard;

/// This program, even when the file it was started from has been replaced or removed meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// What is decided about all scopes of a program together.
#[non_exhaustive]
pub struct SharedConfig {
    /// The program that sandbox hosts are started from; its `main` calls
    /// [`become_host_if_asked`](ahma_sandbox::become_host_if_asked) first.
    pub host_program: PathBuf,
    /// The variables that commands may inherit from, and by which toolchains are found.
    pub environment: BTreeMap<OsString, OsString>,
    /// Every path that commands of any scope may read or write, besides the system's; private directories are kept outside.
    pub reachable: Vec<PathBuf>,
    /// Commands that run at the same time, in all scopes together.
    pub max_operations: usize,
    /// Disk that outputs of all scopes take together, in bytes.
    pub spool_bytes: u64,
    /// A record of every operation.
    pub audit: Option<AuditLog>,
    /// Reports why a command did not run or was lost.
    pub report_trouble: Option<ReportTrouble>,
    /// Says a warning where the owner sees it at once, such as on a terminal.
    pub say_warning: Option<SayWarning>,
    /// Where is kept what was seen of scopes, for the next server: out of reach of commands.
    pub guard_state: Option<PathBuf>,
    /// Where results of checks are kept for the next server: out of reach of commands.
    pub availability_cache: Option<PathBuf>,
    /// Where homes of commands are kept from one server to the next: out of reach of commands. None keeps none.
    pub homes: Option<PathBuf>,
    /// What no command may reach: where servers of this user keep their tokens and state.
    pub secret: Vec<PathBuf>,
    /// What the operator should know; `get_server_info` tells it.
    pub warnings: Vec<String>,
    /// Settings that are not the default; `get_server_info` tells them.
    pub settings: Vec<SettingOrigin>,
    /// How the program is reached.
    pub endpoint: EndpointInfo,
}

impl SharedConfig {
    /// The usual configuration for a program with these variables and scopes.
    pub fn new(environment: BTreeMap<OsString, OsString>, scopes: &[&Path]) -> Self {
        SharedConfig {
            host_program: PathBuf::from(THIS_PROGRAM),
            environment,
            reachable: scopes.iter().map(|it| it.to_path_buf()).collect(),
            max_operations: 128,
            spool_bytes: SPOOL_TOTAL,
            audit: None,
            report_trouble: None,
            say_warning: None,
            guard_state: None,
            availability_cache: None,
            homes: None,
            secret: Vec::new(),
            warnings: Vec::new(),
            settings: Vec::new(),
            endpoint: EndpointInfo::new("stdio", false),
        }
    }
}

/// What all scopes of a program share.
pub struct SharedResources {
    /// Starts the hosts of all scopes.
    pub(super) sandbox: Sandbox,
    /// Where private directories are: out of reach of commands in every scope.
    pub(super) private_base: PathBuf,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) started: SystemTime,
    /// Commands that run at the same time, in all scopes together.
    pub(super) slots: Arc<Slots>,
    max_operations: usize,
    /// Held by operations of all scopes.
    pub(super) bytes: Arc<ByteBudget>,
    pub(super) spools: Arc<SpoolBudget>,
    pub(super) audit: Option<Arc<AuditLog>>,
    pub(super) report_trouble: Option<ReportTrouble>,
    pub(super) say_warning: Option<SayWarning>,
    /// Looks at what commands leave behind.
    pub(super) guard: Guard,
    pub(super) guard_state: Option<PathBuf>,
    pub(super) availability_cache: Option<PathBuf>,
    pub(super) homes: Option<PathBuf>,
    pub(super) secret: Vec<PathBuf>,
    pub(super) warnings: Vec<String>,
    pub(super) settings: Arc<[SettingOrigin]>,
    pub(super) endpoint: EndpointInfo,
    /// Servers that stand behind this one.
    foreign: OnceLock<Arc<dyn ForeignServers>>,
    /// The operations of every scope that is open now.
    stores: Mutex<Vec<Weak<OperationStore>>>,
    /// What has the tool files of every scope read again.
    reloads: Mutex<Vec<Weak<Notify>>>,
}

impl SharedResources {
    /// Starts the thread that starts hosts. Blocks, so it is called before the runtime serves.
    pub fn new(config: SharedConfig) -> Result<Arc<Self>, OpenError> {
        let base = private_base(&config.environment, &config.reachable);
        let private_base = base.ok_or(OpenError::NoPrivatePlace)?;
        Ok(Arc::new(SharedResources {
            sandbox: Sandbox::new(config.host_program)?,
            private_base,
            environment: config.environment,
            started: SystemTime::now(),
            slots: Arc::new(Slots::new(config.max_operations)),
            max_operations: config.max_operations,
            bytes: ByteBudget::new(OF_ALL, None),
            spools: Arc::new(SpoolBudget::new(config.spool_bytes)),
            audit: config.audit.map(Arc::new),
            report_trouble: config.report_trouble,
            say_warning: config.say_warning,
            guard: Guard::start()?,
            guard_state: config.guard_state,
            availability_cache: config.availability_cache,
            homes: config.homes,
            secret: config.secret,
            warnings: config.warnings,
            settings: config.settings.into(),
            endpoint: config.endpoint,
            foreign: OnceLock::new(),
            stores: Mutex::default(),
            reloads: Mutex::default(),
        }))
    }

    /// Servers that stand behind this one.
    pub(crate) fn foreign(&self) -> Option<&Arc<dyn ForeignServers>> {
        self.foreign.get()
    }

    /// Puts servers behind this one, for scopes that are opened from now on.
    pub fn put_behind(&self, servers: Arc<dyn ForeignServers>) {
        let _ = self.foreign.set(servers);
    }

    /// Starts hosts.
    #[cfg(feature = "cli")]
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Removes what servers left behind that were killed, beside the work.
    pub fn sweep(self: &Arc<Self>) {
        let (base, homes) = (self.private_base.clone(), self.homes.clone());
        tokio::task::spawn_blocking(move || {
            let _ = PrivateDir::sweep(&base);
            homes.map(|homes| kept_home::sweep(&homes))
        });
    }

    pub(super) fn max_operations(&self) -> usize {
        self.max_operations
    }

    /// How the program is reached.
    pub fn endpoint(&self) -> &EndpointInfo {
        &self.endpoint
    }

    /// When the program started.
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// Where private directories are.
    pub fn private_base(&self) -> &Path {
        &self.private_base
    }

    /// How many operations are in a state, in all scopes. Costs the same however many are remembered.
    pub fn count(&self, state: OperationState) -> usize {
        let stores = alive(&self.stores);
        stores.iter().map(|store| store.count(state)).sum()
    }

    /// Has the tool files of every scope read again.
    pub fn reload_all(&self) {
        for reload in alive(&self.reloads) {
            reload.notify_one();
        }
    }

    pub(super) fn remember_operations(&self, store: &Arc<OperationStore>) {
        remember(&self.stores, store);
    }

    pub(super) fn remember_reload(&self, trigger: &Arc<Notify>) {
        remember(&self.reloads, trigger);
    }
}

/// Adds one to a list, and takes out those that are gone.
fn remember<T>(list: &Mutex<Vec<Weak<T>>>, one: &Arc<T>) {
    // A list of pointers is consistent after any panic.
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.retain(|it| it.strong_count() > 0);
    list.push(Arc::downgrade(one));
}

fn alive<T>(list: &Mutex<Vec<Weak<T>>>) -> Vec<Arc<T>> {
    let list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.iter().filter_map(Weak::upgrade).collect()
}

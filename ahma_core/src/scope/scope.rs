//! A scope that is open: its sandbox, its tools, its operations, and their end.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ahma_sandbox::{Layer, PrivateDir, SandboxReport};
use futures_util::future::join_all;
use rmcp::model::Tool;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use super::availability::AvailabilityProbe;
use super::availability_cache::AvailabilityCache;
use super::config::ScopeConfig;
use super::confinement::Confinement;
use super::explainer::Explainer;
use super::kept_home::KeptHome;
use super::open_error::{ALLOW_NAMESPACES, OpenError};
use super::prepare::{prepare, presentation, reload_safety};
use super::shared::SharedResources;
use crate::config::Restrictions;
use crate::executor::{Environment, Executor, HostPool, InternalCommands, WarmShells};
use crate::operation::OperationStore;
use crate::output::SpoolPlace;
use crate::owner_warnings::OwnerWarnings;
use crate::project;
#[cfg(feature = "cli")]
use crate::registry::ToolSnapshot;
use crate::registry::{Registry, Reload};
use crate::service::tools::definitions;
use crate::service::{AhmaService, CallStyle, Commands, EndpointInfo, Proposals, ServiceContext};
use crate::tamper::ScopeGuard;

/// How long sandbox hosts, which then have nothing to do, are waited for.
const HOSTS_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the removal of private directories is waited for; what is left then, the next server sweeps up.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(2);

/// A scope that is open.
pub struct Scope {
    context: Arc<ServiceContext>,
    guard: Arc<ScopeGuard>,
    config: Arc<ScopeConfig>,
    /// What checks of tools found last time.
    cache: AvailabilityCache,
    /// Its home, when that is kept.
    _kept_home: Option<KeptHome>,
    /// Its private directories.
    private: Mutex<Option<PrivateDir>>,
    /// Keeps the tools as their files say, once the scope is ready.
    reload: Mutex<Option<Reload>>,
    trigger: Option<Arc<Notify>>,
    /// What goes on beside, once the scope is ready.
    tasks: Mutex<Vec<AbortHandle>>,
    is_kept_protected: AtomicBool,
}

fn variable(shared: &SharedResources, name: &str) -> Option<OsString> {
    shared.environment.get(OsStr::new(name)).cloned()
}

/// The layers that a host does without, and what commands can do therefore; none when it has all.
fn missing_layers(report: &SandboxReport) -> Option<String> {
    let missing = report.layers.iter().filter(|it| !it.enforced);
    let gaps: Vec<&str> = missing.filter_map(|it| it.gap.as_deref()).collect();
    (!gaps.is_empty()).then(|| gaps.join("; "))
}

/// Starts a new host as soon as there is more to protect, so that no call waits for it.
async fn keep_protected(guard: Arc<ScopeGuard>, hosts: Arc<HostPool>) {
    loop {
        guard.renewal_wanted().await;
        if let Some(in_place) = guard.renewal() {
            hosts.renew(in_place).await;
            // The next call finds out what is wrong, if anything is.
            let _ = hosts.host(&Restrictions::default()).await;
        }
    }
}

/// Where the tools of a scope come from.
pub(super) enum Tools {
    /// From its own files, which are watched.
    OfTheScope,
    /// They are those of another scope.
    Shared(Arc<Registry>),
}

impl Scope {
    /// Opens a scope: when this returns, its first sandbox host has shown that it confines commands.
    pub async fn open(
        config: ScopeConfig,
        shared: &Arc<SharedResources>,
    ) -> Result<Self, OpenError> {
        let scope = Scope::prepare(config, shared).await?;
        scope.ready().await?;
        Ok(scope)
    }

    /// Gets everything ready but the first sandbox host, which starts meanwhile. Tools can be listed; a command waits
    /// for the host and does not run without it.
    pub async fn prepare(
        config: ScopeConfig,
        shared: &Arc<SharedResources>,
    ) -> Result<Self, OpenError> {
        let endpoint = shared.endpoint.clone();
        Scope::with_tools(config, shared, Tools::OfTheScope, endpoint).await
    }

    pub(super) async fn with_tools(
        config: ScopeConfig,
        shared: &Arc<SharedResources>,
        tools: Tools,
        endpoint: EndpointInfo,
    ) -> Result<Self, OpenError> {
        let config = Arc::new(config);
        let own_tools = matches!(tools, Tools::OfTheScope);
        let prepared = prepare(&config, shared, own_tools).await?;
        let Confinement {
            policy,
            environment,
            internal,
            shell,
            private,
            kept,
            unprotectable: _,
        } = prepared.confinement;
        let roots = [&policy.scope].into_iter().chain(&policy.read);
        let commands = Commands {
            roots: roots.chain(&policy.write).cloned().collect(),
            timeout: config.timeout,
            unconfined: config.unconfined,
            environment: Environment::clone(&environment),
            shell: shell.clone(),
        };
        let warm = WarmShells {
            count: config.warm_shells,
            lazy: config.lazy_warm_shells,
            shell: shell.into(),
            environment: environment.to_vec(),
        };
        let hosts = HostPool::new(shared.sandbox.clone(), policy).with_warm_shells(warm);
        let hosts = Arc::new(hosts);
        let internal = InternalCommands::new(Arc::clone(&hosts), internal);
        let style = CallStyle {
            always_sync: config.always_sync,
            no_shell: config.no_shell,
            inline: config.inline,
            sync_limit: config.sync_limit,
        };
        let (reload, registry) = match (tools, prepared.reload) {
            (Tools::Shared(registry), _) => (None, registry),
            (Tools::OfTheScope, reload) => {
                let (reload, declared) = reload.unzip();
                let declared = declared.unwrap_or_default();
                let registry = Registry::new(definitions(style), declared, presentation(&config));
                (reload, Arc::new(registry))
            }
        };
        let spools = SpoolPlace::new(private.path(), Arc::clone(&shared.spools));
        let store = Arc::new(OperationStore::new(config.retention, spools));
        shared.remember_operations(&store);
        let guard = Arc::new(prepared.guard);
        let watching = Arc::clone(&guard);
        let mut executor =
            Executor::new(Arc::clone(&hosts), store, watching, config.max_operations)
                .with_gate(Arc::clone(&shared.slots) as Arc<_>)
                .with_byte_budget(&shared.bytes);
        if !config.unconfined {
            let explainer = Explainer {
                hosts: Arc::clone(&hosts),
                readable: OnceLock::new(),
                user_home: variable(shared, "HOME").map(PathBuf::from),
                operator_path: variable(shared, "PATH").unwrap_or_default(),
                is_root: rustix::process::geteuid().is_root(),
            };
            executor = executor.with_failures_explained(explainer.into_function());
        }
        if let Some(audit) = &shared.audit {
            executor = executor.with_audit_log(Arc::clone(audit));
        }
        if let Some(report) = &shared.report_trouble {
            executor = executor.with_trouble_reported(Arc::clone(report));
        }
        let trigger = reload.as_ref().map(Reload::trigger);
        if let Some(trigger) = &trigger {
            shared.remember_reload(trigger);
        }
        let mut tasks = Vec::new();
        if let Some(foreign) = shared.foreign().filter(|_| own_tools) {
            let mut tools = foreign.tools();
            let now = Arc::clone(&tools.borrow_and_update());
            if !now.is_empty() {
                registry.publish_foreign(&now);
            }
            let registry = Arc::clone(&registry);
            let offering = tokio::spawn(async move {
                while tools.changed().await.is_ok() {
                    let now = Arc::clone(&tools.borrow_and_update());
                    let registry = Arc::clone(&registry);
                    // How many there are, others decide.
                    let _ = spawn_blocking(move || registry.publish_foreign(&now)).await;
                }
            });
            tasks.push(offering.abort_handle());
        }
        let context = ServiceContext {
            registry,
            foreign: shared.foreign().cloned(),
            executor,
            hosts,
            internal,
            commands,
            style,
            files: Arc::default(),
            proposals: Proposals::default(),
            endpoint,
            started: shared.started,
            warnings: shared.warnings.clone(),
            settings: Arc::clone(&shared.settings),
            owner: prepared.owner,
        };
        Ok(Scope {
            context: Arc::new(context),
            guard,
            config,
            cache: prepared.cache,
            _kept_home: kept,
            private: Mutex::new(Some(private)),
            reload: Mutex::new(reload),
            trigger,
            tasks: Mutex::new(tasks),
            is_kept_protected: AtomicBool::new(false),
        })
    }

    /// Waits until the first sandbox host has shown that it confines commands, and keeps the tools current from then on.
    pub async fn ready(&self) -> Result<(), OpenError> {
        let hosts = &self.context.hosts;
        let report = hosts.host(&Restrictions::default()).await?;
        let report = report.report().clone();
        let missing = missing_layers(&report);
        let lacks = |layer: &Layer| !report.enforces(*layer);
        if let Some(layer) = self.config.require.iter().find(|layer| lacks(layer)) {
            let gaps = missing.unwrap_or_default();
            return Err(OpenError::Incomplete(format!(
                "{layer:?} is not enforced; {gaps}"
            )));
        }
        let reload = lock(&self.reload).take();
        if let Some(reload) = reload {
            let policy = hosts.policy();
            let mut writable = policy.write.clone();
            writable.push(policy.scope.clone());
            let safety = reload_safety(Arc::clone(&self.config), writable, report).await;
            let internal = self.context.internal.clone();
            let prober = AvailabilityProbe::new(internal, self.cache.clone());
            let prober = Arc::new(prober);
            let ended = self.context.operations().ended_signal();
            let registry = Arc::clone(&self.context.registry);
            let reloading = tokio::spawn(reload.keep_current(registry, safety, prober, ended));
            lock(&self.tasks).push(reloading.abort_handle());
        }
        if !self.is_kept_protected.swap(true, Ordering::Relaxed) {
            if let (false, Some(gaps)) = (self.config.unconfined, &missing) {
                self.guard.tell(format!(
                    "the sandbox is incomplete on this machine: {gaps}; {ALLOW_NAMESPACES}"
                ));
            }
            let task = keep_protected(Arc::clone(&self.guard), Arc::clone(hosts));
            lock(&self.tasks).push(tokio::spawn(task).abort_handle());
        }
        Ok(())
    }

    /// A handler of MCP requests, for one client on any transport.
    pub fn service(&self) -> AhmaService {
        AhmaService::new(Arc::clone(&self.context))
    }

    /// What runs in this scope, and what ran.
    pub fn operations(&self) -> &Arc<OperationStore> {
        self.context.operations()
    }

    /// What its owner has been warned of.
    pub fn warnings(&self) -> &Arc<OwnerWarnings> {
        &self.context.owner
    }

    /// The directory that commands are confined to.
    pub fn directory(&self) -> &Path {
        &self.config.directory
    }

    /// The name of the project in it: that of its repository, else of the directory. Asks Git, confined.
    pub async fn project_name(&self) -> String {
        project::discover(&self.context.internal).await.name
    }

    /// The tools that are listed now.
    pub fn tools(&self) -> Vec<Tool> {
        let tools = self.context.registry.current();
        tools.listed().iter().map(|it| Tool::clone(it)).collect()
    }

    /// Prompts and resources of its files.
    #[cfg(feature = "cli")]
    pub(crate) fn content_lists(&self) -> crate::registry::ContentLists {
        self.context.registry.content().borrow().lists().clone()
    }

    /// Everything that is offered now, once all checks have been made.
    #[cfg(feature = "cli")]
    pub(crate) async fn offered(&self) -> Arc<ToolSnapshot> {
        self.context.registry.decided().await;
        self.context.registry.current()
    }

    /// Everything that is offered now.
    #[cfg(feature = "cli")]
    pub(crate) fn offered_now(&self) -> Arc<ToolSnapshot> {
        self.context.registry.current()
    }

    /// Where programs are confined as commands are, and their variables.
    #[cfg(feature = "cli")]
    pub(crate) fn confined(&self) -> (Arc<HostPool>, Vec<(OsString, OsString)>) {
        let variables = self.context.commands.environment.to_vec();
        (Arc::clone(&self.context.hosts), variables)
    }

    /// Has the tool files read again, as if they had changed.
    pub fn reload(&self) {
        if let Some(trigger) = &self.trigger {
            trigger.notify_one();
        }
    }

    /// Ends everything: operations with their processes, which have `grace` for it, then sandbox hosts and private
    /// directories.
    pub async fn shutdown(&self, reason: &str, grace: Duration) {
        Scope::shutdown_all(&[self], reason, grace, std::future::ready(())).await;
    }

    /// Ends scopes in the one order that loses nothing: operations, answers about them, sandbox hosts, private
    /// directories. `answers` is awaited once the operations have ended, while the rest is cleared away.
    pub(super) async fn shutdown_all(
        scopes: &[&Scope],
        reason: &str,
        grace: Duration,
        answers: impl Future<Output = ()>,
    ) {
        let operations = scopes.iter().map(|scope| scope.end_operations(reason));
        let _ = timeout(grace, join_all(operations)).await;
        let clearing = async {
            let hosts = scopes.iter().map(|scope| scope.end_for_good());
            join_all(hosts).await;
            let removals = scopes.iter().map(|scope| scope.remove_private());
            let _ = timeout(REMOVAL_TIMEOUT, join_all(removals)).await;
        };
        tokio::join!(answers, clearing);
    }

    pub(super) fn config(&self) -> &ScopeConfig {
        &self.config
    }

    #[cfg(feature = "cli")]
    pub(super) fn guard(&self) -> &Arc<ScopeGuard> {
        &self.guard
    }

    pub(super) fn context(&self) -> &Arc<ServiceContext> {
        &self.context
    }

    async fn end_operations(&self, reason: &str) {
        self.context.executor.shut_down(reason).await;
    }

    async fn end_for_good(&self) {
        self.context.hosts.close();
        self.end_hosts().await;
        // After the hosts: one that a task was starting would not be waited for.
        for task in lock(&self.tasks).drain(..) {
            task.abort();
        }
    }

    pub(super) async fn end_hosts(&self) {
        let _ = timeout(HOSTS_TIMEOUT, self.context.hosts.end()).await;
        // No process is left that could hide something from this look.
        self.guard.finish().await;
    }

    /// Removes the private directories, which may hold very much, beside the runtime.
    async fn remove_private(&self) {
        let private = lock(&self.private).take();
        let _ = spawn_blocking(move || drop(private)).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holds one value, which is consistent after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

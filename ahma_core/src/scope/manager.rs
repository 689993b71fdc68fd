//! Scopes beside the server's own: one for each session that has its own, one for each workspace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ahma_sandbox::PrewarmSpec;
use ahma_transport::SessionHandle;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, OnceCell};
use tokio::time::{Instant, sleep_until, timeout};

use super::config::ScopeConfig;
use super::open_error::OpenError;
use super::roots::RootRules;
use super::scope::{Scope, Tools};
use super::shared::SharedResources;
use crate::service::{AhmaService, CallError, EndpointInfo, ScopeFactory, ServiceContext};

/// How long commands of a session that has ended have to end by themselves.
const SESSION_GRACE: Duration = Duration::from_millis(200);
/// How long the last standby host is waited for.
const STANDBY_TIMEOUT: Duration = Duration::from_secs(2);
const SESSION_ENDED: &str = "its session has ended";

/// Of the commands that run at the same time, a scope has a part where there are several: the others need some too.
const SHARE_OF_A_SESSION: usize = 4;

/// Scopes beside the server's own.
#[derive(Default)]
pub struct ManagerConfig {
    /// Projects that the operator has declared, by name.
    pub workspaces: Vec<(String, ScopeConfig)>,
    /// Which directories sessions may have as scopes of their own; none means that they share the server's.
    pub isolation: Option<RootRules>,
    /// The sandbox of a workspace that nobody uses for this long ends, until it is used again.
    pub idle: Option<Duration>,
}

/// Opens and closes scopes for sessions and workspaces.
pub struct ScopeManager {
    own: Arc<Scope>,
    shared: Arc<SharedResources>,
    workspaces: HashMap<String, Arc<Workspace>>,
    isolation: Option<RootRules>,
    idle: Option<Duration>,
    /// Those of sessions, while they live.
    of_sessions: Mutex<Vec<Weak<Scope>>>,
    /// Those that live as long as the server.
    kept: Mutex<Vec<Arc<Scope>>>,
}

/// A scope that the operator has declared. It is opened on its first use.
pub(crate) struct Workspace {
    config: ScopeConfig,
    scope: OnceCell<Scope>,
    last_used: Mutex<Instant>,
}

impl ScopeManager {
    /// Manages scopes beside this one.
    pub fn new(own: Arc<Scope>, shared: Arc<SharedResources>, config: ManagerConfig) -> Arc<Self> {
        let workspaces = config.workspaces.into_iter().map(|(name, config)| {
            let workspace = Workspace {
                config,
                scope: OnceCell::new(),
                last_used: Mutex::new(Instant::now()),
            };
            (name, Arc::new(workspace))
        });
        Arc::new(ScopeManager {
            workspaces: workspaces.collect(),
            isolation: config.isolation,
            idle: config.idle,
            own,
            shared,
            of_sessions: Mutex::default(),
            kept: Mutex::default(),
        })
    }

    /// The handler for a client of a workspace or of none, in a session or without one.
    pub fn service(
        self: &Arc<Self>,
        workspace: Option<&str>,
        session: Option<&SessionHandle>,
    ) -> AhmaService {
        let own = || Arc::clone(self.own.context());
        if let Some(name) = workspace {
            let workspace = self.workspaces.get(name);
            // It was activated before; if not, nothing may run instead.
            return match workspace.and_then(|it| it.scope.get()) {
                Some(scope) => scope.service(),
                None => AhmaService::without_scope(own()),
            };
        }
        match (&self.isolation, session) {
            (None, _) => AhmaService::new(own()),
            (Some(_), None) => AhmaService::without_scope(own()),
            (Some(_), Some(session)) => {
                // If there is none, it starts while the client is asked for its roots.
                self.prestart();
                let factory: Arc<dyn ScopeFactory> = Arc::new(SessionScopes(Arc::clone(self)));
                AhmaService::per_session(own(), session, factory)
            }
        }
    }

    /// The handler for a client on stdio of a server that has no scope of its own: the first root of the client becomes its
    /// scope, with its tools. `no_roots` is told when the client cannot name any.
    pub fn service_by_roots(
        self: &Arc<Self>,
        session: &SessionHandle,
        rules: RootRules,
        no_roots: Arc<Notify>,
    ) -> AhmaService {
        let factory: Arc<dyn ScopeFactory> = Arc::new(ScopeByRoots {
            manager: Arc::clone(self),
            rules,
            no_roots,
        });
        AhmaService::per_session(Arc::clone(self.own.context()), session, factory)
    }

    /// Opens a workspace, unless it is open, and notes that it is used.
    pub fn activate(self: &Arc<Self>, name: &str) -> BoxFuture<'static, Result<(), CallError>> {
        let Some(workspace) = self.workspaces.get(name).cloned() else {
            let none = CallError::new("there is no such workspace");
            return Box::pin(std::future::ready(Err(none)));
        };
        let (manager, name) = (Arc::clone(self), name.to_owned());
        Box::pin(async move {
            if workspace.is_open() {
                return Ok(());
            }
            // In a task of its own: it runs to its end even when the request that waits for it is dropped.
            let opening = tokio::spawn(async move { workspace.open(&manager, &name).await });
            let opened = opening.await;
            opened.map_err(|error| CallError::new(error.to_string()))?
        })
    }

    /// Ends every scope, the server's own included. `answers` is awaited once all operations have ended.
    pub async fn shutdown(&self, reason: &str, grace: Duration, answers: impl Future<Output = ()>) {
        let of_sessions: Vec<Arc<Scope>> = self
            .of_sessions()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let of_workspaces = self.workspaces.values().filter_map(|it| it.scope.get());
        let others = of_sessions.iter().map(Arc::as_ref).chain(of_workspaces);
        let all: Vec<&Scope> = others.chain([self.own.as_ref()]).collect();
        let standby = timeout(STANDBY_TIMEOUT, self.shared.sandbox.stop_prestart());
        let scopes = Scope::shutdown_all(&all, reason, grace, answers);
        let _ = tokio::join!(standby, scopes);
    }

    /// Opens the scope of a session, until the session ends.
    async fn open_for(
        self: Arc<Self>,
        roots: Vec<String>,
        session: SessionHandle,
    ) -> Result<Arc<ServiceContext>, CallError> {
        let Some(rules) = self.isolation.clone() else {
            return Err(CallError::new("sessions have no scopes of their own here"));
        };
        let directory = directory_of(rules, roots).await?;
        let own = self.own.config();
        let mut config = own.in_directory(&directory);
        config.max_operations = (self.shared.max_operations() / SHARE_OF_A_SESSION).max(1);
        config.lazy_warm_shells = true;
        config.keep_home = false;
        let tools = Tools::Shared(Arc::clone(&self.own.context().registry));
        let endpoint = EndpointInfo::of_session(&self.shared.endpoint);
        let opening = async {
            let scope = Scope::with_tools(config, &self.shared, tools, endpoint).await?;
            scope.ready().await?;
            Ok(Arc::new(scope))
        };
        let scope = opening.await.map_err(|error| in_words(&error))?;
        tracing::info!(session = session.id(), scope = %directory.display(), "a scope of its own");
        let context = Arc::clone(scope.context());
        self.remember(&scope);
        let manager = Arc::clone(&self);
        tokio::spawn(async move {
            session.closed().cancelled().await;
            // At once: whoever ends a session does not wait for commands that want to go on.
            scope.shutdown(SESSION_ENDED, SESSION_GRACE).await;
            // For the next one, while nobody waits.
            manager.prestart();
        });
        Ok(context)
    }

    /// Has a host wait for the scope of the next session.
    fn prestart(&self) {
        let own = self.own.context().hosts.policy();
        self.shared.sandbox.prestart(PrewarmSpec {
            network: own.network,
            private_dir: own.private_dir.clone(),
        });
    }

    fn remember(&self, scope: &Arc<Scope>) {
        let mut known = self.of_sessions();
        known.retain(|it| it.strong_count() > 0);
        known.push(Arc::downgrade(scope));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Scope>>> {
        // A list of pointers is consistent after any panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_sessions(&self) -> MutexGuard<'_, Vec<Weak<Scope>>> {
        // A list of pointers is consistent after any panic.
        self.of_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens scopes for sessions.
struct SessionScopes(Arc<ScopeManager>);

impl ScopeFactory for SessionScopes {
    fn open(
        &self,
        roots: Vec<String>,
        session: SessionHandle,
    ) -> BoxFuture<'static, Result<Arc<ServiceContext>, CallError>> {
        Box::pin(Arc::clone(&self.0).open_for(roots, session))
    }
}

/// Opens the one scope of a server that has none of its own.
struct ScopeByRoots {
    manager: Arc<ScopeManager>,
    rules: RootRules,
    no_roots: Arc<Notify>,
}

impl ScopeFactory for ScopeByRoots {
    fn open(
        &self,
        roots: Vec<String>,
        _session: SessionHandle,
    ) -> BoxFuture<'static, Result<Arc<ServiceContext>, CallError>> {
        let (manager, rules) = (Arc::clone(&self.manager), self.rules.clone());
        Box::pin(async move {
            let directory = directory_of(rules, roots).await?;
            if is_of_the_system(&directory) {
                let why = format!(
                    "{} belongs to the system, so it is not taken as the scope",
                    directory.display()
                );
                let hint =
                    "open a project in the client, or name the directory with --sandbox-scope";
                return Err(CallError::refused(why).with_hint(hint));
            }
            let mut config = manager.own.config().in_directory(&directory);
            config.lazy_warm_shells = false;
            let (tools, endpoint) = (Tools::OfTheScope, manager.shared.endpoint.clone());
            let opening = async {
                let scope = Scope::with_tools(config, &manager.shared, tools, endpoint).await?;
                scope.ready().await?;
                Ok(Arc::new(scope))
            };
            let scope = opening.await.map_err(|error| in_words(&error))?;
            tracing::info!(scope = %directory.display(), "the first root of the client is the scope");
            let context = Arc::clone(scope.context());
            manager.remember(&scope);
            // Until the server ends.
            manager.kept().push(scope);
            Ok(context)
        })
    }

    fn has_own_tools(&self) -> bool {
        true
    }

    fn no_roots(&self) {
        self.no_roots.notify_one();
    }
}

/// Whether a directory is one that no client names as a project by accident.
fn is_of_the_system(directory: &Path) -> bool {
    let of_system = ["/etc", "/var", "/boot", "/dev", "/proc", "/sys", "/run"];
    let is_below = |place: &&str| directory.starts_with(place);
    let is_top = directory.components().count() <= 2;
    ahma_sandbox::is_system_path(directory) || of_system.iter().any(is_below) || is_top
}

/// The directory that the roots of a client name; looked up beside the runtime, since a disk may be slow.
async fn directory_of(rules: RootRules, roots: Vec<String>) -> Result<PathBuf, CallError> {
    let looking = tokio::task::spawn_blocking(move || rules.scope(&roots));
    let found = looking.await.map_err(|error| error.to_string());
    found.and_then(|found| found).map_err(CallError::new)
}

fn in_words(error: &OpenError) -> CallError {
    let refused = CallError::new(error.to_string());
    match error.hint() {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}

impl Workspace {
    /// Whether it is open already; whoever asks uses it.
    fn is_open(&self) -> bool {
        *self.last_used() = Instant::now();
        self.scope.initialized()
    }

    async fn open(self: &Arc<Self>, manager: &ScopeManager, name: &str) -> Result<(), CallError> {
        let open = async {
            let endpoint = EndpointInfo::of_workspace(&manager.shared.endpoint, name);
            let (config, shared) = (self.config.clone(), &manager.shared);
            let opening = async {
                let scope = Scope::with_tools(config, shared, Tools::OfTheScope, endpoint).await?;
                scope.ready().await?;
                Ok(scope)
            };
            let scope = opening.await.map_err(|error| in_words(&error))?;
            let directory = self.config.directory.display();
            tracing::info!(workspace = name, scope = %directory, "first used");
            if let Some(idle) = manager.idle {
                tokio::spawn(Arc::clone(self).rest(idle));
            }
            Ok(scope)
        };
        self.scope.get_or_try_init(|| open).await.map(drop)
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        // A time is consistent after any panic.
        self.last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the sandbox whenever nobody has used it for a while; the next command starts it again.
    async fn rest(self: Arc<Self>, idle: Duration) {
        let mut end = Instant::now().checked_add(idle);
        while let Some(at) = end {
            sleep_until(at).await;
            let now = Instant::now();
            let rested = now - *self.last_used();
            end = match self.scope.get() {
                _ if rested < idle => now.checked_add(idle - rested),
                Some(scope) if !scope.operations().is_busy() => {
                    scope.end_hosts().await;
                    now.checked_add(idle)
                }
                _ => now.checked_add(idle),
            };
        }
    }
}

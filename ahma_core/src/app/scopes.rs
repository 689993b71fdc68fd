//! Scopes beside the server's own: one for each session that has its own, one for each workspace.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ahma_http_bridge::{HandlerRequest, SessionHandle, WorkspaceActivator};
use ahma_sandbox::PrewarmSpec;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep_until, timeout};

use super::http_settings::state_directory;
use super::log_settings::{AuditSettings, cache_directory};
use super::roots::RootRules;
use super::settings::Settings;
use super::world::{Common, Tools, World};
use crate::service::{AhmaService, EndpointInfo, OpenScope, ServiceState};

/// How long commands of a session that is over have to end by themselves.
const GRACE: Duration = Duration::from_millis(200);
/// How long the last things are waited for when the server stops; what private directories are left then, the next one
/// sweeps up.
const LAST_THINGS: Duration = Duration::from_secs(2);
const SESSION_OVER: &str = "its session has ended";
const STOPPING: &str = "the server stops";

/// All of them, and the server's own.
pub(super) struct Scopes {
    own: Arc<ServiceState>,
    common: Arc<Common>,
    settings: Arc<Settings>,
    workspaces: HashMap<String, Arc<Workspace>>,
    /// Where sessions may have scopes of their own; none means that they share the server's.
    isolated: Option<RootRules>,
    /// Those of sessions, while they live.
    of_sessions: Mutex<Vec<Weak<World>>>,
}

/// A scope that the operator has declared. It is served from its first use on.
struct Workspace {
    settings: Settings,
    world: OnceCell<World>,
    last_used: Mutex<Instant>,
}

impl Scopes {
    pub(super) fn new(
        own: Arc<ServiceState>,
        common: Arc<Common>,
        settings: Arc<Settings>,
    ) -> Arc<Self> {
        let workspaces = settings.http.iter().flat_map(|http| &http.workspaces);
        let workspaces = workspaces.map(|workspace| {
            let scope = Arc::new(Workspace {
                settings: settings.for_workspace(workspace),
                world: OnceCell::new(),
                last_used: Mutex::new(Instant::now()),
            });
            (workspace.name.clone(), scope)
        });
        Arc::new(Scopes {
            workspaces: workspaces.collect(),
            isolated: rules(&settings, &common),
            own,
            common,
            settings,
            of_sessions: Mutex::default(),
        })
    }

    /// The handler for somebody who asks.
    pub(super) fn handler(self: &Arc<Self>, request: HandlerRequest<'_>) -> AhmaService {
        if let Some(name) = request.workspace {
            let workspace = self.workspaces.get(name);
            let world = workspace.and_then(|it| it.world.get());
            // It was made ready before; if not, nothing may run instead.
            return match world {
                Some(world) => AhmaService::new(Arc::clone(&world.state)),
                None => AhmaService::nowhere(Arc::clone(&self.own)),
            };
        }
        match (&self.isolated, request.session) {
            (None, _) => AhmaService::new(Arc::clone(&self.own)),
            (Some(_), None) => AhmaService::nowhere(Arc::clone(&self.own)),
            (Some(_), Some(life)) => {
                // If there is none, it starts while the client is asked for its roots.
                self.prestart();
                AhmaService::with_own_scope(Arc::clone(&self.own), life, &self.open_scope())
            }
        }
    }

    /// Opens the scopes of sessions.
    fn open_scope(self: &Arc<Self>) -> OpenScope {
        let scopes = Arc::clone(self);
        Arc::new(move |roots, life| {
            let scopes = Arc::clone(&scopes);
            Box::pin(async move { scopes.open(roots, life).await })
        })
    }

    async fn open(
        self: Arc<Self>,
        roots: Vec<String>,
        life: SessionHandle,
    ) -> Result<Arc<ServiceState>, String> {
        let Some(rules) = self.isolated.clone() else {
            return Err("sessions have no scopes of their own here".to_owned());
        };
        let scope = scope(rules, roots).await?;
        let settings = self.settings.for_session(&scope);
        let tools = Tools::Of(Arc::clone(&self.own.registry));
        let serving = EndpointInfo::of_session(&self.own.serving);
        let world = World::establish(&settings, &self.common, tools, serving).await;
        let world = Arc::new(world.map_err(|error| error.to_string())?);
        tracing::info!(session = life.id(), scope = %scope.display(), "a scope of its own");
        let state = Arc::clone(&world.state);
        self.remember(&world);
        let scopes = Arc::clone(&self);
        tokio::spawn(async move {
            life.closed().cancelled().await;
            // At once: who ends a session does not wait for commands that want to go on.
            let _ = timeout(GRACE, world.end_operations(SESSION_OVER)).await;
            world.end_hosts().await;
            world.remove_private().await;
            // For the next one, while nobody waits.
            scopes.prestart();
        });
        Ok(state)
    }

    /// Has a host wait for the scope of the next session.
    fn prestart(&self) {
        let own = self.own.hosts.policy();
        self.common.sandbox.prestart(PrewarmSpec {
            network: own.network,
            private_dir: own.private_dir.clone(),
        });
    }

    fn remember(&self, world: &Arc<World>) {
        let mut known = self.of_sessions();
        known.retain(|it| it.strong_count() > 0);
        known.push(Arc::downgrade(world));
    }

    fn of_sessions(&self) -> MutexGuard<'_, Vec<Weak<World>>> {
        // A list of pointers is whole after any panic.
        self.of_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gets workspaces ready for requests.
    pub(super) fn prepare(self: &Arc<Self>) -> WorkspaceActivator {
        let scopes = Arc::clone(self);
        Arc::new(move |name| {
            let workspace = scopes.workspaces.get(name).cloned();
            let (scopes, name) = (Arc::clone(&scopes), name.to_owned());
            Box::pin(async move {
                let workspace = workspace.ok_or("there is no such workspace")?;
                if workspace.is_ready() {
                    return Ok(());
                }
                // In a task of its own: what has begun comes to its end, whoever waits for it.
                let opening = tokio::spawn(async move { workspace.ready(&scopes, &name).await });
                opening.await.map_err(|error| error.to_string())?
            })
        })
    }

    /// Ends the operations of all of them, and then their sandboxes.
    pub(super) async fn end(&self) {
        let known: Vec<Arc<World>> = self
            .of_sessions()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let of_workspaces = self.workspaces.values().filter_map(|it| it.world.get());
        let all: Vec<&World> = known.iter().map(Arc::as_ref).chain(of_workspaces).collect();
        let operations = all.iter().map(|world| world.end_operations(STOPPING));
        futures_util::future::join_all(operations).await;
        let hosts = all.iter().map(|world| world.end_hosts());
        let standby = timeout(LAST_THINGS, self.common.sandbox.stop_prestart());
        let _ = tokio::join!(futures_util::future::join_all(hosts), standby);
        let removals = all.iter().map(|world| world.remove_private());
        let _ = timeout(LAST_THINGS, futures_util::future::join_all(removals)).await;
    }
}

/// What may be the scope of a session, when sessions have their own.
fn rules(settings: &Settings, common: &Common) -> Option<RootRules> {
    let http = settings.http.as_ref()?;
    let audit = match &settings.audit {
        AuditSettings::File(file) => Some(file.clone()),
        AuditSettings::Daily | AuditSettings::Off => None,
    };
    let environment = &common.environment;
    // Whichever this server uses: others of the user have theirs there too.
    let secret = [
        state_directory(environment),
        cache_directory(environment),
        audit,
    ];
    let secret = secret.into_iter().flatten();
    let home = environment.get(OsStr::new("HOME"));
    Some(RootRules {
        roots: http.scope_roots.clone()?,
        home: home.map(PathBuf::from),
        secret: secret.flat_map(|path| [real(&path), path]).collect(),
        tools: settings.tool_places(),
        private_base: common.private_base.clone(),
    })
}

/// Where a path leads, as far as there is something.
fn real(path: &Path) -> PathBuf {
    let mut above = path.ancestors();
    let existing = above.find_map(|it| Some((it, it.canonicalize().ok()?)));
    match existing {
        Some((existing, real)) => {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            real.join(rest)
        }
        None => path.to_owned(),
    }
}

/// Which directory it is; looked up beside everything else, since a disk may be slow.
async fn scope(rules: RootRules, roots: Vec<String>) -> Result<PathBuf, String> {
    let judging = tokio::task::spawn_blocking(move || rules.scope(&roots));
    judging.await.map_err(|error| error.to_string())?
}

impl Workspace {
    /// Whether it is served already; who asks uses it.
    fn is_ready(&self) -> bool {
        *self.last_used() = Instant::now();
        self.world.initialized()
    }

    async fn ready(self: &Arc<Self>, scopes: &Arc<Scopes>, name: &str) -> Result<(), String> {
        let establish = async {
            let serving = EndpointInfo::of_workspace(&scopes.own.serving, name);
            let world =
                World::establish(&self.settings, &scopes.common, Tools::OfTheScope, serving);
            let world = world.await.map_err(|error| error.to_string())?;
            let scope: &Path = &self.settings.scope;
            tracing::info!(workspace = name, scope = %scope.display(), "first used");
            let idle = self.settings.http.as_ref().map(|http| http.limits.idle);
            tokio::spawn(Arc::clone(self).rest(idle.unwrap_or(Duration::MAX)));
            Ok::<World, String>(world)
        };
        self.world.get_or_try_init(|| establish).await.map(drop)
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        // A time is whole after any panic.
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
            end = match self.world.get() {
                _ if rested < idle => now.checked_add(idle - rested),
                Some(world) if !world.is_busy() => {
                    world.end_hosts().await;
                    now.checked_add(idle)
                }
                _ => now.checked_add(idle),
            };
        }
    }
}

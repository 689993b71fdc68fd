//! Everything about a scope that blocks, done beside the runtime: one slow disk must not stop other clients.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use ahma_sandbox::SandboxReport;
use tokio::task::spawn_blocking;

use super::availability::look;
use super::availability_cache::AvailabilityCache;
use super::config::ScopeConfig;
use super::confinement::Confinement;
use super::open_error::OpenError;
use super::shared::SharedResources;
use super::trusted_path::resolve_outside;
use crate::owner_warnings::OwnerWarnings;
use crate::registry::{
    Circumstances, DeclaredContent, DeclaredTools, Presentation, Reload, ReloadSafety,
};
use crate::service::tools::server_facts;
use crate::tamper::{ScopeGuard, WatchConfig};

/// What a scope is made of before it has a host.
pub(super) struct Prepared {
    pub(super) confinement: Confinement,
    pub(super) owner: Arc<OwnerWarnings>,
    pub(super) guard: ScopeGuard,
    pub(super) reload: Option<(Reload, (DeclaredTools, DeclaredContent))>,
    pub(super) cache: AvailabilityCache,
}

/// Gets a scope ready: tool files in one thread, the rest in another.
pub(super) async fn prepare(
    config: &Arc<ScopeConfig>,
    shared: &Arc<SharedResources>,
    own_tools: bool,
) -> Result<Prepared, OpenError> {
    let stopping = |_| OpenError::Stopping;
    let of_tools = Arc::clone(config);
    let reading = own_tools.then(|| spawn_blocking(move || read_tools(&of_tools)));
    let cache_file = shared.availability_cache.clone();
    let (of_confinement, shared) = (Arc::clone(config), Arc::clone(shared));
    let confining = spawn_blocking(move || {
        let config = of_confinement;
        let tools = config.tool_files.files_of(&config.directory);
        let (base, server) = (&shared.private_base, &shared.environment);
        let kept = (shared.homes.as_deref(), shared.secret.as_slice());
        let confinement = Confinement::prepare(&config, &tools, base, server, kept)?;
        let policy = &confinement.policy;
        let (audit, say) = (shared.audit.clone(), shared.say_warning.clone());
        let owner = Arc::new(OwnerWarnings::new(&policy.scope, audit, say));
        let watch = WatchConfig {
            scope: policy.scope.clone(),
            granted: policy.write.clone(),
            tools: [tools.directories(), vec![policy.scope.join("tools")]].concat(),
            protected: policy.protect.clone(),
            unprotected: config
                .unprotect
                .iter()
                .map(|it| policy.scope.join(it))
                .collect(),
            state: shared.guard_state.clone(),
        };
        let guard = shared.guard.watch(watch, Some(Arc::clone(&owner)));
        for path in &confinement.unprotectable {
            let path = path.display();
            guard.tell(format!(
                "{path} cannot be protected, because its name is not text; it is only watched"
            ));
        }
        Ok::<_, OpenError>((confinement, owner, guard))
    });
    let (confinement, owner, guard) = confining.await.map_err(stopping)??;
    let path = path_of(&confinement.internal).to_owned();
    let cache = AvailabilityCache::new(cache_file, path);
    let reload = match reading {
        None => None,
        Some(reading) => {
            let (reload, (declared, content)) = reading.await.map_err(stopping)??;
            let environment = Arc::clone(&confinement.internal);
            let (scope, cache) = (config.directory.clone(), cache.clone());
            let presentation = presentation(config);
            let looking = spawn_blocking(move || {
                let checks = declared.checks();
                let mut paths = content.paths();
                paths.extend(declared.paths());
                let paths: Vec<String> = paths.into_iter().collect();
                let (looked, present) = look(&checks, &paths, path_of(&environment), &scope);
                let circumstances = Circumstances {
                    probed: cache.last(&checks),
                    looked,
                    present,
                };
                let content = content.under(&circumstances.present);
                (declared.under(circumstances, &presentation), content)
            });
            Some((reload, looking.await.map_err(stopping)?))
        }
    };
    Ok(Prepared {
        confinement,
        owner,
        guard,
        reload,
        cache,
    })
}

/// How the tools of a scope are offered.
pub(super) fn presentation(config: &ScopeConfig) -> Presentation {
    Presentation {
        always_sync: config.always_sync,
        surface: config.tool_files.surface.clone(),
    }
}

/// Where commands look for programs.
fn path_of(environment: &[(OsString, OsString)]) -> &OsStr {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value.as_os_str()).unwrap_or_default()
}

/// Reads the tool files for the first time.
fn read_tools(
    config: &ScopeConfig,
) -> Result<(Reload, (DeclaredTools, DeclaredContent)), OpenError> {
    let files = config.tool_files.files_of(&config.directory);
    let reload = Reload::new(files, server_facts(), presentation(config));
    let declared = reload.read_now().map_err(OpenError::ToolFiles)?;
    Ok((reload, declared))
}

/// Whether commands can write none of the directories that tools are read from: every component of the way to them is
/// out of their reach, or they are protected and no link is on the way.
pub(super) async fn reload_safety(
    config: Arc<ScopeConfig>,
    mut writable: Vec<PathBuf>,
    report: SandboxReport,
) -> ReloadSafety {
    let looking = spawn_blocking(move || {
        writable.extend(config.other_scopes());
        let tools = config.tool_files.files_of(&config.directory);
        tools.directories().iter().all(|directory| {
            let Ok(absolute) = std::path::absolute(directory) else {
                return false;
            };
            if resolve_outside(&absolute, &writable).is_some() {
                return true;
            }
            let is_real = absolute.canonicalize().is_ok_and(|real| real == absolute);
            let mut protected = report.protected.iter();
            is_real && protected.any(|path| absolute.starts_with(path))
        })
    });
    match looking.await {
        Ok(true) => ReloadSafety::Safe,
        _ => ReloadSafety::Unsafe,
    }
}

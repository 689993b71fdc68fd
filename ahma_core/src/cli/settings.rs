//! What the operator decided, from arguments and environment. The only place that resolves either.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::UserDirectories;
use ahma_sandbox::{Layer, Network, ScopeError, Width, checked_scope};
use clap::ValueEnum as _;

use super::args::{Args, HomeArg, LayerArg, Mode, NetworkArg, OnOff};
use super::downstream::DownstreamFile;
use super::flag_checks::{refuse_http_flags, refuse_paths_outside, refuse_wide_grant};
use super::home_paths::with_home_filled_in;
use super::http_settings::HttpSettings;
use super::log_settings::{AuditSettings, LogSettings};
use super::reach::{keep_state_out_of_reach, refuse_links_in_reach};
use super::settings_error::SettingsError;
use super::tool_args::{absolute, tool_file_rules};
use crate::operation::Retention;
use crate::scope::{ScopeConfig, Siblings, tool_places};
use crate::service::SettingOrigin;

/// Everything the server needs to know to start.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The file that names servers behind this one.
    pub(super) downstream: Option<DownstreamFile>,
    /// How it is reached.
    pub(super) mode: Mode,
    /// The server's own scope.
    pub(super) scope: ScopeConfig,
    /// Projects that the operator has declared, by name.
    pub(super) workspaces: Vec<(String, ScopeConfig)>,
    /// Commands that run at the same time, in all scopes together.
    pub(super) max_operations: usize,
    /// Disk that outputs take together.
    pub(super) spool_bytes: u64,
    pub(super) log: LogSettings,
    pub(super) audit: AuditSettings,
    /// Over HTTP, when it is.
    pub(super) http: Option<HttpSettings>,
    /// Why the scope is to be named by the client: the server was started in no project. Its own scope is an empty directory
    /// then.
    pub(super) scope_by_roots: Option<ScopeError>,
    /// What is not the default, and who decided it.
    pub(super) origins: Vec<SettingOrigin>,
}

/// Of the commands that run at the same time, a scope has a part where there are several: the others need some too.
const SHARE_OF_A_WORKSPACE: usize = 2;

/// Below the 60 s after which common clients give up and have the command stopped.
const SYNC_LIMIT_SECONDS: u32 = 50;

impl Settings {
    /// A flag beats a variable, a variable beats the default. A server on stdio that is started in no project has the empty
    /// directory `nowhere` as its scope until its client names one.
    pub(super) fn resolve(
        args: &Args,
        environment: &BTreeMap<OsString, OsString>,
        user: &UserDirectories,
        directory: &Path,
        nowhere: Option<&Path>,
    ) -> Result<Self, SettingsError> {
        let mut scope_by_roots = None;
        let args = &with_home_filled_in(args, environment);
        let own = match (own_scope(args, environment, directory), nowhere) {
            (Err(SettingsError::Scope(error)), Some(nowhere))
                if can_ask_for_roots(args, environment, &error) =>
            {
                scope_by_roots = Some(error);
                nowhere.to_owned()
            }
            (own, _) => own?,
        };
        let sandbox_is_off = is_sandbox_off(args, environment);
        if sandbox_is_off && args.session_isolation {
            return Err(SettingsError::NothingKeptApart);
        }
        let read = grants("--sandbox-read", &args.sandbox_read, directory)?;
        let write = grants("--sandbox-write", &args.sandbox_write, directory)?;
        if !args.allow_wide_scope && !sandbox_is_off {
            let home = environment.get(OsStr::new("HOME")).map(Path::new);
            refuse_wide_grant("--sandbox-read", &read, home)?;
            refuse_wide_grant("--sandbox-write", &write, home)?;
        }
        let http = match args.mode {
            Mode::Http | Mode::Dual => {
                let granted = write.iter().chain(&read).chain([&own]);
                let readable: Vec<PathBuf> = granted.cloned().collect();
                let home = environment.get(OsStr::new("HOME")).map(Path::new);
                let http = HttpSettings::resolve(args, environment, user, home, &own, &readable)?;
                Some(http)
            }
            Mode::Stdio | Mode::ListTools => {
                refuse_http_flags(args)?;
                None
            }
        };
        let workspaces = http.iter().flat_map(|http| http.workspaces.clone());
        let workspaces: Vec<(String, PathBuf)> = workspaces.collect();
        let declared: Vec<PathBuf> = [own.clone()]
            .into_iter()
            .chain(workspaces.iter().map(|(_, scope)| scope.clone()))
            .collect();
        if !sandbox_is_off && args.mode != Mode::ListTools {
            let reachable = read.iter().chain(&write).chain(&declared);
            keep_state_out_of_reach(user, reachable)?;
        }
        let writable: Vec<PathBuf> = write.iter().chain(&declared).cloned().collect();
        let roots = http.iter().flat_map(|http| http.scope_roots.clone());
        let roots: Vec<PathBuf> = roots.flatten().collect();
        let is_alone = workspaces.is_empty() && roots.is_empty();
        if !sandbox_is_off {
            let places: Vec<PathBuf> = writable.iter().chain(&roots).cloned().collect();
            let scope = asked_scope(args, environment);
            refuse_links_in_reach(args, scope, directory, &places)?;
        }
        let max_operations = to_usize(args.max_operations);
        let shared = (max_operations / SHARE_OF_A_WORKSPACE).max(1);
        // With workspaces, relative ones are meant in each of them.
        if workspaces.is_empty() {
            refuse_paths_outside(args, &own)?;
        }
        let mut scope = ScopeConfig::new(own);
        // Nothing runs there.
        scope.lazy_warm_shells = scope_by_roots.is_some();
        scope.siblings = Arc::new(Siblings { declared, roots });
        scope.read = read;
        scope.write = write;
        scope.protect.clone_from(&args.protect);
        scope.unprotect.clone_from(&args.unprotect);
        scope.keep_home = args.home == HomeArg::Keep;
        scope.user_path = args.user_path == OnOff::On;
        scope.network = network(args.network, environment.get(OsStr::new("AHMA_NETWORK")))?;
        scope.unconfined = sandbox_is_off;
        scope.require = args.require.iter().map(|it| layer(*it)).collect();
        scope.pass_env.clone_from(&args.pass_env);
        scope.timeout = Duration::from_secs(args.timeout.into());
        scope.max_operations = if is_alone { max_operations } else { shared };
        scope.retention = Retention {
            count: to_usize(args.keep_operations),
            age: Duration::from_secs(u64::from(args.keep_minutes) * 60),
            unfinished: max_operations + to_usize(args.max_queue),
        };
        scope.warm_shells = to_usize(args.warm_shells);
        scope.tool_files = absolute(tool_file_rules(args, environment), directory);
        scope.always_sync = args.sync;
        scope.no_shell = args.no_shell;
        scope.inline = Duration::from_millis(args.inline_ms.into());
        scope.sync_limit = sync_limit(args);
        check_workspaces(&scope, &workspaces)?;
        let workspaces = workspaces.into_iter().map(|(name, directory)| {
            let mut workspace = scope.clone();
            workspace.directory = directory;
            workspace.max_operations = shared;
            (name, workspace)
        });
        Ok(Settings {
            mode: args.mode,
            workspaces: workspaces.collect(),
            log: LogSettings::resolve(args, environment, user, &writable, &scope.directory),
            audit: AuditSettings::resolve(args, directory, &writable)
                .map_err(SettingsError::AuditInReach)?,
            max_operations,
            spool_bytes: u64::from(args.spool_mb) << 20,
            downstream: DownstreamFile::resolve(args, user, directory, &writable),
            scope_by_roots,
            origins: args.origins.clone(),
            http,
            scope,
        })
    }

    /// Every path that commands of any scope may read or write, besides the system's.
    pub(super) fn reachable(&self) -> Vec<PathBuf> {
        [self.writable(), self.scope.read.clone()].concat()
    }

    /// Every path that commands of any scope may write.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let scopes = self.scope.siblings.declared.iter();
        scopes.chain(&self.scope.write).cloned().collect()
    }
}

fn own_scope(
    args: &Args,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Result<PathBuf, SettingsError> {
    let scope = directory.join(asked_scope(args, environment).unwrap_or(directory));
    let home = environment.get(OsStr::new("HOME")).map(Path::new);
    let width = match args.allow_wide_scope {
        true => Width::Any,
        false => Width::Project,
    };
    checked_scope(&scope, home, width).map_err(SettingsError::Scope)
}

/// Whether the client is asked for a scope: nobody has named one, and this is not a project.
fn can_ask_for_roots(
    args: &Args,
    environment: &BTreeMap<OsString, OsString>,
    error: &ScopeError,
) -> bool {
    let is_wide = matches!(error, ScopeError::Root | ScopeError::Home(_));
    args.mode == Mode::Stdio && is_wide && asked_scope(args, environment).is_none()
}

fn is_sandbox_off(args: &Args, environment: &BTreeMap<OsString, OsString>) -> bool {
    let variable = environment.get(OsStr::new("AHMA_NO_SANDBOX"));
    args.no_sandbox || variable.is_some_and(|value| value == "1")
}

/// A workspace in a place of tools would let its commands make tools.
fn check_workspaces(
    scope: &ScopeConfig,
    workspaces: &[(String, PathBuf)],
) -> Result<(), SettingsError> {
    let places = tool_places(&scope.tool_files, &scope.siblings.declared);
    let mut scopes = workspaces.iter().map(|(_, scope)| scope);
    let inside = scopes.find(|scope| places.iter().any(|place| scope.starts_with(place)));
    match inside {
        Some(scope) => Err(SettingsError::AmongTools(scope.clone())),
        None => Ok(()),
    }
}

/// The scope that flag or variable ask for.
pub(super) fn asked_scope<'a>(
    args: &'a Args,
    environment: &'a BTreeMap<OsString, OsString>,
) -> Option<&'a Path> {
    let variable = environment.get(OsStr::new("AHMA_SANDBOX_SCOPE"));
    let flag = args.sandbox_scope.as_deref();
    flag.or(variable.map(Path::new))
}

/// How long a synchronous call waits; for ever with `--sync`, unless a limit is named.
fn sync_limit(args: &Args) -> Option<Duration> {
    let usual = (!args.sync).then_some(SYNC_LIMIT_SECONDS);
    let seconds = args.sync_limit.or(usual);
    seconds.map(|seconds| Duration::from_secs(seconds.into()))
}

fn layer(asked: LayerArg) -> Layer {
    match asked {
        LayerArg::Landlock => Layer::Landlock,
        LayerArg::Seccomp => Layer::Seccomp,
        LayerArg::Namespaces => Layer::Namespaces,
        LayerArg::PidNamespace => Layer::PidNamespace,
        LayerArg::Seatbelt => Layer::Seatbelt,
    }
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn grants(
    flag: &'static str,
    paths: &[PathBuf],
    directory: &Path,
) -> Result<Vec<PathBuf>, SettingsError> {
    let real = |path: &PathBuf| {
        directory
            .join(path)
            .canonicalize()
            .map_err(|error| SettingsError::Grant {
                flag,
                path: path.clone(),
                reason: error.to_string(),
            })
    };
    paths.iter().map(real).collect()
}

fn network(
    flag: Option<NetworkArg>,
    variable: Option<&OsString>,
) -> Result<Network, SettingsError> {
    let decided = match (flag, variable) {
        (Some(flag), _) => flag,
        (None, Some(value)) => {
            let text = value.to_string_lossy().into_owned();
            NetworkArg::from_str(&text, true).map_err(|_| SettingsError::Network(text))?
        }
        (None, None) => NetworkArg::On,
    };
    Ok(match decided {
        NetworkArg::On => Network::On,
        NetworkArg::Off => Network::Off,
    })
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;

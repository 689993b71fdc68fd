//! What the operator decided, from arguments and environment. The only place that resolves either.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_sandbox::{Network, ScopeError, Width, checked_scope};
use clap::ValueEnum as _;

use super::args::{Args, Mode, NetworkArg};
use super::http_settings::{HttpSettings, HttpSettingsError, WorkspaceSetting};
use super::log_settings::{AuditSettings, LogSettings};
use super::protection::Protection;
use super::sources::{ToolArgs, ToolSources};
use crate::operation::Retention;

/// Everything the server needs to know to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) scope: PathBuf,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) protect: Vec<PathBuf>,
    /// As the operator said: what is protected beside the usual, and what is not.
    protection: Protection,
    pub(super) network: Network,
    pub(super) sandbox_is_off: bool,
    pub(super) pass_env: Vec<OsString>,
    pub(super) deadline: Duration,
    pub(super) at_once: usize,
    /// The same in all scopes together.
    pub(super) all_at_once: usize,
    /// The server's own scope, whichever this is about.
    own_scope: PathBuf,
    pub(super) retention: Retention,
    pub(super) spool_bytes: u64,
    pub(super) warm_shells: usize,
    /// None is started before the first script.
    pub(super) warm_shells_wait: bool,
    pub(super) tools: ToolSources,
    /// Whether every call waits for its command.
    pub(super) always_sync: bool,
    /// Whether there is no `sandboxed_shell`.
    pub(super) no_shell: bool,
    pub(super) log: LogSettings,
    pub(super) audit: AuditSettings,
    /// How it is reached.
    pub(super) mode: Mode,
    /// Over HTTP, when it is.
    pub(super) http: Option<HttpSettings>,
}

/// Of the commands that run at the same time, a scope has a part where there are several: the others need some too.
const PART_OF_A_SESSION: usize = 4;
const PART_OF_A_WORKSPACE: usize = 2;

/// Why the server cannot start as it was told to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SettingsError {
    #[error("{0}\nhint: {hint}; or say --allow-wide-scope", hint = .0.hint())]
    Scope(ScopeError),
    #[error("the path {path} of {flag} cannot be used: {reason}")]
    Grant {
        flag: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("AHMA_NETWORK is `{0}`; use on or off")]
    Network(String),
    #[error("commands could write the audit log {0}\nhint: name a file outside the scope")]
    AuditInReach(PathBuf),
    #[error("{0}")]
    Http(#[from] HttpSettingsError),
    #[error(
        "--session-isolation keeps nothing apart with --no-sandbox\nhint: leave one of them out"
    )]
    NothingKeptApart,
    #[error("the workspace {0} is where tools are read from, so its commands could make tools")]
    AmongTools(PathBuf),
    #[error("{0} is about HTTP\nhint: say --mode http or --mode dual")]
    NeedsHttp(&'static str),
}

impl Settings {
    /// A flag beats a variable, a variable beats the default.
    pub(super) fn resolve(
        args: &Args,
        environment: &BTreeMap<OsString, OsString>,
        directory: &Path,
    ) -> Result<Self, SettingsError> {
        let variable = |name: &str| environment.get(OsStr::new(name));
        let asked = asked_scope(args, environment);
        let scope = directory.join(asked.unwrap_or(directory));
        let home = variable("HOME").map(Path::new);
        let width = if args.allow_wide_scope {
            Width::Any
        } else {
            Width::Project
        };
        let at_once = to_usize(args.max_operations);
        let scope = checked_scope(&scope, home, width).map_err(SettingsError::Scope)?;
        let tools = ToolArgs::of(args, environment).sources(&scope);
        let read = grants("--sandbox-read", &args.sandbox_read, directory)?;
        let write = grants("--sandbox-write", &args.sandbox_write, directory)?;
        let sandbox_is_off =
            args.no_sandbox || variable("AHMA_NO_SANDBOX").is_some_and(|value| value == "1");
        if sandbox_is_off && args.session_isolation {
            return Err(SettingsError::NothingKeptApart);
        }
        let http = match args.mode {
            Mode::Http | Mode::Dual => {
                let readable: Vec<PathBuf> =
                    write.iter().chain(&read).chain([&scope]).cloned().collect();
                Some(HttpSettings::resolve(args, environment, &scope, &readable)?)
            }
            Mode::Stdio | Mode::ListTools => None,
        };
        let workspaces = http.iter().flat_map(|http| &http.workspaces);
        let workspaces = workspaces.map(|workspace| &workspace.scope);
        let writable = write.iter().chain([&scope]).chain(workspaces);
        let writable: Vec<PathBuf> = writable.cloned().collect();
        let is_alone = http
            .as_ref()
            .is_none_or(|http| http.workspaces.is_empty() && http.scope_roots.is_none());
        let protection = Protection {
            protect: args.protect.clone(),
            unprotect: args.unprotect.clone(),
            args: ToolArgs::of(args, environment),
        };
        let protect = protection.in_scope(&scope, &tools);
        if matches!(args.mode, Mode::Stdio | Mode::ListTools) {
            let flags = [
                ("--session-isolation", args.session_isolation),
                ("--workspace", !args.workspace.is_empty()),
            ];
            if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
                return Err(SettingsError::NeedsHttp(flag));
            }
        }
        let mut settings = Settings {
            protect,
            protection,
            log: LogSettings::resolve(args, environment, &writable),
            audit: AuditSettings::resolve(args, directory, &writable)
                .map_err(SettingsError::AuditInReach)?,
            tools,
            always_sync: args.sync,
            no_shell: args.no_shell,
            mode: args.mode,
            http,
            own_scope: scope.clone(),
            all_at_once: at_once,
            scope,
            read,
            write,
            network: network(args.network, variable("AHMA_NETWORK"))?,
            sandbox_is_off,
            pass_env: args.pass_env.clone(),
            deadline: Duration::from_secs(args.timeout.into()),
            at_once: match is_alone {
                true => at_once,
                false => (at_once / PART_OF_A_WORKSPACE).max(1),
            },
            retention: Retention {
                count: to_usize(args.keep_operations),
                age: Duration::from_secs(u64::from(args.keep_minutes) * 60),
                unfinished: at_once + to_usize(args.max_queue),
            },
            spool_bytes: u64::from(args.spool_mb) << 20,
            warm_shells: to_usize(args.warm_shells),
            warm_shells_wait: false,
        };
        let mut protect = std::mem::take(&mut settings.protect);
        let scope = settings.scope.clone();
        settings.protect_declared(&mut protect, &scope);
        settings.protect = protect;
        settings.check_workspaces()?;
        Ok(settings)
    }

    /// A workspace in a place of tools would let its commands make tools.
    fn check_workspaces(&self) -> Result<(), SettingsError> {
        let places = self.tool_places();
        let workspaces = self.http.iter().flat_map(|http| &http.workspaces);
        let mut scopes = workspaces.map(|workspace| &workspace.scope);
        let inside = scopes.find(|scope| places.iter().any(|place| scope.starts_with(place)));
        match inside {
            Some(scope) => Err(SettingsError::AmongTools(scope.clone())),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// The same for a session whose scope this is. Its tools are those of the server.
    pub(super) fn for_session(&self, scope: &Path) -> Self {
        let mut settings = self.in_scope(scope, self.tools.clone());
        settings.at_once = (self.all_at_once / PART_OF_A_SESSION).max(1);
        settings.warm_shells_wait = true;
        settings
    }

    /// The same for a project that the operator has declared, with its own tools.
    pub(super) fn for_workspace(&self, workspace: &WorkspaceSetting) -> Self {
        let tools = self.protection.args.sources(&workspace.scope);
        let mut settings = self.in_scope(&workspace.scope, tools);
        settings.at_once = (self.all_at_once / PART_OF_A_WORKSPACE).max(1);
        settings
    }

    fn in_scope(&self, scope: &Path, tools: ToolSources) -> Self {
        let mut protect = self.protection.in_scope(scope, &tools);
        self.protect_declared(&mut protect, scope);
        Settings {
            scope: scope.to_owned(),
            protect,
            tools,
            ..self.clone()
        }
    }

    /// Every scope that the operator has named, with its tools: the server's own first.
    fn declared(&self) -> Vec<(PathBuf, ToolSources)> {
        let workspaces = self.http.iter().flat_map(|http| &http.workspaces);
        let workspaces = workspaces.map(|it| {
            let tools = self.protection.args.sources(&it.scope);
            (it.scope.clone(), tools)
        });
        let own = self.protection.args.sources(&self.own_scope);
        [(self.own_scope.clone(), own)]
            .into_iter()
            .chain(workspaces)
            .collect()
    }

    /// What a scope holds of others: where they read tools from, and what the server keeps there.
    fn protect_declared(&self, protect: &mut Vec<PathBuf>, scope: &Path) {
        for (other, tools) in self.declared() {
            let kept = other.join(".ahma");
            let is_decided =
                protect.contains(&kept) || self.protection.unprotected(&other).contains(&kept);
            if kept.starts_with(scope) && !is_decided {
                protect.push(kept);
            }
            self.protection.add_tools(protect, scope, &tools);
        }
    }

    /// Where tools are read from in any scope, and what the server keeps there.
    pub(super) fn tool_places(&self) -> Vec<PathBuf> {
        let declared = self.declared();
        let places = declared.iter().flat_map(|(scope, tools)| {
            let mut places = tools.directories();
            places.push(scope.join(".ahma"));
            places
        });
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        places.map(real).collect()
    }

    /// Scopes beside this one in which commands may write.
    pub(super) fn other_scopes(&self) -> Vec<PathBuf> {
        let declared = self.declared().into_iter().map(|(scope, _)| scope);
        let http = self.http.iter();
        let roots = http.flat_map(|http| http.scope_roots.iter().flatten().cloned());
        let others = declared.chain(roots);
        others.filter(|it| *it != self.scope).collect()
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
mod tests {
    use clap::Parser as _;

    use super::*;

    fn resolved(
        arguments: &[&str],
        variables: &[(&str, &str)],
        directory: &Path,
    ) -> Result<Settings, SettingsError> {
        let args = Args::parse_from([&["ahma_mcp"], arguments].concat());
        let environment = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Settings::resolve(&args, &environment, directory)
    }

    /// Proves: S5.
    #[test]
    fn a_flag_beats_a_variable_beats_the_working_directory() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let [by_flag, by_variable, here] = ["flag", "variable", "here"].map(|name| root.join(name));
        for directory in [&by_flag, &by_variable, &here] {
            std::fs::create_dir(directory).unwrap();
        }
        let flag = by_flag.to_str().unwrap();
        let variable = [("AHMA_SANDBOX_SCOPE", by_variable.to_str().unwrap())];
        let scope = |arguments: &[&str], variables: &[(&str, &str)]| {
            resolved(arguments, variables, &here).unwrap().scope
        };
        assert_eq!(scope(&["--sandbox-scope", flag], &variable), by_flag);
        assert_eq!(scope(&[], &variable), by_variable);
        assert_eq!(scope(&[], &[]), here);
        assert_eq!(
            scope(&["--sandbox-scope", "../flag"], &[]),
            by_flag,
            "relative to here"
        );
    }

    #[test]
    fn the_root_and_the_home_directory_need_to_be_allowed() {
        let home = tempfile::tempdir().unwrap();
        let variables = [("HOME", home.path().to_str().unwrap())];
        let refused = resolved(&[], &variables, home.path());
        assert!(
            matches!(refused, Err(SettingsError::Scope(ScopeError::Home(_)))),
            "{refused:?}"
        );
        let refused = resolved(&[], &variables, Path::new("/"));
        assert_eq!(refused, Err(SettingsError::Scope(ScopeError::Root)));
        assert!(resolved(&["--allow-wide-scope"], &variables, Path::new("/")).is_ok());
    }

    /// Proves: S18.
    #[test]
    fn network_and_sandbox_follow_flag_and_variable() {
        let here = tempfile::tempdir().unwrap();
        let settings = |arguments: &[&str], variables: &[(&str, &str)]| {
            resolved(arguments, variables, here.path()).unwrap()
        };
        assert_eq!(settings(&[], &[]).network, Network::On);
        assert_eq!(
            settings(&[], &[("AHMA_NETWORK", "off")]).network,
            Network::Off
        );
        assert_eq!(
            settings(&["--network", "on"], &[("AHMA_NETWORK", "off")]).network,
            Network::On
        );
        assert!(!settings(&[], &[("AHMA_NO_SANDBOX", "0")]).sandbox_is_off);
        assert!(settings(&[], &[("AHMA_NO_SANDBOX", "1")]).sandbox_is_off);
        assert!(settings(&["--no-sandbox"], &[]).sandbox_is_off);
        let wrong = resolved(&[], &[("AHMA_NETWORK", "maybe")], here.path());
        assert_eq!(wrong, Err(SettingsError::Network("maybe".to_owned())));
    }

    #[test]
    fn a_grant_must_exist() {
        let here = tempfile::tempdir().unwrap();
        let wrong = resolved(&["--sandbox-read", "nowhere"], &[], here.path());
        assert!(
            matches!(wrong, Err(SettingsError::Grant { .. })),
            "{wrong:?}"
        );
    }
}

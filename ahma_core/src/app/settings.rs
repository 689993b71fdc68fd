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
use super::sources::{ToolArgs, ToolSources};
use crate::guard::usually_protected;
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

/// Paths in a scope, whichever it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Protection {
    protect: Vec<PathBuf>,
    unprotect: Vec<PathBuf>,
    /// For tools that a scope has by itself.
    args: ToolArgs,
}

/// Commands of one session that run at the same time: the others of the server need some too.
const AT_ONCE_IN_A_SESSION: usize = 32;

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
        let writable: Vec<PathBuf> = write.iter().chain([&scope]).cloned().collect();
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
        Ok(Settings {
            protect,
            protection,
            log: LogSettings::resolve(args, environment, &writable),
            audit: AuditSettings::resolve(args, directory, &writable)
                .map_err(SettingsError::AuditInReach)?,
            tools,
            always_sync: args.sync,
            no_shell: args.no_shell,
            mode: args.mode,
            http: match args.mode {
                Mode::Http | Mode::Dual => {
                    let readable: Vec<PathBuf> = writable.iter().chain(&read).cloned().collect();
                    Some(HttpSettings::resolve(args, environment, &scope, &readable)?)
                }
                Mode::Stdio | Mode::ListTools => None,
            },
            scope,
            read,
            write,
            network: network(args.network, variable("AHMA_NETWORK"))?,
            sandbox_is_off: args.no_sandbox
                || variable("AHMA_NO_SANDBOX").is_some_and(|value| value == "1"),
            pass_env: args.pass_env.clone(),
            deadline: Duration::from_secs(args.timeout.into()),
            at_once,
            retention: Retention {
                count: to_usize(args.keep_operations),
                age: Duration::from_secs(u64::from(args.keep_minutes) * 60),
                unfinished: at_once + to_usize(args.max_queue),
            },
            spool_bytes: u64::from(args.spool_mb) << 20,
            warm_shells: to_usize(args.warm_shells),
            warm_shells_wait: false,
        })
    }
}

impl Settings {
    /// The same for a session whose scope this is. Its tools are those of the server.
    pub(super) fn for_session(&self, scope: &Path) -> Self {
        let mut settings = self.in_scope(scope, self.tools.clone());
        settings.at_once = self.at_once.min(AT_ONCE_IN_A_SESSION);
        settings.warm_shells_wait = true;
        settings
    }

    /// The same for a project that the operator has declared, with its own tools.
    pub(super) fn for_workspace(&self, workspace: &WorkspaceSetting) -> Self {
        let tools = self.protection.args.sources(&workspace.scope);
        self.in_scope(&workspace.scope, tools)
    }

    fn in_scope(&self, scope: &Path, tools: ToolSources) -> Self {
        let mut protect = self.protection.in_scope(scope, &tools);
        // What the server itself keeps there, should that be inside.
        let own = self.scope.join(".ahma");
        if own.starts_with(scope) && !protect.contains(&own) {
            protect.push(own);
        }
        self.protection.add_tools(&mut protect, scope, &self.tools);
        Settings {
            scope: scope.to_owned(),
            protect,
            tools,
            ..self.clone()
        }
    }

    /// Scopes beside this one in which commands may write.
    pub(super) fn other_scopes(&self) -> Vec<PathBuf> {
        let http = self.http.iter();
        let other = http.flat_map(|http| {
            let workspaces = http.workspaces.iter().map(|it| it.scope.clone());
            workspaces.chain(http.scope_roots.iter().flatten().cloned())
        });
        other.collect()
    }
}

impl Protection {
    /// What is usually protected and what the operator adds, without what the operator takes out, and where tools are read
    /// from.
    fn in_scope(&self, scope: &Path, tools: &ToolSources) -> Vec<PathBuf> {
        let taken_out = self.unprotected(scope);
        let added = self.protect.iter().map(|path| scope.join(path));
        let mut paths = usually_protected(scope);
        paths.extend(added);
        paths.retain(|path| !taken_out.contains(path));
        self.add_tools(&mut paths, scope, tools);
        paths
    }

    fn unprotected(&self, scope: &Path) -> Vec<PathBuf> {
        self.unprotect.iter().map(|path| scope.join(path)).collect()
    }

    /// Protects the directories that tools are read from: a command must not make tools.
    fn add_tools(&self, protect: &mut Vec<PathBuf>, scope: &Path, tools: &ToolSources) {
        let unprotect = self.unprotected(scope);
        for directory in tools.directories() {
            let Ok(real) = directory.canonicalize() else {
                continue;
            };
            let is_below = |path: &PathBuf| real.starts_with(path);
            let is_inside = real.starts_with(scope) && real != scope;
            let is_decided = protect.iter().chain(&unprotect).any(is_below);
            if is_inside && !is_decided {
                protect.push(real);
            }
        }
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

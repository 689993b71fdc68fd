//! What commands run in: a private place, a policy, an environment, and the hosts that enforce it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ahma_sandbox::{Layer, PrivateDir, SandboxPolicy, SandboxReport, command_environment};

use super::settings::Settings;
use super::startup_error::StartupError;
use super::world::Common;
use super::{identity, toolchains};
use crate::config::Restrictions;
use crate::executor::{HostPool, WarmShells};

/// Everything commands need to run confined.
pub(super) struct Confinement {
    pub(super) hosts: Arc<HostPool>,
    /// What the first host enforces.
    pub(super) report: SandboxReport,
    /// Variables every command starts with.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The shell of scripts.
    pub(super) shell: PathBuf,
    /// Removed with everything in it when this is dropped.
    pub(super) session: PrivateDir,
}

impl Confinement {
    /// Gets everything ready and starts the first host: without a sandbox nothing is served.
    pub(super) async fn establish(
        settings: &Settings,
        common: &Common,
    ) -> Result<Self, StartupError> {
        let environment = &common.environment;
        let begun = Instant::now();
        let session = PrivateDir::create(&common.private_base)?;
        let private = begun.elapsed();
        let mut policy = policy(settings, session.path());
        let mut writable = policy.write.clone();
        writable.push(policy.scope.clone());
        let toolchains = toolchains::find(environment, &policy.home(), &writable);
        for toolchain in &toolchains {
            policy.read.extend(toolchain.read.clone());
            policy.seeds.extend(toolchain.seeds.clone());
        }
        let found = begun.elapsed();
        identity::write(environment, &policy.home())?;
        let mut variables = command_environment(&policy, environment, &settings.pass_env);
        for (name, value) in toolchains.into_iter().flat_map(|it| it.environment) {
            variables.entry(name).or_insert(value);
        }
        let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
        let shell = shell();
        let warm = WarmShells {
            count: settings.warm_shells,
            wait: settings.warm_shells_wait,
            shell: shell.clone().into(),
            environment: variables.clone(),
        };
        let hosts = Arc::new(HostPool::new(common.sandbox.clone(), policy).with_warm_shells(warm));
        let first = hosts.host(&Restrictions::default()).await;
        let report = first.map_err(StartupError::NoSandbox)?.report().clone();
        tracing::debug!(?private, ?found, ready = ?begun.elapsed(), "a sandbox is ready");
        Ok(Confinement {
            hosts,
            report,
            environment: variables,
            shell,
            session,
        })
    }
}

/// Where private directories can be: out of reach of commands in any scope that the operator has named.
pub(super) fn private_base(
    settings: &Settings,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, StartupError> {
    let runtime = environment
        .get(OsStr::new("XDG_RUNTIME_DIR"))
        .map(PathBuf::from);
    let usual = ["/var/tmp", "/tmp"].map(PathBuf::from);
    let candidates = [std::env::temp_dir()]
        .into_iter()
        .chain(runtime)
        .chain(usual);
    let workspaces = settings.http.iter().flat_map(|http| &http.workspaces);
    let workspaces = workspaces.map(|workspace| &workspace.scope);
    let granted = settings.write.iter().chain([&settings.scope]);
    let granted: Vec<&PathBuf> = granted.chain(workspaces).collect();
    // An operator who grants everything has said so.
    let everything = granted.iter().any(|path| path.parent().is_none());
    let in_reach = |base: &PathBuf| granted.iter().any(|path| base.starts_with(path));
    candidates
        .filter_map(|base| base.canonicalize().ok())
        .find(|base| everything || !in_reach(base))
        .ok_or_else(no_private_base)
}

fn no_private_base() -> StartupError {
    let what = "commands could write to every place for the server's private directories";
    StartupError::Other(format!(
        "{what}\nhint: set TMPDIR to a directory outside the scope"
    ))
}

fn policy(settings: &Settings, session: &Path) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(&settings.scope, session);
    policy.read.clone_from(&settings.read);
    policy.write.clone_from(&settings.write);
    policy.network = settings.network;
    policy.protect.clone_from(&settings.protect);
    if settings.sandbox_is_off {
        policy.without = vec![
            Layer::Landlock,
            Layer::Seccomp,
            Layer::Namespaces,
            Layer::PidNamespace,
            Layer::Seatbelt,
        ];
    }
    policy
}

/// `bash` where there is one: scripts are most often written for it.
fn shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    if bash.exists() {
        bash.to_owned()
    } else {
        PathBuf::from("/bin/sh")
    }
}

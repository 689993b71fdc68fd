//! What commands run in: private directories, a policy, an environment, and the hosts that enforce it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_sandbox::{Layer, PrivateDir, SandboxPolicy, command_environment};

use super::config::ScopeConfig;
use super::open_error::OpenError;
use super::protection::protected_paths;
use super::{git_identity, git_worktree, toolchains, user_path};
use crate::executor::Environment;
use crate::registry::ToolFiles;

/// Everything commands need to run confined, short of a host.
pub(super) struct Confinement {
    pub(super) policy: SandboxPolicy,
    /// Variables every command starts with.
    pub(super) environment: Environment,
    /// The shell of scripts.
    pub(super) shell: PathBuf,
    /// Removed with everything in it when this is dropped.
    pub(super) private: PrivateDir,
    /// Paths whose names are not text, which no sandbox host can be told of.
    pub(super) unprotectable: Vec<PathBuf>,
}

impl Confinement {
    /// Makes private directories below `base`, and decides what commands may use, which is never what is `secret`. Blocks.
    pub(super) fn prepare(
        config: &ScopeConfig,
        tools: &ToolFiles,
        base: &Path,
        server: &BTreeMap<OsString, OsString>,
        secret: &[PathBuf],
    ) -> Result<Self, OpenError> {
        let private = PrivateDir::create(base)?;
        let mut policy = policy(config, private.path());
        let mut protect = protected_paths(config, tools).map_err(OpenError::Unprotected)?;
        let writable = written_by_any(config);
        let taken_out = |path: &PathBuf| {
            config
                .unprotect
                .iter()
                .any(|it| config.directory.join(it) == *path)
        };
        let of_others = git_worktree::kept_for_others(&config.directory, &writable);
        protect.extend(of_others.into_iter().filter(|path| !taken_out(path)));
        let worktree = git_worktree::find(&config.directory, &writable, base);
        if let Some(worktree) = worktree.filter(|_| !config.unconfined) {
            policy.read.push(worktree.read);
            policy.write.extend(worktree.write);
            policy.lock_places.push(worktree.lock_place);
            protect.extend(worktree.protect);
        }
        let (protect, unprotectable) = protect.into_iter().partition(|it| it.to_str().is_some());
        policy.protect = protect;
        let mut writable = policy.write.clone();
        writable.push(policy.scope.clone());
        let toolchains = toolchains::find(server, &policy.home(), &writable);
        for toolchain in &toolchains {
            policy.read.extend(toolchain.read.clone());
            policy.seeds.extend(toolchain.seeds.clone());
        }
        if config.user_path {
            let programs = user_path::find(server, &writable, secret);
            policy.read.extend(programs);
        }
        git_identity::write(server, &policy.home())?;
        let mut variables = command_environment(&policy, server, &config.pass_env);
        for (name, value) in toolchains.into_iter().flat_map(|it| it.environment) {
            variables.entry(name).or_insert(value);
        }
        Ok(Confinement {
            policy,
            environment: Arc::new(variables.into_iter().collect()),
            shell: shell(),
            private,
            unprotectable,
        })
    }
}

/// What commands of any scope can write.
fn written_by_any(config: &ScopeConfig) -> Vec<PathBuf> {
    let mut writable = config.other_scopes();
    writable.extend(config.write.iter().cloned());
    writable.push(config.directory.clone());
    writable
}

/// Where private directories can be: out of reach of commands in any of these granted paths. Blocks.
pub(super) fn private_base(
    environment: &BTreeMap<OsString, OsString>,
    granted: &[PathBuf],
) -> Option<PathBuf> {
    let named = ["TMPDIR", "XDG_RUNTIME_DIR"].map(|name| environment.get(OsStr::new(name)));
    let [temporary, runtime] = named.map(|value| value.map(PathBuf::from));
    let usual = || ["/tmp", "/var/tmp"].map(PathBuf::from).into_iter();
    let first = temporary.or_else(|| usual().next());
    let candidates = first.into_iter().chain(runtime).chain(usual());
    // An operator who grants everything has said so.
    let everything = granted.iter().any(|path| path.parent().is_none());
    let in_reach = |base: &PathBuf| granted.iter().any(|path| base.starts_with(path));
    candidates
        .filter_map(|base| base.canonicalize().ok())
        .find(|base| everything || !in_reach(base))
}

fn policy(config: &ScopeConfig, private: &Path) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(&config.directory, private);
    policy.read.clone_from(&config.read);
    policy.write.clone_from(&config.write);
    policy.network = config.network;
    if config.unconfined {
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
    match bash.exists() {
        true => bash.to_owned(),
        false => PathBuf::from("/bin/sh"),
    }
}

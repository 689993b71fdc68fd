//! What commands run in: private directories, a policy, an environment, and the hosts that enforce it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_sandbox::{PrivateDir, SandboxPolicy, command_environment};

use super::config::ScopeConfig;
use super::kept_home::KeptHome;
use super::open_error::OpenError;
use super::protection::protected_paths;
use super::{git_identity, git_submodule, git_worktree, kept_home, toolchains, user_path};
use crate::executor::Environment;
use crate::registry::ToolFiles;

/// Everything commands need to run confined, short of a host.
pub(super) struct Confinement {
    pub(super) policy: SandboxPolicy,
    /// Variables every command starts with.
    pub(super) environment: Environment,
    /// The same for the server's own commands, which believe nothing that others have left in their home.
    pub(super) internal: Environment,
    /// The shell of scripts.
    pub(super) shell: PathBuf,
    /// Removed with everything in it when this is dropped.
    pub(super) private: PrivateDir,
    /// Held while the scope is open.
    pub(super) kept: Option<KeptHome>,
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
        (homes, secret): (Option<&Path>, &[PathBuf]),
    ) -> Result<Self, OpenError> {
        let homes = homes.filter(|_| config.keep_home);
        let kept = homes.map(|homes| kept_home::open(homes, &config.directory));
        let kept = kept.and_then(|kept| {
            let warn = |error| tracing::warn!("no home of commands can be kept: {error}");
            kept.map_err(warn).ok()
        });
        let private = match &kept {
            Some(_) => PrivateDir::create_beside_home(base)?,
            None => PrivateDir::create(base)?,
        };
        let mut policy = policy(config, private.path());
        policy.kept_home = kept.as_ref().map(|kept| kept.path.clone());
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
        let elsewhere = git_worktree::find(&config.directory, &writable, base)
            .or_else(|| git_submodule::find(&config.directory, &writable, base));
        if let Some(repository) = elsewhere.filter(|_| !config.unconfined) {
            policy.read.extend(repository.read);
            policy
                .without_links
                .extend(repository.write.iter().cloned());
            policy.write.extend(repository.write);
            policy.write_in_view.extend(repository.in_view);
            protect.extend(repository.protect);
        }
        let (protect, unprotectable) = protect.into_iter().partition(|it| it.to_str().is_some());
        policy.protect = protect;
        let mut writable = policy.write.clone();
        writable.push(policy.scope.clone());
        // Commands of any scope may have left links.
        let left_by_any = [writable.clone(), written_by_any(config)].concat();
        let toolchains = toolchains::find(server, &policy.home(), &left_by_any);
        for toolchain in &toolchains {
            policy.read.extend(toolchain.read.clone());
            policy.seeds.extend(toolchain.seeds.clone());
        }
        if config.user_path {
            let programs = user_path::find(server, &left_by_any, secret, &policy.read);
            policy.read.extend(programs);
        }
        // A command may have put something in its place; without it commits have no author, and the rest works.
        if let Err(error) = git_identity::write(server, &policy.home()) {
            tracing::warn!("the author of commits cannot be written down for commands: {error}");
        }
        let mut variables = command_environment(&policy, server, &config.pass_env);
        for (name, value) in toolchains.into_iter().flat_map(|it| it.environment) {
            variables.entry(name).or_insert(value);
        }
        let internal = without_home(&variables, &policy.home());
        add_own_programs(&mut variables, &policy.home());
        Ok(Confinement {
            policy,
            environment: Arc::new(variables.into_iter().collect()),
            internal: Arc::new(internal.into_iter().collect()),
            shell: shell(),
            private,
            kept,
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

/// Directories of the home in which package managers put programs.
const OWN_PROGRAMS: [&str; 4] = [".local/bin", ".cargo/bin", "go/bin", ".npm-global/bin"];

/// Has commands find what they have installed into their home, after everything else.
fn add_own_programs(variables: &mut BTreeMap<OsString, OsString>, home: &Path) {
    let prefix = home.join(".npm-global").into_os_string();
    variables
        .entry("npm_config_prefix".into())
        .or_insert(prefix);
    let path = variables.entry("PATH".into()).or_default();
    let own = OWN_PROGRAMS.iter().map(|it| home.join(it));
    let all: Vec<PathBuf> = std::env::split_paths(path).chain(own).collect();
    if let Ok(joined) = std::env::join_paths(all) {
        *path = joined;
    }
}

/// Variables that lead nowhere instead of into the home.
fn without_home(
    variables: &BTreeMap<OsString, OsString>,
    home: &Path,
) -> BTreeMap<OsString, OsString> {
    let nowhere = |(name, value): (&OsString, &OsString)| {
        let value = match Path::new(value).starts_with(home) {
            true => "/nonexistent".into(),
            false => value.clone(),
        };
        (name.clone(), value)
    };
    variables.iter().map(nowhere).collect()
}

/// Where private directories can be: out of reach of commands in any of these granted paths. Blocks.
pub(crate) fn private_base(
    environment: &BTreeMap<OsString, OsString>,
    granted: &[PathBuf],
) -> Option<PathBuf> {
    let named = ["TMPDIR", "XDG_RUNTIME_DIR"].map(|name| environment.get(OsStr::new(name)));
    let [temporary, runtime] = named.map(|value| value.map(PathBuf::from));
    let mut usual = ["/tmp", "/var/tmp"].map(PathBuf::from);
    // Caches and outputs may be large, and memory is dear.
    usual.sort_by_key(|path| is_in_memory(path));
    let candidates = temporary.into_iter().chain(usual).chain(runtime);
    // An operator who grants everything has said so.
    let everything = granted.iter().any(|path| path.parent().is_none());
    let in_reach = |base: &PathBuf| granted.iter().any(|path| base.starts_with(path));
    candidates
        .filter_map(|base| base.canonicalize().ok())
        .find(|base| everything || !in_reach(base))
}

fn is_in_memory(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    const TMPFS_AND_RAMFS: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(path).is_ok_and(|about| {
        TMPFS_AND_RAMFS
            .iter()
            .any(|it| u64::try_from(about.f_type) == Ok(*it))
    });
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

fn policy(config: &ScopeConfig, private: &Path) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(&config.directory, private);
    policy.read.clone_from(&config.read);
    policy.write.clone_from(&config.write);
    policy.network = config.network;
    match config.unconfined {
        true => policy.unconfined(),
        false => policy,
    }
}

/// `bash` where there is one: scripts are most often written for it.
fn shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    match bash.exists() {
        true => bash.to_owned(),
        false => PathBuf::from("/bin/sh"),
    }
}

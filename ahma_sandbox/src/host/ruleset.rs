//! L1: the Landlock ruleset, built once, entered by every command on its own.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::policy::{Network, SandboxPolicy};
use crate::public_etc::{self, PublicPath};
use crate::report::NetworkReach;
use crate::system_paths::{DEVICES, PROC_FILES, PROGRAMS, READABLE};

/// Where the ruleset is built: paths mean the same in both, but a view holds only what was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings<'e> {
    /// The view of [`view`](super::view), with the network that goes with it.
    View(NetworkReach),
    /// The machine's own file system, with what commands may read of its `/etc`.
    Machine(&'e [PublicPath]),
}

impl Surroundings<'_> {
    /// What commands reach by the network.
    pub(super) fn network(self, policy: &SandboxPolicy) -> NetworkReach {
        match (self, policy.network) {
            (Surroundings::View(network), _) => network,
            (Surroundings::Machine(_), Network::On) => NetworkReach::Machine,
            (Surroundings::Machine(_), Network::Off) => NetworkReach::Nothing,
        }
    }
}

/// Everything in the scope, but no device files: as root a command could otherwise make one.
fn writable() -> BitFlags<AccessFs> {
    (AccessFs::from_all(ABI::V3) & !(AccessFs::MakeChar | AccessFs::MakeBlock))
        | AccessFs::ResolveUnix
}

/// Builds the ruleset. Best effort beyond the first Landlock version: what the kernel does not know
/// is named as a gap by the report.
pub(super) fn build(
    policy: &SandboxPolicy,
    surroundings: Surroundings<'_>,
) -> Result<OwnedFd, String> {
    let rules = rules(policy, surroundings).map_err(|error| error.to_string())?;
    Option::<OwnedFd>::from(rules).ok_or_else(|| "the kernel has no Landlock".to_owned())
}

fn rules(
    policy: &SandboxPolicy,
    surroundings: Surroundings<'_>,
) -> Result<RulesetCreated, RulesError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled_files(policy))?;
    let newest = policy.newest_landlock.unwrap_or(u32::MAX);
    if newest >= 6 {
        ruleset = ruleset.scope(Scope::from_all(ABI::V6))?;
    }
    if newest >= 4 && surroundings.network(policy) == NetworkReach::Nothing {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let handled = handled_files(policy);
    let mut created = ruleset.create()?;
    let grant = |created, path: &Path, access| grant(created, path, access & handled);

    let read_and_execute = AccessFs::from_read(ABI::V3);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for path in PROGRAMS {
        created = grant(created, Path::new(path), read_and_execute)?;
    }
    for path in DEVICES {
        let use_device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        created = grant(created, Path::new(path), use_device | AccessFs::IoctlDev)?;
    }
    match surroundings {
        Surroundings::View(_) => {
            // Whatever is in the view was granted. This also covers the fresh /proc of each command,
            // whose files cannot be named in advance.
            created = grant(created, Path::new("/"), read)?;
            created = grant(created, Path::new("/tmp"), writable())?;
            created = grant(created, Path::new("/dev/shm"), writable())?;
            let terminals = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
            created = grant(created, Path::new("/dev/pts"), terminals)?;
        }
        Surroundings::Machine(etc) => {
            for path in PROC_FILES {
                created = grant(created, Path::new(path), AccessFs::ReadFile.into())?;
            }
            for path in READABLE {
                created = grant(created, Path::new(path), read)?;
            }
            for path in etc {
                if let PublicPath::Tree(path) = path {
                    created = grant_public(created, path, read & handled)?;
                }
            }
        }
    }
    for path in &policy.read {
        created = grant_real(created, path, read_and_execute & handled)?;
    }
    // What cannot be written can still be read.
    let granted = policy.write.iter().chain([&policy.scope]);
    for path in granted.cloned().chain([policy.home()]) {
        created = grant_real(created, &path, read_and_execute & handled)?;
    }
    let only_in_place = AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock;
    let only_in_place = only_in_place | AccessFs::MakeChar | AccessFs::MakeBlock;
    let has_view = matches!(surroundings, Surroundings::View(_));
    for path in policy.writable() {
        if !has_view && policy.write_in_view.contains(&path) {
            continue;
        }
        let rights = match policy.without_links.contains(&path) {
            true => writable() & !only_in_place,
            false => writable(),
        };
        created = grant_real(created, &path, rights & handled)?;
    }
    Ok(created)
}

/// The rights to files that are handled: all, or those an older kernel knows.
fn handled_files(policy: &SandboxPolicy) -> BitFlags<AccessFs> {
    let newest = match policy.newest_landlock {
        None => ABI::V9,
        Some(1) => ABI::V1,
        Some(2) => ABI::V2,
        Some(3 | 4) => ABI::V3,
        Some(_) => ABI::V5,
    };
    AccessFs::from_all(newest)
}

/// Adds a rule for a path of the policy. It must be there, and no link on the way to it: a command could
/// have put one there, and the rule would be for what it leads to.
fn grant_real(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesError> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let unusable = |error: Errno| RulesError::Path(format!("{}: {error}", path.display()));
    let open = openat2(CWD, path, flags, Mode::empty(), no_links).map_err(unusable)?;
    let about = rustix::fs::fstat(&open).map_err(unusable)?;
    let access = match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => access,
        _ => access & AccessFs::from_file(ABI::V9),
    };
    Ok(ruleset.add_rule(PathBeneath::new(open, access))?)
}

/// Adds a rule for a path of `/etc`, if everybody may still read it; no link is followed.
fn grant_public(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesError> {
    let Some((open, about)) = public_etc::open(path) else {
        return Ok(ruleset);
    };
    let access = match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => access,
        _ => access & AccessFs::from_file(ABI::V9),
    };
    Ok(ruleset.add_rule(PathBeneath::new(open, access))?)
}

/// Why there is no ruleset.
#[derive(Debug, thiserror::Error)]
enum RulesError {
    #[error(transparent)]
    Landlock(#[from] landlock::RulesetError),
    #[error("{0}")]
    Path(String),
}

/// Adds a rule; a path that does not exist is skipped.
fn grant(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(fd) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V9)
    };
    ruleset.add_rule(PathBeneath::new(fd, access))
}

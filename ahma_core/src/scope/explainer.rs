//! Why the sandbox was in the way of a command: the view that commands of a scope have, and the little that is looked up for it.
//!
//! May block. Must not tell the agent anything of what is outside but where the owner's own search path has a program.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ahma_sandbox::{LimitReached, Network as PolicyNetwork, SandboxPolicy, readable_system_paths};

use crate::denial::{
    Command, Denial, Ended, Failure, Limits, Lookup, Network, Presence, ReachedLimit, View, explain,
};
use crate::executor::command_line::Arg;
use crate::executor::{CommandKind, ExplainFailure, FailedCommand, HostPool};
use crate::operation::OperationState;

/// Links that are followed.
const MAX_LINKS: usize = 40;

/// What is known of the machine when commands of a scope are explained.
pub(super) struct Explainer {
    pub(super) hosts: Arc<HostPool>,
    /// What every command may read of the system, once somebody has looked.
    pub(super) readable: OnceLock<Vec<PathBuf>>,
    /// The home directory of the server's user.
    pub(super) user_home: Option<PathBuf>,
    /// Where the server's user has programs.
    pub(super) operator_path: OsString,
    pub(super) is_root: bool,
}

impl Explainer {
    /// As the executor calls it.
    pub(super) fn into_function(self) -> ExplainFailure {
        Arc::new(move |failed| self.explain(failed))
    }

    fn readable(&self) -> &[PathBuf] {
        self.readable.get_or_init(readable_system_paths)
    }

    fn explain(&self, failed: &FailedCommand) -> Option<Denial> {
        let policy = self.hosts.current_policy();
        let (home, temporary) = (policy.home(), policy.temporary());
        let protected = [policy.protect.clone(), policy.protect_in_place.clone()].concat();
        let restrictions = &failed.plan.restrictions;
        let network = match policy.network {
            PolicyNetwork::Off => Network::OffByOwner,
            PolicyNetwork::On if restrictions.no_network => Network::OffByToolFile,
            PolicyNetwork::On => Network::On,
        };
        let view = View {
            scope: &policy.scope,
            private_home: &home,
            private_tmp: &temporary,
            user_home: self.user_home.as_deref(),
            is_root: self.is_root,
            network,
            read_only: restrictions.no_writes,
            restrictions_known: true,
            grants_read: &policy.read,
            grants_write: &policy.write,
            protected: &protected,
            readable: self.readable(),
            limits: Limits {
                memory_mb: restrictions.memory_mb.map(u64::from),
                processes: restrictions.processes.map(u64::from),
                file_bytes: Some(policy.limits.file_bytes),
                open_files: Some(policy.limits.open_files),
            },
            deadline: failed.plan.deadline,
        };
        let words: Vec<String> = failed.plan.arguments.iter().map(word).collect();
        let command = match (failed.plan.kind, words.last()) {
            (CommandKind::Script, Some(script)) => Command::Script(script),
            _ => Command::Argv(&words),
        };
        let failure = Failure {
            command,
            output: &failed.output,
            exit_code: failed.exit_code,
            signal: failed.signal,
            ended: match failed.state {
                OperationState::TimedOut => Ended::TimedOut,
                OperationState::Failed => Ended::Failed,
                OperationState::Completed => Ended::Completed,
                _ => Ended::Stopped,
            },
            directory: &failed.plan.working_directory,
            truncated: failed.is_cut,
            limit_reached: failed.limit_reached.map(|reached| match reached {
                LimitReached::Memory { limit, peak } => ReachedLimit::Memory { limit, peak },
                LimitReached::Processes { limit } => ReachedLimit::Processes { limit },
            }),
        };
        let lookup = Machine {
            explainer: self,
            policy: &policy,
        };
        explain(&failure, &view, &lookup)
    }
}

fn word(argument: &Arg) -> String {
    argument.text().to_owned()
}

struct Machine<'e> {
    explainer: &'e Explainer,
    policy: &'e SandboxPolicy,
}

impl Machine<'_> {
    fn is_seen(&self, path: &Path) -> bool {
        let policy = self.policy;
        let granted = policy.read.iter().chain(&policy.write);
        let own = [&policy.scope, &policy.private_dir];
        let mut all = granted.chain(own).chain(self.explainer.readable());
        all.any(|place| path.starts_with(place))
    }
}

impl Machine<'_> {
    /// Whether a path only leads to what commands see.
    fn is_way(&self, path: &Path) -> bool {
        let policy = self.policy;
        let granted = policy.read.iter().chain(&policy.write);
        let own = [&policy.scope, &policy.private_dir];
        let mut all = granted.chain(own).chain(self.explainer.readable());
        all.any(|place| place.starts_with(path))
    }
}

impl Lookup for Machine<'_> {
    fn program_on_operator_path(&self, name: &str) -> Option<PathBuf> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let mut places = std::env::split_paths(&self.explainer.operator_path);
        places.find_map(|place| {
            let program = place.join(name);
            (place.is_absolute() && program.is_file()).then_some(program)
        })
    }

    /// Goes step by step and looks at nothing that commands do not see: where a step leads there is all that is said, whatever
    /// is there or not.
    fn inside(&self, path: &Path) -> Presence {
        let mut at = PathBuf::from("/");
        let mut rest: Vec<OsString> = parts(path);
        rest.reverse();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            let step = at.join(&part);
            if !self.is_seen(&step) && !self.is_way(&step) {
                let left = rest.iter().rev();
                return Presence::LeadsTo(left.fold(step, |path, part| path.join(part)));
            }
            match std::fs::read_link(&step) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Presence::Unknown;
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    rest.extend(parts(&target).into_iter().rev());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Presence::Missing,
                // Not a link.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => at = step,
                Err(_) => return Presence::Unknown,
            }
        }
        Presence::There
    }
}

fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect()
}

//! The sandbox hosts of a scope: started on first use, and again when they have died.
//!
//! Most commands share one. A tool that gives something up (network, writing, processes, memory) gets a
//! host whose policy has less, because a host never changes its policy; tools that give up the same share
//! one. Narrowing only ever takes away.

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ahma_sandbox::{Network, Sandbox, SandboxHost, SandboxPolicy, SandboxReport, StartError};
use tokio::time::timeout;

use crate::config::Narrowing;

/// A host that is not ready by then hangs, for instance on a dead network mount.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// Hosts that are kept; the one that was not used for longest goes, when nothing runs in it any more.
const MOST_HOSTS: usize = 8;

/// Shells that wait for scripts.
#[derive(Debug, Clone)]
pub struct WarmShells {
    /// How many wait at the same time.
    pub count: usize,
    /// Whether none waits before the first script has come.
    pub wait: bool,
    /// Which shell.
    pub shell: OsString,
    /// The environment of scripts that can use them.
    pub environment: Vec<(OsString, OsString)>,
}

/// Keeps the hosts of one policy.
pub struct HostKeeper {
    sandbox: Sandbox,
    policy: SandboxPolicy,
    warm: Option<WarmShells>,
    /// The one used last comes last.
    kept: Mutex<Vec<Arc<Place>>>,
    /// What the first host enforced; later ones must not enforce less.
    first: OnceLock<SandboxReport>,
}

/// Where the host for one narrowing is kept.
struct Place {
    narrowing: Narrowing,
    host: tokio::sync::Mutex<Option<Arc<SandboxHost>>>,
}

impl HostKeeper {
    /// Nothing is started yet.
    pub fn new(sandbox: Sandbox, policy: SandboxPolicy) -> Self {
        HostKeeper {
            sandbox,
            policy,
            warm: None,
            kept: Mutex::default(),
            first: OnceLock::new(),
        }
    }

    /// The same, with shells that wait in the host of most commands.
    pub fn with_warm_shells(self, shells: WarmShells) -> Self {
        let warm = Some(shells);
        HostKeeper { warm, ..self }
    }

    /// What commands may do.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// A host, alive a moment ago and for the directory that is the scope now. Another one takes the
    /// place of a host that is not; what runs in that one goes on.
    pub async fn host(&self, narrowing: &Narrowing) -> Result<Arc<SandboxHost>, StartError> {
        // Output is limited by the server.
        let needed = Narrowing {
            output_mb: None,
            ..*narrowing
        };
        let place = self.place(needed);
        let mut kept = place.host.lock().await;
        let usable = |host: &&Arc<SandboxHost>| !host.is_gone() && !host.is_stale();
        if let Some(host) = kept.as_ref().filter(usable) {
            return Ok(Arc::clone(host));
        }
        let host = Arc::new(self.start(&narrowed(&self.policy, &needed)).await?);
        let is_usual = needed == Narrowing::default();
        if is_usual && self.warm.as_ref().is_some_and(|warm| !warm.wait) {
            self.keep_warm(&host);
        }
        *kept = Some(Arc::clone(&host));
        Ok(host)
    }

    /// A script has come, so others may.
    pub(super) fn script_came(&self, host: &SandboxHost, narrowing: &Narrowing) {
        let waits = self.warm.as_ref().is_some_and(|warm| warm.wait);
        let is_usual = Narrowing {
            output_mb: None,
            ..*narrowing
        } == Narrowing::default();
        if waits && is_usual {
            self.keep_warm(host);
        }
    }

    fn keep_warm(&self, host: &SandboxHost) {
        if let Some(warm) = self.warm.clone() {
            host.keep_warm(warm.count, warm.shell, warm.environment);
        }
    }

    async fn start(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        let late = |_| StartError::Host(io::Error::other("it did not get ready in time"));
        let starting = self.sandbox.start(policy);
        let host = timeout(START_PATIENCE, starting).await.map_err(late)??;
        let lacking = host
            .report()
            .lacks(self.first.get_or_init(|| host.report().clone()));
        if lacking.is_empty() {
            Ok(host)
        } else {
            Err(StartError::Weaker(format!("{lacking:?}")))
        }
    }

    fn place(&self, narrowing: Narrowing) -> Arc<Place> {
        let mut kept = self.lock();
        let place = match kept.iter().position(|place| place.narrowing == narrowing) {
            Some(index) => kept.remove(index),
            None => Arc::new(Place {
                narrowing,
                host: tokio::sync::Mutex::default(),
            }),
        };
        kept.push(Arc::clone(&place));
        // The one of most commands stays.
        let oldest = kept
            .iter()
            .position(|place| place.narrowing != Narrowing::default());
        if let Some(oldest) = oldest.filter(|_| kept.len() > MOST_HOSTS) {
            kept.remove(oldest);
        }
        place
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Place>>> {
        // A list of places is consistent after any panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next command gets a new host, for which more can be protected. What runs goes on.
    pub async fn renew(&self) {
        let kept = std::mem::take(&mut *self.lock());
        for place in kept {
            *place.host.lock().await = None;
        }
    }

    /// The hosts that are alive.
    pub async fn alive(&self) -> Vec<Arc<SandboxHost>> {
        let places = self.lock().clone();
        let mut alive = Vec::new();
        for place in places {
            let host = place.host.lock().await.clone();
            alive.extend(host.filter(|host| !host.is_gone()));
        }
        alive
    }

    /// Ends every host and waits until no process of it is left.
    pub async fn end(&self) {
        for host in self.alive().await {
            host.end().await;
        }
    }

    /// What the host of most commands enforces.
    pub async fn report(&self) -> Result<SandboxReport, StartError> {
        let host = self.host(&Narrowing::default()).await?;
        Ok(host.report().clone())
    }

    /// What a tool gave up and a host cannot take away from its commands.
    pub fn not_narrowed(&self, host: &SandboxHost) -> Vec<String> {
        let usual = self.first.get();
        let usual: Vec<&String> = usual.into_iter().flat_map(gaps).collect();
        let gaps = gaps(host.report()).filter(|gap| !usual.contains(gap));
        gaps.cloned().collect()
    }
}

fn gaps(report: &SandboxReport) -> impl Iterator<Item = &String> {
    report.layers.iter().filter_map(|layer| layer.gap.as_ref())
}

/// The policy without what a tool gives up.
fn narrowed(policy: &SandboxPolicy, narrowing: &Narrowing) -> SandboxPolicy {
    let mut policy = policy.clone();
    if narrowing.no_network {
        policy.network = Network::Off;
    }
    policy.read_only |= narrowing.no_writes;
    let memory = narrowing.memory_mb.map(|mb| u64::from(mb) << 20);
    policy.limits.memory_bytes = least(policy.limits.memory_bytes, memory);
    policy.limits.processes = least(policy.limits.processes, narrowing.processes);
    policy
}

/// The smaller of two limits; none is no limit.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: S41.
    #[test]
    fn narrowing_only_takes_away() {
        let mut policy = SandboxPolicy::new("/scope", "/session");
        policy.network = Network::Off;
        policy.read_only = true;
        policy.limits.memory_bytes = Some(1 << 20);
        policy.limits.processes = Some(10);
        let generous = Narrowing {
            memory_mb: Some(100),
            processes: Some(100),
            ..Narrowing::default()
        };
        assert_eq!(narrowed(&policy, &generous), policy);
        assert_eq!(narrowed(&policy, &Narrowing::default()), policy);
    }

    #[test]
    fn everything_a_tool_gives_up_is_taken_from_the_policy() {
        let policy = SandboxPolicy::new("/scope", "/session");
        let narrowing = Narrowing {
            no_network: true,
            no_writes: true,
            memory_mb: Some(64),
            processes: Some(5),
            output_mb: Some(1),
        };
        let less = narrowed(&policy, &narrowing);
        assert_eq!(less.network, Network::Off);
        assert!(less.read_only);
        assert_eq!(less.limits.memory_bytes, Some(64 << 20));
        assert_eq!(less.limits.processes, Some(5));
    }
}

//! The sandbox hosts of a scope: started on first use, and again when they have died.
//!
//! Most commands share one. A tool that gives something up (network, writing, processes, memory) gets a
//! host whose policy has less, because a host never changes its policy; tools that give up the same share
//! one. Restrictions only ever take something away.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ahma_sandbox::{Network, Sandbox, SandboxHost, SandboxPolicy, SandboxReport, StartError};
use tokio::time::timeout;

use crate::config::Restrictions;

/// A host that is not ready by then hangs, for instance on a dead network mount.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Hosts that are kept; the one that was not used for longest goes, when nothing runs in it any more.
const MAX_HOSTS: usize = 8;

/// Shells that wait for scripts.
#[derive(Debug, Clone)]
pub struct WarmShells {
    /// How many wait at the same time.
    pub count: usize,
    /// Whether none is started before the first script has come.
    pub lazy: bool,
    /// Which shell.
    pub shell: OsString,
    /// The environment of scripts that can use them.
    pub environment: Vec<(OsString, OsString)>,
}

/// Keeps the hosts of one policy.
pub struct HostPool {
    sandbox: Sandbox,
    policy: SandboxPolicy,
    /// What was found to be protected besides, deep in the scope.
    in_place: Mutex<Arc<[PathBuf]>>,
    warm: Option<WarmShells>,
    /// The one used last comes last.
    kept: Mutex<Vec<Arc<HostSlot>>>,
    /// No host is started any more.
    is_closed: AtomicBool,
    /// Those that are ending.
    released: Mutex<Vec<Arc<SandboxHost>>>,
    /// What the first host enforced; later ones must not enforce less.
    first: OnceLock<SandboxReport>,
}

/// Where the host for one restrictions is kept.
struct HostSlot {
    restrictions: Restrictions,
    host: tokio::sync::Mutex<Option<Arc<SandboxHost>>>,
}

impl HostPool {
    /// Nothing is started yet.
    pub fn new(sandbox: Sandbox, policy: SandboxPolicy) -> Self {
        HostPool {
            sandbox,
            policy,
            in_place: Mutex::new(Arc::default()),
            warm: None,
            kept: Mutex::default(),
            is_closed: AtomicBool::new(false),
            released: Mutex::default(),
            first: OnceLock::new(),
        }
    }

    /// The same, with shells that wait in the host of most commands.
    pub fn with_warm_shells(self, shells: WarmShells) -> Self {
        let warm = Some(shells);
        HostPool { warm, ..self }
    }

    /// What commands may do.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// A host, alive a moment ago and for the directory that is the scope now. Another one takes the
    /// place of a host that is not; what runs in that one goes on.
    pub async fn host(&self, restrictions: &Restrictions) -> Result<Arc<SandboxHost>, StartError> {
        // Output is limited by the server.
        let needed = Restrictions {
            output_mb: None,
            ..*restrictions
        };
        let place = self.place(needed);
        let mut kept = place.host.lock().await;
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(StartError::Host(io::Error::other("the server is stopping")));
        }
        let usable = |host: &&Arc<SandboxHost>| !host.is_gone() && !host.is_stale();
        if let Some(host) = kept.as_ref().filter(usable) {
            return Ok(Arc::clone(host));
        }
        let policy = restricted(&self.current_policy(), &needed);
        let host = Arc::new(self.start(&policy).await?);
        let is_usual = needed == Restrictions::default();
        if is_usual && self.warm.as_ref().is_some_and(|warm| !warm.lazy) {
            self.keep_warm(&host);
        }
        *kept = Some(Arc::clone(&host));
        Ok(host)
    }

    /// A script has come, so others may.
    pub(super) fn script_came(&self, host: &SandboxHost, restrictions: &Restrictions) {
        let is_lazy = self.warm.as_ref().is_some_and(|warm| warm.lazy);
        let is_usual = Restrictions {
            output_mb: None,
            ..*restrictions
        } == Restrictions::default();
        if is_lazy && is_usual {
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
        let host = timeout(START_TIMEOUT, starting).await.map_err(late)??;
        let lacking = host
            .report()
            .lacks(self.first.get_or_init(|| host.report().clone()));
        if lacking.is_empty() {
            Ok(host)
        } else {
            Err(StartError::Weaker(format!("{lacking:?}")))
        }
    }

    fn place(&self, restrictions: Restrictions) -> Arc<HostSlot> {
        let mut kept = self.lock();
        let place = match kept
            .iter()
            .position(|place| place.restrictions == restrictions)
        {
            Some(index) => kept.remove(index),
            None => Arc::new(HostSlot {
                restrictions,
                host: tokio::sync::Mutex::default(),
            }),
        };
        kept.push(Arc::clone(&place));
        // The one of most commands stays.
        let oldest = kept
            .iter()
            .position(|place| place.restrictions != Restrictions::default());
        if let Some(oldest) = oldest.filter(|_| kept.len() > MAX_HOSTS) {
            kept.remove(oldest);
        }
        place
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<HostSlot>>> {
        // A list of places is consistent after any panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What commands may do, with all that is protected by now.
    pub(crate) fn current_policy(&self) -> SandboxPolicy {
        let in_place = self.in_place.lock();
        // A list is right after any panic.
        let in_place = Arc::clone(&in_place.unwrap_or_else(PoisonError::into_inner));
        SandboxPolicy {
            protect_in_place: in_place.to_vec(),
            ..self.policy.clone()
        }
    }

    /// The next command gets a new host, which protects what is there by now, and these paths besides. What runs goes on.
    pub async fn renew(&self, in_place: Arc<[PathBuf]>) {
        *self.in_place.lock().unwrap_or_else(PoisonError::into_inner) = in_place;
        let kept = std::mem::take(&mut *self.lock());
        for place in kept {
            *place.host.lock().await = None;
        }
    }

    /// Keeps a host no longer; what runs in it goes on.
    pub async fn release(&self, restrictions: &Restrictions) {
        let place = {
            let mut kept = self.lock();
            let index = kept.iter().position(|it| it.restrictions == *restrictions);
            index.map(|index| kept.remove(index))
        };
        let Some(place) = place else { return };
        let Some(host) = place.host.lock().await.take() else {
            return;
        };
        // Waited for by the end of the server, too.
        self.released().push(Arc::clone(&host));
        if Arc::strong_count(&host) == 2 {
            host.end().await;
        }
        self.released().retain(|it| !Arc::ptr_eq(it, &host));
    }

    fn released(&self) -> MutexGuard<'_, Vec<Arc<SandboxHost>>> {
        // A list is right after any panic.
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// From now on no host is started.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Ends every host and waits until no process of it is left, also of those that are just starting.
    pub async fn end(&self) {
        let released = self.released().clone();
        for host in self.alive().await.into_iter().chain(released) {
            host.end().await;
        }
    }

    /// What the host of most commands enforces.
    pub async fn report(&self) -> Result<SandboxReport, StartError> {
        let host = self.host(&Restrictions::default()).await?;
        Ok(host.report().clone())
    }

    /// What commands can do because layers are missing, as far as a host has found out; none when it has all.
    pub fn gaps(&self) -> Option<String> {
        let missing = self.first.get()?.layers.iter().filter(|it| !it.enforced);
        let gaps: Vec<&str> = missing.filter_map(|it| it.gap.as_deref()).collect();
        (!gaps.is_empty()).then(|| gaps.join("; "))
    }

    /// What a tool gave up and a host cannot take away from its commands.
    pub fn not_restricted(&self, host: &SandboxHost) -> Vec<String> {
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
fn restricted(policy: &SandboxPolicy, restrictions: &Restrictions) -> SandboxPolicy {
    let mut policy = policy.clone();
    if restrictions.no_network {
        policy.network = Network::Off;
    }
    policy.read_only |= restrictions.no_writes;
    let memory = restrictions.memory_mb.map(|mb| u64::from(mb) << 20);
    policy.limits.memory_bytes = least(policy.limits.memory_bytes, memory);
    policy.limits.processes = least(policy.limits.processes, restrictions.processes);
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
        let generous = Restrictions {
            memory_mb: Some(100),
            processes: Some(100),
            ..Restrictions::default()
        };
        assert_eq!(restricted(&policy, &generous), policy);
        assert_eq!(restricted(&policy, &Restrictions::default()), policy);
    }

    #[test]
    fn everything_a_tool_gives_up_is_taken_from_the_policy() {
        let policy = SandboxPolicy::new("/scope", "/session");
        let restrictions = Restrictions {
            no_network: true,
            no_writes: true,
            memory_mb: Some(64),
            processes: Some(5),
            output_mb: Some(1),
        };
        let less = restricted(&policy, &restrictions);
        assert_eq!(less.network, Network::Off);
        assert!(less.read_only);
        assert_eq!(less.limits.memory_bytes, Some(64 << 20));
        assert_eq!(less.limits.processes, Some(5));
    }
}

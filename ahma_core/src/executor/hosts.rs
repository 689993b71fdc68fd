//! The sandbox host of a scope: started on first use, and again when it has died.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ahma_sandbox::{Sandbox, SandboxHost, SandboxPolicy, SandboxReport, StartError};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// A host that is not ready by then hangs, for instance on a dead network mount.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// Keeps the host of one policy.
pub struct HostKeeper {
    sandbox: Sandbox,
    policy: SandboxPolicy,
    host: Mutex<Option<Arc<SandboxHost>>>,
    /// What the first host enforced; later ones must not enforce less.
    first: OnceLock<SandboxReport>,
}

impl HostKeeper {
    /// Nothing is started yet.
    pub fn new(sandbox: Sandbox, policy: SandboxPolicy) -> Self {
        HostKeeper {
            sandbox,
            policy,
            host: Mutex::new(None),
            first: OnceLock::new(),
        }
    }

    /// What commands may do.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// The host, alive a moment ago and for the directory that is the scope now. Another one takes the
    /// place of a host that is not; what runs in that one goes on.
    pub async fn host(&self) -> Result<Arc<SandboxHost>, StartError> {
        let mut kept = self.host.lock().await;
        let usable = |host: &&Arc<SandboxHost>| !host.is_gone() && !host.is_stale();
        if let Some(host) = kept.as_ref().filter(usable) {
            return Ok(Arc::clone(host));
        }
        let late = |_| StartError::Host(io::Error::other("it did not get ready in time"));
        let starting = self.sandbox.start(&self.policy);
        let host = timeout(START_PATIENCE, starting).await.map_err(late)??;
        let lacking = host
            .report()
            .lacks(self.first.get_or_init(|| host.report().clone()));
        if !lacking.is_empty() {
            return Err(StartError::Weaker(format!("{lacking:?}")));
        }
        let host = Arc::new(host);
        *kept = Some(Arc::clone(&host));
        Ok(host)
    }

    /// The next command gets a new host, for which more can be protected. What runs goes on.
    pub async fn renew(&self) {
        *self.host.lock().await = None;
    }

    /// What the host enforces.
    pub async fn report(&self) -> Result<SandboxReport, StartError> {
        Ok(self.host().await?.report().clone())
    }
}

//! The sandbox host of a scope: started on first use, and again when it has died.

use std::sync::Arc;

use ahma_sandbox::{Sandbox, SandboxHost, SandboxPolicy, SandboxReport, StartError};
use tokio::sync::Mutex;

/// Keeps the host of one policy.
pub struct HostKeeper {
    sandbox: Sandbox,
    policy: SandboxPolicy,
    host: Mutex<Option<Arc<SandboxHost>>>,
}

impl HostKeeper {
    /// Nothing is started yet.
    pub fn new(sandbox: Sandbox, policy: SandboxPolicy) -> Self {
        HostKeeper {
            sandbox,
            policy,
            host: Mutex::new(None),
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
        let host = Arc::new(self.sandbox.start(&self.policy).await?);
        *kept = Some(Arc::clone(&host));
        Ok(host)
    }

    /// What the host enforces.
    pub async fn report(&self) -> Result<SandboxReport, StartError> {
        Ok(self.host().await?.report().clone())
    }
}

//! What starts sandbox hosts, and lives as long as the server.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use tokio::sync::{OnceCell, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::cgroups::CommandGroups;
use super::host::SandboxHost;
use super::private_network::{PrivateNetwork, PrivateNetworks};
use super::processes::{Request, Source, Started, run};
use crate::error::StartError;
use crate::order::HostOrder;
use crate::policy::{LimitedBy, SandboxPolicy};
use crate::prewarm::PrewarmSpec;
use crate::scope::{DirectoryIdentity, check_private_dir};

/// A standby host that is not confined by then is given up, and a new one is started.
const STANDBY_TIMEOUT: Duration = Duration::from_secs(3);

/// Starts sandbox hosts. They end with the last copy of it at the latest.
#[derive(Clone)]
pub struct Sandbox {
    requests: mpsc::Sender<Request>,
    networks: Arc<PrivateNetworks>,
    /// Made when the first command needs one.
    groups: Arc<OnceCell<Result<Arc<CommandGroups>, String>>>,
}

impl Sandbox {
    /// Prepares to start hosts from `program`, whose `main` calls
    /// [`become_host_if_asked`](crate::become_host_if_asked) first.
    pub fn new(program: impl Into<PathBuf>) -> io::Result<Self> {
        let program = program.into();
        let (requests, work) = mpsc::channel();
        std::thread::Builder::new()
            .name("sandbox-hosts".to_owned())
            .spawn(move || run(program, &work))?;
        Ok(Sandbox {
            requests,
            networks: Arc::default(),
            groups: Arc::default(),
        })
    }

    /// Has a process wait that becomes the next host whose policy fits: it does everything that does not depend on that.
    /// There is one at most.
    pub fn prestart(&self, prewarm: PrewarmSpec) {
        let _ = self.requests.send(Request::StandbyHost(prewarm));
    }

    /// No process waits from now on. When this returns, the one that did is gone.
    pub async fn stop_prestart(&self) {
        let (reply, answer) = oneshot::channel();
        let _ = self.requests.send(Request::StopPrestart(reply));
        let _ = answer.await;
    }

    /// Starts a host for a policy and waits until it is confined.
    pub async fn start(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        let scope = DirectoryIdentity::of(&policy.scope)?;
        check_private_dir(policy)?;
        let (limited_by, groups) = self.groups(policy).await;
        let policy = &SandboxPolicy {
            limited_by,
            ..policy.clone()
        };
        let Some(slot) = self.networks.slot(policy) else {
            return self.start_in(policy, scope, None, groups).await;
        };
        let mut known = slot.lock().await;
        let host = self
            .start_in(policy, scope, known.upgrade(), groups)
            .await?;
        *known = host.network().map_or_else(Weak::new, Arc::downgrade);
        Ok(host)
    }

    async fn start_in(
        &self,
        policy: &SandboxPolicy,
        scope: DirectoryIdentity,
        network: Option<Arc<PrivateNetwork>>,
        groups: Option<Arc<CommandGroups>>,
    ) -> Result<SandboxHost, StartError> {
        let source = match network {
            None => Source::StandbyHost(Box::new(policy.clone())),
            // One that waits has a network of its own already.
            Some(_) => Source::New,
        };
        let started = self.process(source).await?;
        if !started.was_standby {
            return connect(started, policy, scope, network, groups).await;
        }
        let connecting = connect(started, policy, scope.clone(), None, groups.clone());
        match timeout(STANDBY_TIMEOUT, connecting).await {
            Ok(Ok(host)) => Ok(host),
            // On any error fall back to a cold start, which works or reports the real reason.
            Ok(Err(_)) | Err(_) => {
                let started = self.process(Source::New).await?;
                connect(started, policy, scope, None, groups).await
            }
        }
    }

    /// What will keep the limits of a policy's commands, and what makes their cgroups.
    async fn groups(&self, policy: &SandboxPolicy) -> (LimitedBy, Option<Arc<CommandGroups>>) {
        if !policy.limits.are_unusual() {
            return (LimitedBy::Process, None);
        }
        let making = || async {
            let made = spawn_blocking(CommandGroups::new).await;
            made.map_err(|error| error.to_string())
                .flatten()
                .map(Arc::new)
        };
        match self.groups.get_or_init(making).await {
            Ok(groups) => (LimitedBy::Cgroup, Some(Arc::clone(groups))),
            Err(why) => (LimitedBy::ProcessOnly(why.clone()), None),
        }
    }

    async fn process(&self, source: Source) -> Result<Started, StartError> {
        let (reply, answer) = oneshot::channel();
        let ended = || StartError::Host(io::Error::other("the thread that starts hosts has ended"));
        self.requests
            .send(Request::Start(source, reply, self.requests.clone()))
            .map_err(|_| ended())?;
        let started = answer.await.map_err(|_| ended())?;
        started.map_err(StartError::Host)
    }
}

async fn connect(
    mut started: Started,
    policy: &SandboxPolicy,
    scope: DirectoryIdentity,
    network: Option<Arc<PrivateNetwork>>,
    groups: Option<Arc<CommandGroups>>,
) -> Result<SandboxHost, StartError> {
    let reaper = started.unclaimed.reaper.clone();
    // One that waited has it already.
    let etc = if started.was_standby {
        &[]
    } else {
        &*started.etc
    };
    let order = HostOrder { what: policy, etc };
    let connecting =
        SandboxHost::connect(started.connection, reaper, order, scope, network, groups);
    let host = connecting.await?;
    started.unclaimed.has_owner = true;
    Ok(host)
}

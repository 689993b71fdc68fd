//! Starting host processes from a thread of their own.
//!
//! A host asks the kernel to be killed with the thread that started it; so that thread must live as
//! long as the server. Threads of a runtime may not.
//!
//! That thread never waits for a host: one that does not end must not keep others from being started.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::host::SandboxHost;
use super::standby::StandbyHost;
use crate::error::StartError;
use crate::host::HOST_ARGUMENT;
use crate::policy::SandboxPolicy;
use crate::prewarm::PrewarmSpec;
use crate::scope::{DirectoryIdentity, check_private_dir};
use crate::socket;

/// A standby that has not become a host by then is given up: another one is started instead.
const PATIENCE_WITH_SPARES: Duration = Duration::from_secs(3);
/// For a process that has been told to end, in seconds.
const TIME_TO_END: i64 = 1;
/// For a thread that only waits.
const SMALL_STACK: usize = 64 << 10;

/// Starts sandbox hosts. They end with the last copy of it at the latest.
#[derive(Clone)]
pub struct Sandbox {
    requests: mpsc::Sender<Request>,
}

enum Request {
    /// With a way to the thread for the process that is started.
    Start(
        Source,
        oneshot::Sender<io::Result<Started>>,
        mpsc::Sender<Request>,
    ),
    /// Have a standby, unless there is one.
    StandbyHost(PrewarmSpec),
    /// Have none from now on; answered when nothing of it is left.
    StopPrestart(oneshot::Sender<()>),
    Reap(u32),
    /// Answered when nothing of the host is left; it has been told to end.
    AwaitEnd(u32, oneshot::Sender<()>),
}

/// Which process becomes a host.
enum Source {
    /// The standby, when there is one that fits.
    StandbyHost(Box<SandboxPolicy>),
    /// A new one.
    New,
}

/// A host process that waits for its policy. Without somebody who takes it over it does not stay.
struct Started {
    connection: OwnedFd,
    unclaimed: UnclaimedChild,
    was_standby: bool,
}

/// Lets a host that has ended be collected, so that it does not stay a zombie.
#[derive(Clone)]
pub(super) struct Reaper {
    requests: mpsc::Sender<Request>,
    pid: u32,
}

impl Reaper {
    pub(super) fn reap(&self) {
        let _ = self.requests.send(Request::Reap(self.pid));
    }

    /// Waits until nothing is left of a host that is being told to end.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let (reply, answer) = oneshot::channel();
        // Where the thread is gone, the answer is dropped with the request.
        let _ = self.requests.send(Request::AwaitEnd(self.pid, reply));
        async move {
            let _ = answer.await;
        }
    }
}

/// A process that nobody answers for yet, wherever it is on its way: it is ended when this is dropped.
struct UnclaimedChild {
    reaper: Reaper,
    has_owner: bool,
}

impl Drop for UnclaimedChild {
    fn drop(&mut self) {
        if !self.has_owner {
            self.reaper.reap();
        }
    }
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
        Ok(Sandbox { requests })
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
        let standby = Source::StandbyHost(Box::new(policy.clone()));
        let started = self.process(standby).await?;
        if !started.was_standby {
            return connect(started, policy, scope).await;
        }
        let connecting = connect(started, policy, scope.clone());
        match timeout(PATIENCE_WITH_SPARES, connecting).await {
            Ok(Ok(host)) => Ok(host),
            // Whatever it was: one that knows its policy from the beginning does without more, or says what is wrong.
            Ok(Err(_)) | Err(_) => connect(self.process(Source::New).await?, policy, scope).await,
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
) -> Result<SandboxHost, StartError> {
    let reaper = started.unclaimed.reaper.clone();
    let pid = reaper.pid;
    let host = SandboxHost::connect(started.connection, pid, reaper, policy, scope).await?;
    started.unclaimed.has_owner = true;
    Ok(host)
}

/// The processes of all hosts.
struct Hosts {
    program: PathBuf,
    children: Vec<Child>,
    standby: Option<StandbyHost>,
    keeps_standby: bool,
}

fn run(program: PathBuf, work: &mpsc::Receiver<Request>) {
    let mut hosts = Hosts {
        program,
        children: Vec::new(),
        standby: None,
        keeps_standby: true,
    };
    while let Some(request) = hosts.next(work) {
        match request {
            Request::Start(source, reply, requests) => {
                // Whoever asked may be gone; then what was started is dropped.
                let _ = reply.send(hosts.start(&source, requests));
            }
            Request::StandbyHost(prewarm) => hosts.prestart(prewarm),
            Request::StopPrestart(reply) => {
                hosts.keeps_standby = false;
                hosts.end_standby(Some(reply));
            }
            Request::Reap(pid) => hosts.end(pid),
            Request::AwaitEnd(pid, reply) => match hosts.take(pid) {
                // The process around the host ends after everything in it.
                Some(child) => await_end(child, Some(reply)),
                None => drop(reply.send(())),
            },
        }
    }
    hosts.end_standby(None);
}

impl Hosts {
    /// What to do next; nothing when nobody is left who could ask. A standby that has waited for too long ends meanwhile.
    fn next(&mut self, work: &mpsc::Receiver<Request>) -> Option<Request> {
        while let Some(standby) = &self.standby {
            match work.recv_timeout(standby.time_left()) {
                Ok(request) => return Some(request),
                Err(RecvTimeoutError::Timeout) => self.end_standby(None),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        work.recv().ok()
    }

    fn start(&mut self, source: &Source, requests: mpsc::Sender<Request>) -> io::Result<Started> {
        self.end_stale_standby();
        let standby = self.standby.take_if(|standby| match source {
            Source::StandbyHost(policy) => standby.prewarm.fits(policy),
            Source::New => false,
        });
        let was_standby = standby.is_some();
        let (child, connection) = match standby {
            Some(standby) => (standby.child, standby.connection),
            None => start(&self.program)?,
        };
        let pid = child.id();
        self.children.push(child);
        let unclaimed = UnclaimedChild {
            reaper: Reaper { requests, pid },
            has_owner: false,
        };
        Ok(Started {
            connection,
            unclaimed,
            was_standby,
        })
    }

    fn prestart(&mut self, prewarm: PrewarmSpec) {
        self.end_stale_standby();
        if self
            .standby
            .as_ref()
            .is_some_and(|it| it.prewarm != prewarm)
        {
            self.end_standby(None);
        }
        if self.keeps_standby && self.standby.is_none() {
            // Where none can be started, whoever needs a host learns why.
            self.standby = StandbyHost::start(&self.program, prewarm).ok();
        }
    }

    fn end_stale_standby(&mut self) {
        if self
            .standby
            .as_mut()
            .is_some_and(|standby| !standby.is_fresh())
        {
            self.end_standby(None);
        }
    }

    /// Ends the standby, if there is one, whatever it does.
    fn end_standby(&mut self, reply: Option<oneshot::Sender<()>>) {
        match (self.standby.take(), reply) {
            (Some(standby), reply) => {
                drop(standby.connection);
                see_it_end(standby.child, reply);
            }
            (None, Some(reply)) => drop(reply.send(())),
            (None, None) => {}
        }
    }

    fn take(&mut self, pid: u32) -> Option<Child> {
        let index = self.children.iter().position(|it| it.id() == pid)?;
        Some(self.children.swap_remove(index))
    }

    /// Ends one that has closed the connection, talks nonsense, or belongs to nobody: nothing keeps it alive.
    fn end(&mut self, pid: u32) {
        if let Some(mut child) = self.take(pid) {
            let _ = child.kill();
            await_end(child, None);
        }
    }
}

/// Collects a process that has been told to end, so that it does not stay a zombie.
pub(super) fn await_end(child: Child, reply: Option<oneshot::Sender<()>>) {
    collect(child, reply, |_| {});
}

/// The same for one that has nothing to end but itself: if it does not, it is killed.
fn see_it_end(child: Child, reply: Option<oneshot::Sender<()>>) {
    collect(child, reply, |child| {
        if !ends_by_itself(child) {
            let _ = child.kill();
        }
    });
}

/// Collects a process, beside everything else when it has not ended yet.
fn collect(
    mut child: Child,
    reply: Option<oneshot::Sender<()>>,
    before: impl FnOnce(&mut Child) + Send + 'static,
) {
    let has_ended = !matches!(child.try_wait(), Ok(None));
    let wait = move || {
        if !has_ended {
            before(&mut child);
        }
        let _ = child.wait();
        if let Some(reply) = reply {
            let _ = reply.send(());
        }
    };
    if has_ended {
        return wait();
    }
    // Where no thread is to be had, the zombie stays until the server ends; whoever waits does not.
    let _ = std::thread::Builder::new()
        .name("sandbox-end".to_owned())
        .stack_size(SMALL_STACK)
        .spawn(wait);
}

/// Whether a process ends within a while.
fn ends_by_itself(child: &Child) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return false;
    };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: TIME_TO_END,
        tv_nsec: 0,
    };
    poll(&mut ended, Some(&patience)).is_ok_and(|count| count > 0)
}

#[expect(clippy::disallowed_methods, reason = "this is where hosts are started")]
pub(super) fn start(program: &Path) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = socket::pair()?;
    let child = Command::new(program)
        .arg(HOST_ARGUMENT)
        // Nothing of the server's environment, not even for the host.
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()?;
    Ok((child, ours))
}

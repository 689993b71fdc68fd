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
use std::sync::mpsc;

use tokio::sync::oneshot;

use super::host::SandboxHost;
use super::spare::Spare;
use crate::error::StartError;
use crate::groundwork::Groundwork;
use crate::host::HOST_ARGUMENT;
use crate::policy::SandboxPolicy;
use crate::scope::{DirectoryIdentity, check_session};
use crate::socket;

/// For a thread that only waits.
const SMALL_STACK: usize = 64 << 10;

/// Starts sandbox hosts. They end with the last copy of it at the latest.
#[derive(Clone)]
pub struct Sandbox {
    requests: mpsc::Sender<Request>,
}

enum Request {
    Start(Source, oneshot::Sender<io::Result<Started>>),
    /// Have a spare, unless there is one.
    Spare(Groundwork),
    /// Have none from now on; answered when nothing of it is left.
    NoSpares(oneshot::Sender<()>),
    Reap(u32),
    /// Answered when nothing of the host is left; it has been told to end.
    AwaitEnd(u32, oneshot::Sender<()>),
}

/// Which process becomes a host.
enum Source {
    /// The spare, when there is one that fits.
    Spare(Box<SandboxPolicy>),
    /// A new one.
    New,
}

/// A host process that waits for its policy.
struct Started {
    connection: OwnedFd,
    pid: u32,
    was_spare: bool,
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

/// A host process that nobody answers for yet: without an owner it does not stay.
struct Foundling(Option<Reaper>);

impl Foundling {
    /// Somebody answers for it now.
    fn adopted(mut self) {
        self.0 = None;
    }
}

impl Drop for Foundling {
    fn drop(&mut self) {
        if let Some(reaper) = &self.0 {
            reaper.reap();
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
    pub fn keep_spare(&self, groundwork: Groundwork) {
        let _ = self.requests.send(Request::Spare(groundwork));
    }

    /// No process waits from now on. When this returns, the one that did is gone.
    pub async fn end_spares(&self) {
        let (reply, answer) = oneshot::channel();
        let _ = self.requests.send(Request::NoSpares(reply));
        let _ = answer.await;
    }

    /// Starts a host for a policy and waits until it is confined.
    pub async fn start(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        let scope = DirectoryIdentity::of(&policy.scope)?;
        check_session(policy)?;
        let spare = Source::Spare(Box::new(policy.clone()));
        let started = self.process(spare).await?;
        let was_spare = started.was_spare;
        match self.connect(started, policy, scope.clone()).await {
            // Whatever it was: one that knows its policy from the beginning does without more, or says what is wrong.
            Err(_) if was_spare => {
                let started = self.process(Source::New).await?;
                self.connect(started, policy, scope).await
            }
            connected => connected,
        }
    }

    async fn process(&self, source: Source) -> Result<Started, StartError> {
        let (reply, answer) = oneshot::channel();
        let ended = || StartError::Host(io::Error::other("the thread that starts hosts has ended"));
        self.requests
            .send(Request::Start(source, reply))
            .map_err(|_| ended())?;
        let started = answer.await.map_err(|_| ended())?;
        started.map_err(StartError::Host)
    }

    async fn connect(
        &self,
        started: Started,
        policy: &SandboxPolicy,
        scope: DirectoryIdentity,
    ) -> Result<SandboxHost, StartError> {
        let reaper = Reaper {
            requests: self.requests.clone(),
            pid: started.pid,
        };
        let foundling = Foundling(Some(reaper.clone()));
        let (connection, pid) = (started.connection, started.pid);
        let host = SandboxHost::connect(connection, pid, reaper, policy, scope).await?;
        foundling.adopted();
        Ok(host)
    }
}

/// The processes of all hosts.
struct Hosts {
    program: PathBuf,
    children: Vec<Child>,
    spare: Option<Spare>,
    keeps_spares: bool,
}

fn run(program: PathBuf, work: &mpsc::Receiver<Request>) {
    let mut hosts = Hosts {
        program,
        children: Vec::new(),
        spare: None,
        keeps_spares: true,
    };
    for request in work {
        match request {
            Request::Start(source, reply) => {
                // Whoever asked may be gone.
                if let Err(Ok(started)) = reply.send(hosts.start(&source)) {
                    hosts.end(started.pid);
                }
            }
            Request::Spare(groundwork) => hosts.keep_spare(groundwork),
            Request::NoSpares(reply) => {
                hosts.keeps_spares = false;
                match hosts.spare.take() {
                    Some(spare) => end_spare(spare, Some(reply)),
                    None => drop(reply.send(())),
                }
            }
            Request::Reap(pid) => hosts.end(pid),
            Request::AwaitEnd(pid, reply) => match hosts.take(pid) {
                // The process around the host ends after everything in it.
                Some(child) => await_end(child, Some(reply)),
                None => drop(reply.send(())),
            },
        }
    }
}

impl Hosts {
    fn start(&mut self, source: &Source) -> io::Result<Started> {
        let spare = self.spare.take_if(|spare| match source {
            Source::Spare(policy) => spare.fits(policy),
            Source::New => false,
        });
        let was_spare = spare.is_some();
        let (child, connection) = match spare {
            Some(spare) => (spare.child, spare.connection),
            None => start(&self.program)?,
        };
        let pid = child.id();
        self.children.push(child);
        Ok(Started {
            connection,
            pid,
            was_spare,
        })
    }

    fn keep_spare(&mut self, groundwork: Groundwork) {
        if let Some(old) = self.spare.take_if(|spare| !spare.is_fresh()) {
            end_spare(old, None);
        }
        if self.keeps_spares && self.spare.is_none() {
            // Where none can be started, whoever needs a host learns why.
            self.spare = Spare::start(&self.program, groundwork).ok();
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

fn end_spare(spare: Spare, reply: Option<oneshot::Sender<()>>) {
    drop(spare.connection);
    await_end(spare.child, reply);
}

/// Collects a process that ends soon, so that it does not stay a zombie; beside everything else when it has not ended
/// yet.
fn await_end(mut child: Child, reply: Option<oneshot::Sender<()>>) {
    let wait = move |mut child: Child| {
        let _ = child.wait();
        if let Some(reply) = reply {
            let _ = reply.send(());
        }
    };
    if matches!(child.try_wait(), Ok(None)) {
        // Where no thread is to be had, the zombie stays until the server ends; whoever waits does not.
        let _ = std::thread::Builder::new()
            .name("sandbox-end".to_owned())
            .stack_size(SMALL_STACK)
            .spawn(move || wait(child));
    } else {
        wait(child);
    }
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

//! Starting host processes from a thread of their own.
//!
//! A host asks the kernel to be killed with the thread that started it; so that thread must live as
//! long as the server. Threads of a runtime may not.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use tokio::sync::oneshot;

use super::host::SandboxHost;
use crate::error::StartError;
use crate::host::HOST_ARGUMENT;
use crate::policy::SandboxPolicy;
use crate::scope::{DirectoryIdentity, check_session};
use crate::socket;

/// Starts sandbox hosts. They end with it.
pub struct Sandbox {
    requests: mpsc::Sender<Request>,
}

enum Request {
    Start(oneshot::Sender<io::Result<Started>>),
    Reap(u32),
    /// Answered when nothing of the host is left; it has been told to end.
    AwaitEnd(u32, oneshot::Sender<()>),
}

/// A host process that has just been started.
struct Started {
    connection: OwnedFd,
    pid: u32,
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

impl Sandbox {
    /// Prepares to start hosts from `program`, whose `main` calls
    /// [`become_host_if_asked`](crate::become_host_if_asked) first.
    pub fn new(program: impl Into<PathBuf>) -> io::Result<Self> {
        let program = program.into();
        let (requests, work) = mpsc::channel();
        std::thread::Builder::new()
            .name("sandbox-hosts".to_owned())
            .spawn(move || run(&program, &work))?;
        Ok(Sandbox { requests })
    }

    /// Starts a host for a policy and waits until it is confined.
    pub async fn start(&self, policy: &SandboxPolicy) -> Result<SandboxHost, StartError> {
        let scope = DirectoryIdentity::of(&policy.scope)?;
        check_session(policy)?;
        let (reply, answer) = oneshot::channel();
        let ended = || StartError::Host(io::Error::other("the thread that starts hosts has ended"));
        self.requests
            .send(Request::Start(reply))
            .map_err(|_| ended())?;
        let started = answer
            .await
            .map_err(|_| ended())?
            .map_err(StartError::Host)?;
        let reaper = Reaper {
            requests: self.requests.clone(),
            pid: started.pid,
        };
        SandboxHost::connect(started.connection, started.pid, reaper, policy, scope).await
    }
}

fn run(program: &PathBuf, work: &mpsc::Receiver<Request>) {
    let mut hosts: Vec<Child> = Vec::new();
    for request in work {
        match request {
            Request::Start(reply) => {
                let started = start(program).map(|(child, connection)| {
                    let pid = child.id();
                    hosts.push(child);
                    Started { connection, pid }
                });
                let _ = reply.send(started);
            }
            Request::Reap(pid) => {
                if let Some(index) = hosts.iter().position(|host| host.id() == pid) {
                    let mut host = hosts.swap_remove(index);
                    // It has closed the connection, or talks nonsense; nothing keeps it alive.
                    let _ = host.kill();
                    let _ = host.wait();
                }
            }
            Request::AwaitEnd(pid, reply) => {
                if let Some(index) = hosts.iter().position(|host| host.id() == pid) {
                    // The process around the host ends after everything in it.
                    let _ = hosts.swap_remove(index).wait();
                }
                let _ = reply.send(());
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where hosts are started")]
fn start(program: &PathBuf) -> io::Result<(Child, OwnedFd)> {
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

//! The thread that starts host processes.
//!
//! A host asks the kernel to be killed with the thread that started it; so that thread must live as
//! long as the server. Threads of a runtime may not.
//!
//! That thread must never wait for a host: one that does not end must not keep others from being started.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

use tokio::sync::oneshot;

use super::child::{await_end, see_it_end, start};
use super::standby::StandbyHost;
use crate::policy::SandboxPolicy;
use crate::prewarm::PrewarmSpec;
use crate::public_etc::{PublicEtc, PublicPath};

/// What the thread is asked for.
pub(super) enum Request {
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
pub(super) enum Source {
    /// The standby, when there is one that fits.
    StandbyHost(Box<SandboxPolicy>),
    /// A new one.
    New,
}

/// A host process that waits for its policy. Without somebody who takes it over it does not stay.
pub(super) struct Started {
    pub(super) connection: OwnedFd,
    pub(super) unclaimed: UnclaimedChild,
    pub(super) was_standby: bool,
    /// What commands may read of `/etc`.
    pub(super) etc: Arc<[PublicPath]>,
}

/// Lets a host that has ended be collected, so that it does not stay a zombie.
#[derive(Clone)]
pub(super) struct Reaper {
    requests: mpsc::Sender<Request>,
    pub(super) pid: u32,
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
pub(super) struct UnclaimedChild {
    pub(super) reaper: Reaper,
    pub(super) has_owner: bool,
}

impl Drop for UnclaimedChild {
    fn drop(&mut self) {
        if !self.has_owner {
            self.reaper.reap();
        }
    }
}

/// The processes of all hosts.
struct Hosts {
    program: PathBuf,
    children: Vec<Child>,
    standby: Option<StandbyHost>,
    keeps_standby: bool,
    /// Looked at when the first host starts: a client waits for the tools before it waits for a host.
    etc: Option<PublicEtc>,
}

/// Serves requests until nobody is left who could make one.
pub(super) fn run(program: PathBuf, work: &mpsc::Receiver<Request>) {
    let mut hosts = Hosts {
        program,
        children: Vec::new(),
        standby: None,
        keeps_standby: true,
        etc: None,
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

    /// What commands may read of `/etc` now.
    fn etc(&mut self) -> Arc<[PublicPath]> {
        match &mut self.etc {
            Some(etc) => etc.current(),
            None => Arc::clone(&self.etc.insert(PublicEtc::look()).paths),
        }
    }

    fn start(&mut self, source: &Source, requests: mpsc::Sender<Request>) -> io::Result<Started> {
        self.end_stale_standby();
        let standby = self.standby.take_if(|standby| match source {
            Source::StandbyHost(policy) => standby.prewarm.fits(policy),
            Source::New => false,
        });
        let was_standby = standby.is_some();
        let (child, connection, etc) = match standby {
            Some(standby) => (standby.child, standby.connection, standby.etc),
            None => {
                let (child, connection) = start(&self.program)?;
                // While the process gets going.
                (child, connection, self.etc())
            }
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
            etc,
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
            let etc = self.etc();
            self.standby = StandbyHost::start(&self.program, prewarm, etc).ok();
        }
    }

    fn end_stale_standby(&mut self) {
        if self.standby.is_none() {
            return;
        }
        let etc = self.etc();
        let is_stale = self
            .standby
            .as_mut()
            .is_some_and(|standby| !standby.is_fresh() || !Arc::ptr_eq(&standby.etc, &etc));
        if is_stale {
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

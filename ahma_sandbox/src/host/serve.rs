//! The host's loop: requests in, commands started and collected, until the server is gone.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, kill_process, wait};

#[cfg(target_arch = "x86_64")]
use super::cells::Cells;
use super::launch::{Job, Launcher};
use super::supervisor;
use super::sys::Signals;
use crate::error::LaunchStep;
#[cfg(target_arch = "x86_64")]
use crate::policy::Launch;
use crate::socket::{self, Received};
use crate::wire::{FromHost, ToHost};

/// Serves until the server closes the connection; then no process of any command is left.
pub(super) fn serve(launcher: &Launcher, signals: &Signals) -> io::Result<()> {
    let child_ended = signals.descriptor()?;
    let mut host = Host {
        launcher,
        starter: Starter::new(launcher),
    };
    let mut buffer = Vec::new();
    loop {
        let mut ready = [
            PollFd::new(&launcher.server, PollFlags::IN),
            PollFd::new(&child_ended, PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [server, children] = ready.map(|fd| !fd.revents().is_empty());
        if children {
            drain(&child_ended);
            host.reap(WaitOptions::NOHANG);
        }
        if server {
            match socket::receive(launcher.server.as_fd(), &mut buffer)? {
                Received::Packet(bytes, fds) => host.handle(&bytes, fds),
                Received::Closed => break,
            }
        }
    }
    host.starter.end_everything(launcher);
    host.reap(WaitOptions::empty());
    Ok(())
}

fn drain(signals: &OwnedFd) {
    let mut information = [0; 1024];
    while rustix::io::read(signals, &mut information).is_ok_and(|length| length > 0) {}
}

struct Host<'l> {
    launcher: &'l Launcher,
    starter: Starter,
}

impl Host<'_> {
    fn handle(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) {
        let launcher = self.launcher;
        match ToHost::decode(bytes) {
            Ok(ToHost::Run(request)) => {
                let mut fds = fds.into_iter();
                let (Some(input), Some(output)) = (fds.next(), fds.next()) else {
                    let (id, step) = (request.id, LaunchStep::Stdio as u8);
                    let errno = libc::EBADF;
                    return launcher.tell(&FromHost::NotStarted { id, step, errno });
                };
                let job = Job {
                    request,
                    input,
                    output,
                };
                self.starter.run(launcher, job);
            }
            Ok(ToHost::Terminate(id)) => self.starter.terminate(id),
            Ok(ToHost::Kill(id)) => self.starter.kill(launcher, id),
            // The policy never changes, and the server is the same program: anything else is a bug
            // there, and ignoring it is safe.
            Ok(ToHost::Policy(_)) | Err(_) => {}
        }
    }

    /// Collects ended children: each proves that the tree below it is empty.
    fn reap(&mut self, options: WaitOptions) {
        while let Ok(Some((pid, _))) = wait(options) {
            self.starter.reaped(self.launcher, pid);
        }
    }
}

/// How this host starts commands.
enum Starter {
    #[cfg(target_arch = "x86_64")]
    Cells(Cells),
    /// Supervisors that have not been reaped, by command.
    Fork(HashMap<u64, Pid>),
}

impl Starter {
    fn new(launcher: &Launcher) -> Self {
        #[cfg(target_arch = "x86_64")]
        if launcher.pid_namespaces && launcher.launch == Launch::Cells {
            return Starter::Cells(Cells::new(launcher));
        }
        Starter::Fork(HashMap::new())
    }

    fn run(&mut self, launcher: &Launcher, job: Job) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Starter::Cells(cells) => cells.run(launcher, job),
            Starter::Fork(supervisors) => {
                if let Some(supervisor) = launcher.start(&job) {
                    supervisors.insert(job.request.id, supervisor);
                }
            }
        }
    }

    fn terminate(&mut self, id: u64) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Starter::Cells(cells) => cells.terminate(id),
            Starter::Fork(supervisors) => {
                if let Some(supervisor) = supervisors.get(&id) {
                    let _ = kill_process(*supervisor, supervisor::TERMINATE);
                }
            }
        }
    }

    fn kill(&mut self, launcher: &Launcher, id: u64) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Starter::Cells(cells) => cells.kill(id),
            Starter::Fork(supervisors) => {
                if let Some(supervisor) = supervisors.get(&id) {
                    supervisor::end_tree(launcher, *supervisor);
                }
            }
        }
    }

    fn reaped(&mut self, launcher: &Launcher, pid: Pid) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Starter::Cells(cells) => cells.reaped(launcher, pid),
            Starter::Fork(supervisors) => {
                let ended = supervisors.iter().find(|(_, it)| **it == pid);
                if let Some(id) = ended.map(|(id, _)| *id) {
                    supervisors.remove(&id);
                    launcher.tell(&FromHost::Gone { id });
                }
            }
        }
    }

    fn end_everything(&mut self, launcher: &Launcher) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Starter::Cells(cells) => cells.end_all(),
            Starter::Fork(supervisors) => {
                for supervisor in supervisors.values() {
                    supervisor::end_tree(launcher, *supervisor);
                }
            }
        }
    }
}

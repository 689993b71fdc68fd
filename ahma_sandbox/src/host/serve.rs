//! The host's loop: requests in, supervisors started and reaped, until the server is gone.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, kill_process, wait};

use super::launch::{Job, Launcher};
use super::supervisor;
use super::sys::Signals;
use crate::error::LaunchStep;
use crate::socket::{self, Received};
use crate::wire::{FromHost, ToHost};

/// Serves until the server closes the connection; then no process of any command is left.
pub(super) fn serve(launcher: &Launcher, signals: &Signals) -> io::Result<()> {
    let child_ended = signals.descriptor()?;
    let mut host = Host {
        launcher,
        supervisors: HashMap::new(),
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
    host.end_everything();
    Ok(())
}

fn drain(signals: &OwnedFd) {
    let mut information = [0; 1024];
    while rustix::io::read(signals, &mut information).is_ok_and(|length| length > 0) {}
}

struct Host<'l> {
    launcher: &'l Launcher,
    /// Supervisors that have not been reaped, by command.
    supervisors: HashMap<u64, Pid>,
}

impl Host<'_> {
    fn handle(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) {
        match ToHost::decode(bytes) {
            Ok(ToHost::Run(request)) => {
                let id = request.id;
                let mut fds = fds.into_iter();
                let (Some(input), Some(output)) = (fds.next(), fds.next()) else {
                    let (step, errno) = (LaunchStep::Stdio as u8, libc::EBADF);
                    self.launcher
                        .tell(&FromHost::NotStarted { id, step, errno });
                    self.launcher.tell(&FromHost::Gone { id });
                    return;
                };
                let job = Job {
                    request,
                    input,
                    output,
                };
                if let Some(supervisor) = self.launcher.start(&job) {
                    self.supervisors.insert(id, supervisor);
                }
            }
            Ok(ToHost::Terminate(id)) => {
                if let Some(supervisor) = self.supervisors.get(&id) {
                    let _ = kill_process(*supervisor, supervisor::TERMINATE);
                }
            }
            Ok(ToHost::Kill(id)) => {
                if let Some(supervisor) = self.supervisors.get(&id) {
                    supervisor::end_tree(self.launcher, *supervisor);
                }
            }
            // The policy never changes, and the server is the same program: anything else is a bug
            // there, and ignoring it is safe.
            Ok(ToHost::Policy(_)) | Err(_) => {}
        }
    }

    /// Collects ended supervisors: each proves that its command's tree is empty.
    fn reap(&mut self, options: WaitOptions) {
        while let Ok(Some((pid, _))) = wait(options) {
            let ended = self
                .supervisors
                .iter()
                .find(|(_, supervisor)| **supervisor == pid);
            if let Some(id) = ended.map(|(id, _)| *id) {
                self.supervisors.remove(&id);
                self.launcher.tell(&FromHost::Gone { id });
            }
        }
    }

    fn end_everything(&mut self) {
        for supervisor in self.supervisors.values() {
            supervisor::end_tree(self.launcher, *supervisor);
        }
        self.reap(WaitOptions::empty());
    }
}

//! The host's loop: requests in, commands started and collected, until the server is gone.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};

use super::launch::{Job, Launcher, Starter};
use super::sys::Signals;
use crate::accepted_commands::AcceptedCommands;
use crate::error::LaunchStep;
use crate::policy::LimitedBy;
use crate::socket::{self, Received};
use crate::wire::{FURTHER, FromHost, ToHost};

/// Serves until the server closes the connection; then no process of any command is left.
pub(super) fn serve(
    launcher: &Launcher,
    accepted: AcceptedCommands,
    signals: &Signals,
) -> io::Result<()> {
    let child_ended = signals.descriptor()?;
    let mut host = Host {
        launcher,
        starter: launcher.starter(),
        accepted,
    };
    let served = host.serve(&child_ended);
    // Whatever happened: the words of commands must not go while a cell still reads them.
    host.starter.end_all(launcher);
    host.reap(WaitOptions::empty());
    served
}

fn drain(signals: &OwnedFd) {
    let mut information = [0; 1024];
    while rustix::io::read(signals, &mut information).is_ok_and(|length| length > 0) {}
}

struct Host<'l> {
    launcher: &'l Launcher,
    starter: Box<dyn Starter>,
    accepted: AcceptedCommands,
}

impl Host<'_> {
    fn serve(&mut self, child_ended: &OwnedFd) -> io::Result<()> {
        let server = &self.launcher.server;
        let mut buffer = Vec::new();
        let at_once = Timespec::default();
        let mut has_more_to_do = true;
        loop {
            let mut ready = [
                PollFd::new(server, PollFlags::IN),
                PollFd::new(child_ended, PollFlags::IN),
            ];
            let timeout = has_more_to_do.then_some(&at_once);
            match poll(&mut ready, timeout) {
                Ok(0) => has_more_to_do = self.starter.get_ready(),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [message, children] = ready.map(|fd| !fd.revents().is_empty());
            if children {
                drain(child_ended);
                self.reap(WaitOptions::NOHANG);
            }
            if message {
                match socket::receive(server.as_fd(), &mut buffer)? {
                    Received::Packet(bytes, fds) => self.handle(&bytes, fds),
                    Received::Closed => return Ok(()),
                }
            }
        }
    }

    fn handle(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) {
        let launcher = self.launcher;
        match ToHost::decode(bytes) {
            Ok(ToHost::Run(request)) => {
                let (id, step) = (request.id, LaunchStep::Stdio as u8);
                let not_started = |errno| FromHost::NotStarted { id, step, errno };
                // Before anything else: the server must never believe that it was not looked at.
                if let Err(error) = self.accepted.note(id) {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    return launcher.tell(&not_started(errno));
                }
                let mut fds = fds.into_iter();
                let (Some(input), Some(output)) = (fds.next(), fds.next()) else {
                    return launcher.tell(&not_started(libc::EBADF));
                };
                let cgroup = match launcher.limited_by {
                    LimitedBy::Cgroup => match fds.next() {
                        Some(cgroup) => Some(cgroup),
                        // Without it the command would have no limits.
                        None => return launcher.tell(&not_started(libc::EBADF)),
                    },
                    LimitedBy::Process | LimitedBy::ProcessOnly(_) => None,
                };
                let errors = match request.is_apart {
                    true => match fds.next() {
                        Some(errors) => Some(errors),
                        None => return launcher.tell(&not_started(libc::EBADF)),
                    },
                    false => None,
                };
                let job = Job {
                    request,
                    input,
                    output,
                    errors,
                    cgroup,
                    further: fds.take(FURTHER).collect(),
                };
                self.starter.run(launcher, job);
            }
            Ok(ToHost::Terminate(id)) => self.starter.terminate(id),
            Ok(ToHost::Kill(id)) => self.starter.kill(launcher, id),
            // The policy never changes, and the server is the same program: anything else is a bug
            // there, and ignoring it is safe.
            Ok(ToHost::Policy(_) | ToHost::PrewarmSpec(_)) | Err(_) => {}
        }
    }

    /// Collects ended children: each proves that the tree below it is empty.
    fn reap(&mut self, options: WaitOptions) {
        while let Ok(Some((pid, _))) = wait(options) {
            self.starter.reaped(self.launcher, pid);
        }
    }
}

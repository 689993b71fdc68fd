//! One process of ours: started as a sandbox host, and collected when it ends.
//!
//! Must not wait for a process on the thread of its caller.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::sync::oneshot;

use crate::hardening::umask_of_commands;
use crate::socket;
use crate::wire::HOST_ARGUMENT;

/// How long a process that has been told to end may take, in seconds.
const END_TIMEOUT_SECONDS: i64 = 1;
/// Stack of a thread that only waits.
const WAITER_STACK_BYTES: usize = 64 << 10;

/// Collects a process that has been told to end, so that it does not stay a zombie.
pub(super) fn await_end(child: Child, reply: Option<oneshot::Sender<()>>) {
    collect(child, reply, |_| {});
}

/// The same for one that has nothing to end but itself: if it does not, it is killed.
pub(super) fn see_it_end(child: Child, reply: Option<oneshot::Sender<()>>) {
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
        .stack_size(WAITER_STACK_BYTES)
        .spawn(wait);
}

/// Whether a process ends within a while.
fn ends_by_itself(child: &Child) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return false;
    };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: END_TIMEOUT_SECONDS,
        tv_nsec: 0,
    };
    poll(&mut ended, Some(&timeout)).is_ok_and(|count| count > 0)
}

#[expect(clippy::disallowed_methods, reason = "this is where hosts are started")]
pub(super) fn start(program: &Path) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = socket::pair()?;
    let child = Command::new(program)
        .arg(HOST_ARGUMENT)
        .args(umask_of_commands())
        // Nothing of the server's environment, not even for the host.
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()?;
    Ok((child, ours))
}

//! The process above a command: starts it, reports its end, and ends its whole tree when told to.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};
use rustix::thread::UnshareFlags;

use super::{
    AtStep as _, FIRST_PIDS_USED, Failure, Job, Launcher, command, die_with_parent, not_started,
    numbers, pid_max,
};
use crate::error::LaunchStep;
use crate::host::descendants;
use crate::host::sys::{self, Forked, Signals};
use crate::policy::Limits;
use crate::wire::FromHost;

/// Asks the supervisor to end its tree politely.
pub(super) const TERMINATE: Signal = Signal::USR1;
/// Asks a supervisor without a pid namespace to end its tree at once; otherwise it is killed itself.
const KILL_TREE: Signal = Signal::USR2;

/// Runs the supervisor from its first moment to its last.
pub(super) fn run(launcher: &Launcher, job: &Job) {
    let id = job.request.id;
    match start(launcher, job) {
        Ok(main) => watch(launcher, id, main),
        Err(failure) => launcher.tell(&not_started(id, &failure)),
    }
}

fn start(launcher: &Launcher, job: &Job) -> Result<Pid, Failure> {
    if launcher.pid_namespaces {
        die_with_parent(Signal::KILL).at(LaunchStep::Supervisor)?;
        fresh_proc(launcher.limits).at(LaunchStep::Proc)?;
    } else {
        // The signal, not death: somebody has to end the tree.
        die_with_parent(KILL_TREE).at(LaunchStep::Supervisor)?;
        set_child_subreaper(Some(Pid::INIT)).at(LaunchStep::Supervisor)?;
    }
    // Closed by a successful `execve`; what comes out of it before is the failure.
    let (report, failure) = pipe_with(PipeFlags::CLOEXEC).at(LaunchStep::Process)?;
    let main = match sys::fork_into(0).at(LaunchStep::Process)? {
        Forked::Parent(main) => main,
        Forked::Child => {
            let failed = command::become_program(launcher, job);
            let _ = rustix::io::write(&failure, &encode(&failed));
            sys::exit_now(127)
        }
    };
    drop(failure);
    // The command's output ends when the last of its processes ends; this one must not hold it open.
    let kept = numbers(&[launcher.server.as_fd(), report.as_fd()]);
    sys::close_all_but(&kept).at(LaunchStep::Descriptors)?;
    read_failure(&report).map_or(Ok(main), Err)
}

/// A `/proc` that shows only the command's own processes.
fn fresh_proc(limits: Limits) -> io::Result<()> {
    sys::unshare(UnshareFlags::NEWNS)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    match mount("proc", "/proc", "proc", flags, None) {
        // Where the machine's own /proc is partly hidden the kernel allows no other; the view has
        // single files of it instead.
        Err(Errno::PERM) => return Ok(()),
        mounted => mounted?,
    }
    limit_processes(limits);
    // Landlock refuses to write there anyway; modes and owners it does not see.
    let read_only = flags | MountFlags::RDONLY | MountFlags::BIND;
    Ok(mount_remount("/proc", read_only, "")?)
}

/// Bounds the processes and threads of this pid namespace, root's too, for whom the resource limit
/// does not count.
#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
fn limit_processes(limits: Limits) {
    if let Some(most) = pid_max(limits) {
        let _ = std::fs::write("/proc/sys/kernel/ns_last_pid", FIRST_PIDS_USED);
        let _ = std::fs::write("/proc/sys/kernel/pid_max", most);
    }
}

/// Waits until no process of the command is left.
fn watch(launcher: &Launcher, id: u64, main: Pid) {
    // Every signal has been blocked since the host began, so none is lost.
    let Ok(signals) = Signals::block_all() else {
        return;
    };
    let mut killing = false;
    loop {
        if reap(launcher, id, main) {
            return;
        }
        if killing {
            // New processes can appear between the look and the signal; so look again each time.
            descendants::signal_all(Signal::KILL);
        }
        match signals.wait() {
            Ok(signal) if signal == TERMINATE.as_raw() => {
                if launcher.pid_namespaces {
                    sys::signal_everyone(libc::SIGTERM);
                } else {
                    descendants::signal_all(Signal::TERM);
                }
            }
            Ok(signal) if signal == KILL_TREE.as_raw() => killing = true,
            _ => {}
        }
    }
}

/// Collects ended children and reports the end of the main one; `true` when there are none any more.
fn reap(launcher: &Launcher, id: u64, main: Pid) -> bool {
    let mut ended = None;
    let last = loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if pid == main && (status.exited() || status.signaled()) {
                    ended = Some(status.as_raw());
                }
            }
            Ok(None) => break false,
            Err(Errno::INTR) => {}
            Err(_) => break true,
        }
    };
    if let Some(status) = ended {
        launcher.tell(&FromHost::Exited { id, status, last });
    }
    last
}

fn encode(failure: &Failure) -> [u8; 5] {
    let errno = failure
        .error
        .raw_os_error()
        .unwrap_or(libc::EIO)
        .to_le_bytes();
    [failure.step as u8, errno[0], errno[1], errno[2], errno[3]]
}

fn read_failure(report: &OwnedFd) -> Option<Failure> {
    let mut bytes = [0; 5];
    let length = read_all(report.as_fd(), &mut bytes);
    let [step, errno @ ..] = bytes;
    (length == bytes.len()).then(|| Failure {
        step: LaunchStep::from_code(step).unwrap_or(LaunchStep::Process),
        error: io::Error::from_raw_os_error(i32::from_le_bytes(errno)),
    })
}

fn read_all(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> usize {
    let mut length = 0;
    while length < bytes.len() {
        match rustix::io::read(fd, &mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    length
}

/// Ends the tree of a supervisor.
pub(super) fn end_tree(launcher: &Launcher, supervisor: Pid) {
    let signal = if launcher.pid_namespaces {
        Signal::KILL
    } else {
        KILL_TREE
    };
    let _ = kill_process(supervisor, signal);
}

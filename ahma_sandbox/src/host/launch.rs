//! Starting one command: a supervisor of our own, and below it the confined program.
//!
//! With pid namespaces the supervisor is pid 1 of the command's own namespace: killing it ends every
//! process of the command, and reaping it proves that none is left. Without them it is a subreaper
//! that finds its descendants itself. Either way it never runs anything but this file's code.

mod command;
mod forking;
mod supervisor;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, Resource, Signal, getrlimit, set_parent_process_death_signal};

use super::sys::{self, Forked};
use crate::error::LaunchStep;
use crate::policy::{Launch, LimitedBy, Limits};
use crate::socket;
use crate::wire::{FromHost, RunRequest};

/// What every command of a host shares.
pub(super) struct Launcher {
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) limits: Limits,
    pub(super) limited_by: LimitedBy,
    /// Whether each command gets a pid namespace and a `/proc` of its own.
    pub(super) pid_namespaces: bool,
    /// Whether the kernel counts the processes of each command for itself.
    pub(super) counts_processes: bool,
    /// How commands are started.
    pub(super) launch: Launch,
    /// The connection to the server; supervisors report on it directly.
    pub(super) server: OwnedFd,
}

/// One command to start, with its descriptors.
pub(super) struct Job {
    pub(super) request: RunRequest,
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    /// Standard error, where it is not that of the output.
    pub(super) errors: Option<OwnedFd>,
    /// Where the command has to enter its cgroup.
    pub(super) cgroup: Option<OwnedFd>,
    /// What the command finds from number 3 on.
    pub(super) further: Vec<OwnedFd>,
}

/// Why a step of the launch failed.
#[derive(Debug)]
struct Failure {
    step: LaunchStep,
    error: io::Error,
}

trait AtStep<T> {
    fn at(self, step: LaunchStep) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> AtStep<T> for Result<T, E> {
    fn at(self, step: LaunchStep) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            step,
            error: error.into(),
        })
    }
}

/// A way to start commands and to end them.
pub(super) trait Starter {
    /// Does one thing that makes commands start faster later. Returns whether there are more.
    fn get_ready(&mut self) -> bool {
        false
    }
    /// Starts a command. When that fails the server is told.
    fn run(&mut self, launcher: &Launcher, job: Job);
    /// Asks every process of a command to end.
    fn terminate(&mut self, id: u64);
    /// Ends every process of a command.
    fn kill(&mut self, launcher: &Launcher, id: u64);
    /// A child of the host has ended and been collected.
    fn reaped(&mut self, launcher: &Launcher, pid: Pid);
    /// Ends everything; what has ended is collected after this.
    fn end_all(&mut self, launcher: &Launcher);
}

impl Launcher {
    /// The fastest way that is to be had here.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn starter(&self) -> Box<dyn Starter> {
        if self.pid_namespaces && self.launch == Launch::Cells {
            Box::new(super::pid_ns_pool::Cells::new(self))
        } else {
            Box::<forking::Forking>::default()
        }
    }

    /// The processes of cells make system calls of their own, which exist for x86-64 only.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn starter(&self) -> Box<dyn Starter> {
        let (Launch::Cells | Launch::Fork) = self.launch;
        Box::<forking::Forking>::default()
    }

    /// Starts the supervisor of a command. `None` when that failed; the server has been told.
    fn start(&self, job: &Job) -> Option<Pid> {
        let namespaces = if self.pid_namespaces {
            libc::CLONE_NEWPID
        } else {
            0
        };
        match sys::fork_into(namespaces) {
            Ok(Forked::Parent(supervisor)) => Some(supervisor),
            Ok(Forked::Child) => {
                supervisor::run(self, job);
                sys::exit_now(0)
            }
            Err(error) => {
                let id = job.request.id;
                let step = LaunchStep::Supervisor;
                self.tell(&not_started(id, &Failure { step, error }));
                self.tell(&FromHost::Gone { id, killed: 0 });
                None
            }
        }
    }

    /// Sends a message to the server. When it is gone the host ends anyway.
    pub(super) fn tell(&self, message: &FromHost) {
        let _ = socket::send(self.server.as_fd(), &message.encode(), &[]);
    }
}

fn not_started(id: u64, failure: &Failure) -> FromHost {
    FromHost::NotStarted {
        id,
        step: failure.step as u8,
        errno: failure.error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// Makes this process end when its parent does.
fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(signal))?)
}

/// What a process writes to enter a cgroup itself.
pub(super) const ENTER_CGROUP: &[u8] = b"0";

/// Processes of one user that are never too many.
const WORST_CASE: u64 = 4096;

/// The limits of every process of a command. Core dumps are the host's own matter, see [`inherited`](super::inherited).
pub(super) fn resource_limits(launcher: &Launcher) -> Vec<(Resource, u64)> {
    let limits = launcher.limits;
    // Descriptors on their way through a socket count for the user, whose other programs, the server among them, are
    // refused more of them beyond a limit of their own; so one command never reaches the server's.
    let of_server = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let mut all = vec![
        (Resource::Nofile, limits.open_files.min(of_server / 2)),
        (Resource::Fsize, limits.file_bytes),
    ];
    let is_alone = launcher.limited_by != LimitedBy::Cgroup;
    let memory = limits.memory_bytes.filter(|_| is_alone);
    all.extend(memory.map(|bytes| (Resource::As, bytes)));
    // Counts every process of the user, whatever it belongs to: a bound for the worst case, where there is no other.
    let counted_together = limits.processes.filter(|_| !launcher.counts_processes);
    let processes = counted_together.map(|most| u64::from(most).max(WORST_CASE));
    all.extend(processes.map(|most| (Resource::Nproc, most)));
    // What the operator allows less of stays at that; nobody may raise it.
    for (resource, most) in &mut all {
        *most = getrlimit(*resource).maximum.unwrap_or(u64::MAX).min(*most);
    }
    all
}

/// The largest process number of a command's namespace, as the kernel's own setting wants it.
///
/// None on kernels that have one number for the whole machine, which a server that runs as root would
/// change; there the resource limit is what holds.
pub(super) fn pid_max(limits: Limits) -> Option<String> {
    let most = limits.processes?;
    counts_processes().then(|| (RESERVED + most).to_string())
}

/// Numbers below this are given out only once; [`FIRST_PIDS_USED`] skips them.
const RESERVED: u32 = 300;
/// What the kernel is told was the last number it gave out.
pub(super) const FIRST_PIDS_USED: &str = "300";

/// Whether this kernel can count the processes of each command.
pub(super) fn counts_processes() -> bool {
    let release = rustix::system::uname();
    has_pid_max_per_namespace(&release.release().to_string_lossy())
}

/// Since Linux 6.14.
fn has_pid_max_per_namespace(release: &str) -> bool {
    let mut numbers = release
        .split(|it: char| !it.is_ascii_digit())
        .map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        _ => false,
    }
}

/// Where a program may be: its own path, or every directory of the command's PATH.
pub(super) fn candidates(request: &RunRequest) -> Vec<CString> {
    let Some(program) = request.arguments.first() else {
        return Vec::new();
    };
    if program.as_bytes().contains(&b'/') {
        return vec![program.clone()];
    }
    let path = request
        .environment
        .iter()
        .find_map(|entry| entry.as_bytes().strip_prefix(b"PATH="));
    path.unwrap_or_default()
        .split(|byte| *byte == b':')
        .filter(|directory| !directory.is_empty())
        .filter_map(|directory| CString::new([directory, b"/", program.as_bytes()].concat()).ok())
        .collect()
}

/// The raw numbers of descriptors that must stay open.
fn numbers(fds: &[BorrowedFd<'_>]) -> Vec<i32> {
    fds.iter().map(AsRawFd::as_raw_fd).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_keep_their_one_pid_max() {
        for (release, per_namespace) in [
            ("6.18.0-1-amd64", true),
            ("6.14", true),
            ("7.0.1", true),
            ("6.13.9", false),
            ("5.15.0-91-generic", false),
            ("odd", false),
            ("", false),
        ] {
            assert_eq!(
                has_pid_max_per_namespace(release),
                per_namespace,
                "{release}"
            );
        }
    }
}

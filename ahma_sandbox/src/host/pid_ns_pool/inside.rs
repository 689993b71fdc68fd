//! The two processes of a cell: its init, and the process that becomes the command.
//!
//! Both share the host's memory and, until the command starts, its descriptors. They may use
//! [`raw`], the atomics of [`Shared`] and their own stack: no allocation, no lock, no libc, nothing
//! that could panic.

#![expect(
    unsafe_code,
    reason = "starting a process that shares memory, and the words of its command"
)]

use std::convert::Infallible;
use std::sync::atomic::Ordering;

use super::raw::{self, Outcome};
use super::shared::{Failure, Shared};
use super::{KILL_TREE, TERMINATE};
use crate::error::LaunchStep;
use crate::host::launch::{ENTER_CGROUP, FIRST_PIDS_USED};
use crate::socket;
use crate::wire;

/// How long a cell stays free before it asks itself whether it is needed.
const IDLE_MILLISECONDS: i64 = 500;
/// Ended processes that are collected before signals are looked at again.
const MAX_AT_ONCE: u32 = 64;
/// How often something is tried that others keep busy for a moment.
const MAX_ATTEMPTS: u32 = 100_000;
/// Exit code of a process that could not even be confined; the cell is of no use then.
const UNCONFINED: i32 = 1;
/// Exit code of a process that could not become its command.
const NOT_STARTED: i32 = 127;

trait AtStep {
    fn at(self, step: LaunchStep) -> Result<usize, Failure>;
}

impl AtStep for Outcome {
    fn at(self, step: LaunchStep) -> Result<usize, Failure> {
        self.map_err(|errno| Failure { step, errno })
    }
}

/// Starts the init of a cell, whose last init, if there was one, has been reaped.
pub(super) fn start(cell: &'static Shared) -> Outcome {
    // SAFETY: the stack belongs to this cell and nothing is on it; `init` keeps to the rules of this
    // file.
    unsafe { raw::start(libc::CLONE_NEWPID, cell.init_stack, init, cell) }
}

/// Pid 1 of the cell, from its first moment on. When it ends, the kernel ends the cell.
extern "C" fn init(cell: &'static Shared) -> ! {
    let Err(failure) = prepare(cell).and_then(|()| serve(cell));
    if cell.failure().is_none() {
        cell.fail(failure);
    }
    raw::exit(UNCONFINED)
}

fn prepare(cell: &Shared) -> Result<(), Failure> {
    raw::die_with_parent().at(LaunchStep::Supervisor)?;
    // A /proc that shows only the command's own processes.
    raw::leave_mount_namespace().at(LaunchStep::Proc)?;
    match raw::mount_proc() {
        // Where the machine's own /proc is partly hidden the kernel allows no other; the view has
        // single files of it instead.
        Err(libc::EPERM) => return Ok(()),
        mounted => mounted.at(LaunchStep::Proc)?,
    };
    if !cell.common.pid_max.is_empty() {
        let last = FIRST_PIDS_USED.as_bytes();
        let _ = raw::write_file(c"/proc/sys/kernel/ns_last_pid", last);
        let _ = raw::write_file(c"/proc/sys/kernel/pid_max", &cell.common.pid_max);
    }
    // Landlock refuses to write there anyway; modes and owners it does not see. A process of another
    // cell that was just copying the host's descriptors may hold the file above for a moment.
    let mut attempts = 0;
    loop {
        match raw::make_proc_read_only() {
            Err(libc::EBUSY) if attempts < MAX_ATTEMPTS => {
                attempts += 1;
                raw::let_others_run();
            }
            made => return made.at(LaunchStep::Proc).map(|_| ()),
        }
    }
}

/// One command after the other, never two at once: the next process is made when the kernel has said
/// that nothing is left of the last command.
fn serve(cell: &'static Shared) -> Result<Infallible, Failure> {
    loop {
        // SAFETY: the stack belongs to this cell, and the last process on it is gone; `command` keeps
        // to the rules of this file.
        let started = unsafe { raw::start(0, cell.command_stack, command, cell) };
        let main = started.at(LaunchStep::Process)?;
        watch(cell, main)?;
    }
}

/// Waits until no process is left in the cell, reports, and makes room for the next command.
fn watch(cell: &Shared, main: usize) -> Result<(), Failure> {
    let mut reported = false;
    let mut may_be_surplus = true;
    let mut killed: i32 = 0;
    loop {
        let (ended, left, others) = reap(main);
        if reported {
            killed = killed.saturating_add(others);
        }
        let empty = left == Left::Nothing;
        let command = cell.command();
        let id = command.unwrap_or_default();
        if let Some(status) = ended {
            if command.is_none() || is_unconfined(cell, status) {
                let (step, errno) = (LaunchStep::Process, libc::ECHILD);
                return Err(Failure { step, errno });
            }
            // Ours would keep the output open.
            close_descriptors(cell);
            if !empty {
                tell(cell, wire::exited(id, status, false));
                reported = true;
            }
        }
        if empty {
            let message = match (ended, cell.failure()) {
                (Some(_), Some((step, errno))) => wire::not_started(id, step, errno),
                (Some(status), None) if !reported => wire::exited(id, status, true),
                _ => wire::gone(id, killed),
            };
            cell.clear();
            tell(cell, message);
            cell.release();
            // Whoever waits for the news comes before the preparation of the next command.
            raw::let_others_run();
            return Ok(());
        }
        // A free cell waits for a while only; one with a command as long as it takes.
        let is_idle = may_be_surplus && command.is_none();
        let timeout = match left {
            Left::MoreToCollect => Some(0),
            _ => is_idle.then_some(IDLE_MILLISECONDS),
        };
        match raw::next_signal(timeout) {
            Err(libc::EAGAIN) if left == Left::MoreToCollect => {}
            Err(libc::EAGAIN) if cell.give_up() => raw::exit(0),
            Err(libc::EAGAIN) => may_be_surplus = false,
            Ok(signal) if signal == TERMINATE.as_raw() as usize && cell.is_to_terminate() => {
                raw::signal_everyone(libc::SIGTERM);
            }
            // Forks in progress fail when their process has this signal pending; so none gets away.
            Ok(signal) if signal == KILL_TREE.as_raw() as usize && cell.is_to_be_killed() => {
                raw::signal_everyone(libc::SIGKILL);
            }
            _ => {}
        }
    }
}

/// What is left in the cell after ended processes were collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Running,
    /// There may be more that have ended; signals come first.
    MoreToCollect,
}

/// Collects ended children: the main one's status if it was among them, what is left, and how many others were killed. Not more
/// than some at a time: processes that come and go without end must not keep signals from being heard.
fn reap(main: usize) -> (Option<i32>, Left, i32) {
    let mut ended = None;
    let mut killed = 0;
    for _ in 0..MAX_AT_ONCE {
        let mut status = 0;
        match raw::wait_without_blocking(&mut status) {
            Ok(0) => return (ended, Left::Running, killed),
            // A process that asks to be traced is reported when it stops, too.
            Ok(pid) if pid == main && (libc::WIFEXITED(status) || libc::WIFSIGNALED(status)) => {
                ended = Some(status);
            }
            Ok(_) if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => {
                killed += 1;
            }
            Ok(_) | Err(libc::EINTR) => {}
            Err(_) => return (ended, Left::Nothing, killed),
        }
    }
    (ended, Left::MoreToCollect, killed)
}

/// Closes the host's copies of the command's descriptors, in the table they share.
pub(super) fn close_descriptors(cell: &Shared) {
    let standard = [&cell.input, &cell.output, &cell.errors, &cell.cgroup];
    for fd in standard.into_iter().chain(&cell.further) {
        let number = fd.swap(-1, Ordering::AcqRel);
        if number >= 0 {
            let _ = raw::close(number);
        }
    }
}

fn tell(cell: &Shared, message: [u8; wire::HEADER]) {
    let packet = socket::inline_packet(message);
    // When the server is gone the host ends, and this process with it. A lack of memory passes.
    while let Err(libc::EINTR | libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) =
        raw::send(cell.common.server, &packet)
    {
        raw::let_others_run();
    }
}

/// Whether the process ended because it could not be confined.
fn is_unconfined(cell: &Shared, status: i32) -> bool {
    let exited_so = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == UNCONFINED;
    exited_so && cell.failure().is_some()
}

/// The process that becomes the command: confined first, then waiting for what to run.
extern "C" fn command(cell: &'static Shared) -> ! {
    if let Err(failure) = confine(cell) {
        cell.fail(failure);
        raw::exit(UNCONFINED)
    }
    while cell.go.load(Ordering::Acquire) == 0 {
        raw::sleep_while(&cell.go, 0);
    }
    let Err(failure) = become_program(cell);
    cell.fail(failure);
    raw::exit(NOT_STARTED)
}

/// Everything that does not depend on the command. The order matters.
fn confine(cell: &Shared) -> Result<(), Failure> {
    // A session of its own: no controlling terminal to type into, and one group to signal.
    raw::new_session().at(LaunchStep::Session)?;
    for (resource, most) in &cell.common.limits {
        raw::limit(*resource, *most).at(LaunchStep::Limits)?;
    }
    // Before Landlock, which wants it of a process without capabilities.
    raw::forbid_new_privileges().at(LaunchStep::NoNewPrivileges)?;
    if let Some(ruleset) = cell.common.ruleset {
        raw::enter_landlock(ruleset).at(LaunchStep::Landlock)?;
    }
    raw::drop_capabilities().at(LaunchStep::Capabilities)?;
    Ok(())
}

fn become_program(cell: &Shared) -> Result<Infallible, Failure> {
    raw::take_own_descriptors().at(LaunchStep::Descriptors)?;
    let cgroup = cell.cgroup.load(Ordering::Acquire);
    if cgroup >= 0 {
        raw::write(cgroup, ENTER_CGROUP).at(LaunchStep::Limits)?;
    }
    let output = cell.output.load(Ordering::Acquire);
    raw::place(cell.input.load(Ordering::Acquire), 0).at(LaunchStep::Stdio)?;
    // One pipe for both, unless they are wanted apart: so the output is in the order it was written.
    let errors = cell.errors.load(Ordering::Acquire);
    raw::place(output, 1).at(LaunchStep::Stdio)?;
    raw::place(if errors >= 0 { errors } else { output }, 2).at(LaunchStep::Stdio)?;
    for (fd, number) in cell.further.iter().zip(3..) {
        let fd = fd.load(Ordering::Acquire);
        if fd >= 0 {
            raw::place(fd, number).at(LaunchStep::Stdio)?;
        }
    }
    // SAFETY: the host keeps the words of the command until the cell is free again.
    unsafe { raw::change_directory(cell.directory.load(Ordering::Acquire)) }
        .at(LaunchStep::WorkingDirectory)?;
    raw::unblock_signals().at(LaunchStep::Signals)?;
    Err(Failure {
        step: LaunchStep::Execute,
        errno: execute(cell),
    })
}

/// Tries each place the program may be; returns what the kernel said when none will do.
fn execute(cell: &Shared) -> i32 {
    let arguments = cell.arguments.load(Ordering::Acquire);
    let environment = cell.environment.load(Ordering::Acquire);
    let mut program = cell.programs.load(Ordering::Acquire);
    let mut errno = libc::ENOENT;
    loop {
        // SAFETY: the host keeps the words until the cell is free again; the list of programs ends
        // with null, and the pointer moves only while that has not been reached.
        let failed = unsafe {
            if (*program).is_null() {
                return errno;
            }
            let failed = raw::execute(*program, arguments, environment);
            program = program.add(1);
            failed
        };
        match failed {
            // As a shell does: look further, but remember that something was there.
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => errno = failed,
            _ => return failed,
        }
    }
}

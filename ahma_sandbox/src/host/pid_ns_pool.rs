//! Cells: pid namespaces that are ready before a command comes.
//!
//! A cell is an init of our own as pid 1, with a `/proc` of its own, and below it a process that is
//! confined in every way and sleeps until it is told what to execute. Starting a command is then
//! little more than `execve`. When the kernel says that nothing is left of the command, the init makes
//! the next process, so a cell serves one command after the other and never two at once; nothing of
//! a command outlives it there, because a command cannot change mounts or settings of the namespace.
//!
//! The processes of a cell share the host's memory: making one copies no page tables. [`inside`] is
//! what they run; this file is the host's side.

mod inside;
mod raw;
mod shared;

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd as _};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use self::shared::{Common, Shared};
use super::launch::{Job, Launcher, Starter, candidates, pid_max, resource_limits};
use super::sys;
use crate::error::LaunchStep;
use crate::wire::{FromHost, RunRequest};

/// Asks an init to end the processes of its cell politely.
const TERMINATE: Signal = Signal::USR1;
/// Asks an init to end the processes of its cell at once.
const KILL_TREE: Signal = Signal::USR2;

/// Cells that are made before anybody asks for them; warm shells take some of them.
const FIRST: u32 = 4;
/// Cells that are kept although nothing runs in them. Others give themselves up after a while.
const KEPT: u32 = 2;
/// Enough for the code of [`inside`], which calls nothing deep.
const STACK_BYTES: usize = 32 * 1024;

/// All cells of a host.
pub(super) struct Cells {
    common: &'static Common,
    cells: Vec<Cell>,
    /// Memory of cells that have ended, for new ones.
    spare: Vec<&'static Shared>,
    /// Of the first ones, how many are not made yet.
    missing: u32,
}

struct Cell {
    shared: &'static Shared,
    init: Pid,
    /// The words of the command, which the cell reads; kept until the next one.
    words: Option<Words>,
    /// Whether it has been asked to kill its command before.
    asked_to_kill: bool,
    /// Whether its init has been killed and only has to be collected.
    ended: bool,
}

/// A request with the arrays of pointers that the kernel wants. Nothing moves while this lives.
struct Words {
    request: RunRequest,
    _programs: Vec<CString>,
    program_pointers: Vec<*const c_char>,
    argument_pointers: Vec<*const c_char>,
    environment_pointers: Vec<*const c_char>,
}

impl Cells {
    /// Starts the first cell, whose preparation goes on while the host serves. Others come when it has time: a command
    /// may be waiting already.
    pub(super) fn new(launcher: &Launcher) -> Self {
        let common = Common {
            server: launcher.server.as_raw_fd(),
            ruleset: launcher.ruleset.as_ref().map(AsRawFd::as_raw_fd),
            limits: resource_limits(launcher)
                .into_iter()
                .map(|(resource, most)| (resource as u32, most))
                .collect(),
            pid_max: pid_max(launcher.limits).unwrap_or_default().into_bytes(),
            free: AtomicU32::new(0),
            kept_free: KEPT,
        };
        let mut cells = Cells {
            // Processes look at it until the host ends.
            common: Box::leak(Box::new(common)),
            cells: Vec::new(),
            spare: Vec::new(),
            missing: FIRST,
        };
        cells.get_ready();
        cells
    }

    /// The cell in which a command runs.
    fn with(&mut self, id: u64) -> Option<&mut Cell> {
        self.cells
            .iter_mut()
            .find(|cell| !cell.ended && cell.shared.command() == Some(id))
    }

    /// Starts another cell and returns its index.
    fn add(&mut self) -> io::Result<usize> {
        self.missing = self.missing.saturating_sub(1);
        let shared = match self.spare.pop() {
            Some(shared) => shared,
            None => {
                let init = sys::new_stack(STACK_BYTES)?;
                let command = sys::new_stack(STACK_BYTES)?;
                // Kept for good and used again: processes may look at it at any time.
                &*Box::leak(Box::new(Shared::new(self.common, init, command)))
            }
        };
        let started =
            inside::start(shared).map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw));
        match started {
            Ok(Some(init)) => {
                self.common.free.fetch_add(1, Ordering::AcqRel);
                self.cells.push(Cell {
                    shared,
                    init,
                    words: None,
                    asked_to_kill: false,
                    ended: false,
                });
                Ok(self.cells.len() - 1)
            }
            Ok(None) => Err(io::Error::other("the kernel returned no process id")),
            Err(errno) => {
                self.spare.push(shared);
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }
}

impl Starter for Cells {
    fn get_ready(&mut self) -> bool {
        if self.missing > 0 {
            // Whatever is wrong will be said when a command needs the cell.
            let _ = self.add();
        }
        self.missing > 0
    }

    /// Gives the command to a free cell, or to a new one.
    fn run(&mut self, launcher: &Launcher, job: Job) {
        let id = job.request.id;
        // A free cell may give itself up in this moment; a new one does not.
        let free = self.cells.iter().position(|cell| cell.take(id));
        let index = match free.map_or_else(|| self.add(), Ok) {
            Ok(index) => index,
            Err(error) => {
                let step = LaunchStep::Supervisor as u8;
                let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
                return launcher.tell(&FromHost::NotStarted { id, step, errno });
            }
        };
        if let Some(cell) = self.cells.get_mut(index) {
            if free.is_none() {
                cell.take(id);
            }
            cell.give(job);
        }
    }

    fn terminate(&mut self, id: u64) {
        if let Some(cell) = self.with(id) {
            cell.shared.ask_to_terminate(id);
            cell.signal(TERMINATE);
        }
    }

    fn kill(&mut self, _: &Launcher, id: u64) {
        if let Some(cell) = self.with(id) {
            if cell.asked_to_kill {
                cell.end();
            } else {
                cell.asked_to_kill = true;
                cell.shared.ask_to_kill(id);
                cell.signal(KILL_TREE);
            }
        }
    }

    /// A child of the host has ended and been reaped; with an init its whole cell is gone.
    fn reaped(&mut self, launcher: &Launcher, pid: Pid) {
        let Some(index) = self.cells.iter().position(|cell| cell.init == pid) else {
            return;
        };
        let cell = self.cells.swap_remove(index);
        inside::close_descriptors(cell.shared);
        match (cell.shared.command(), cell.shared.failure()) {
            (Some(id), Some((step, errno))) => {
                launcher.tell(&FromHost::NotStarted { id, step, errno });
            }
            (Some(id), None) => launcher.tell(&FromHost::Gone { id, killed: 0 }),
            (None, _) => {}
        }
        cell.shared.reset();
        self.spare.push(cell.shared);
    }

    /// Ends everything.
    fn end_all(&mut self, _: &Launcher) {
        self.cells.iter_mut().for_each(Cell::end);
    }
}

impl Cell {
    /// Whether the cell was free and is now the command's.
    fn take(&self, id: u64) -> bool {
        !self.ended && self.shared.take(id)
    }

    fn give(&mut self, job: Job) {
        let words = self.words.insert(Words::new(job.request));
        let shared = self.shared;
        self.asked_to_kill = false;
        // From here on they belong to the cell, whose init closes them.
        shared
            .input
            .store(job.input.into_raw_fd(), Ordering::Relaxed);
        shared
            .output
            .store(job.output.into_raw_fd(), Ordering::Relaxed);
        if let Some(errors) = job.errors {
            shared.errors.store(errors.into_raw_fd(), Ordering::Relaxed);
        }
        if let Some(cgroup) = job.cgroup {
            shared.cgroup.store(cgroup.into_raw_fd(), Ordering::Relaxed);
        }
        for (place, fd) in shared.further.iter().zip(job.further) {
            place.store(fd.into_raw_fd(), Ordering::Relaxed);
        }
        words.lend_to(shared);
        shared.go.store(1, Ordering::Release);
        raw::wake(&shared.go);
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(self.init, signal);
    }

    fn end(&mut self) {
        self.ended = true;
        self.signal(Signal::KILL);
    }
}

impl Words {
    fn new(request: RunRequest) -> Self {
        let programs = candidates(&request);
        Words {
            program_pointers: pointers(&programs),
            argument_pointers: pointers(&request.arguments),
            environment_pointers: pointers(&request.environment),
            _programs: programs,
            request,
        }
    }

    fn lend_to(&self, cell: &Shared) {
        let directory = self.request.directory.as_ptr().cast_mut();
        cell.directory.store(directory, Ordering::Relaxed);
        for (place, words) in [
            (&cell.programs, &self.program_pointers),
            (&cell.arguments, &self.argument_pointers),
            (&cell.environment, &self.environment_pointers),
        ] {
            place.store(words.as_ptr().cast_mut(), Ordering::Relaxed);
        }
    }
}

fn pointers(words: &[CString]) -> Vec<*const c_char> {
    let words = words.iter().map(|word| word.as_ptr());
    words.chain([ptr::null()]).collect()
}

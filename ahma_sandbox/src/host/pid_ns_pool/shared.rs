//! What the host and the processes of a cell tell each other, in memory they share.
//!
//! Only atomics: several processes look at it at the same time. Each field has one writer at a time;
//! `state` says whose turn it is.

use std::ffi::c_char;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::error::LaunchStep;
use crate::wire::FURTHER;

/// What all cells of a host have in common; never changes.
pub(super) struct Common {
    /// The connection to the server.
    pub(super) server: RawFd,
    /// The Landlock ruleset, unless the policy leaves it out.
    pub(super) ruleset: Option<RawFd>,
    /// Resource limits of every command.
    pub(super) limits: Vec<(u32, u64)>,
    /// What is written to the pid namespace's own `pid_max`; empty for no limit.
    pub(super) pid_max: Vec<u8>,
    /// How many cells are free, and how many of them stay when nothing happens.
    pub(super) free: AtomicU32,
    pub(super) kept_free: u32,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const GIVEN_UP: u32 = 2;
/// No command has this number.
const NOBODY: u64 = 0;

/// One cell.
pub(super) struct Shared {
    pub(super) common: &'static Common,
    /// The ends of the stacks of its two processes.
    pub(super) init_stack: usize,
    pub(super) command_stack: usize,

    /// `TAKEN` by the host when it gives the cell a command, `FREE` again by the init when nothing is
    /// left of it; `GIVEN_UP` by the init when it ends.
    state: AtomicU32,
    /// 1 from when the command may start until it is gone. What the waiting process sleeps on.
    pub(super) go: AtomicU32,
    id: AtomicU64,
    terminate: AtomicU64,
    kill: AtomicU64,

    /// Standard input and output, as numbers in the shared table; negative when closed.
    pub(super) input: AtomicI32,
    pub(super) output: AtomicI32,
    /// Standard error, where it is apart; negative when it is that of the output.
    pub(super) errors: AtomicI32,
    /// Where the command enters its cgroup; negative when it has none.
    pub(super) cgroup: AtomicI32,
    /// What the command finds from number 3 on.
    pub(super) further: [AtomicI32; FURTHER],
    pub(super) directory: AtomicPtr<c_char>,
    /// Where the program may be, ended by null.
    pub(super) programs: AtomicPtr<*const c_char>,
    pub(super) arguments: AtomicPtr<*const c_char>,
    pub(super) environment: AtomicPtr<*const c_char>,

    /// The step that failed, 0 for none, and what the kernel said.
    failed_step: AtomicU32,
    failed_errno: AtomicI32,
}

/// Why a step failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    pub(super) step: LaunchStep,
    pub(super) errno: i32,
}

impl Shared {
    pub(super) fn new(common: &'static Common, init_stack: usize, command_stack: usize) -> Self {
        Shared {
            common,
            init_stack,
            command_stack,
            state: AtomicU32::new(FREE),
            go: AtomicU32::new(0),
            id: AtomicU64::new(0),
            terminate: AtomicU64::new(0),
            kill: AtomicU64::new(0),
            input: AtomicI32::new(-1),
            output: AtomicI32::new(-1),
            errors: AtomicI32::new(-1),
            cgroup: AtomicI32::new(-1),
            further: [const { AtomicI32::new(-1) }; FURTHER],
            directory: AtomicPtr::new(ptr::null_mut()),
            programs: AtomicPtr::new(ptr::null_mut()),
            arguments: AtomicPtr::new(ptr::null_mut()),
            environment: AtomicPtr::new(ptr::null_mut()),
            failed_step: AtomicU32::new(0),
            failed_errno: AtomicI32::new(0),
        }
    }

    /// The command in the cell, if there is one.
    pub(super) fn command(&self) -> Option<u64> {
        let taken = self.state.load(Ordering::Acquire) == TAKEN;
        taken.then(|| self.id.load(Ordering::Acquire))
    }

    /// Host: makes the cell a command's, if it is free. Its words and descriptors follow, then `go`.
    pub(super) fn take(&self, id: u64) -> bool {
        if self.state.load(Ordering::Acquire) != FREE {
            return false;
        }
        // A signal meant for the last command may still be on its way; it must find no number to fit.
        self.terminate.store(NOBODY, Ordering::Release);
        self.kill.store(NOBODY, Ordering::Release);
        let taken = self.turn(FREE, TAKEN);
        if taken {
            self.id.store(id, Ordering::Release);
        }
        taken
    }

    /// Init: gives the cell up if it is free and more are than are needed. Nobody takes it then.
    pub(super) fn give_up(&self) -> bool {
        let common = self.common;
        common.free.load(Ordering::Acquire) > common.kept_free && self.turn(FREE, GIVEN_UP)
    }

    fn turn(&self, from: u32, to: u32) -> bool {
        let (order, fail) = (Ordering::AcqRel, Ordering::Acquire);
        let turned = self.state.compare_exchange(from, to, order, fail).is_ok();
        match (turned, from, to) {
            (true, FREE, _) => self.common.free.fetch_sub(1, order),
            (true, _, FREE) => self.common.free.fetch_add(1, order),
            _ => 0,
        };
        turned
    }

    /// Init: nothing is left of the command and nothing reads its words any more.
    pub(super) fn clear(&self) {
        self.go.store(0, Ordering::Relaxed);
        self.failed_step.store(0, Ordering::Relaxed);
    }

    /// Init: the next command may come. Only after the end of the last one has been reported.
    pub(super) fn release(&self) {
        self.turn(TAKEN, FREE);
    }

    /// Host: back to the beginning, for a new init. The old one has been reaped. It is counted as free
    /// when the new one has been started.
    pub(super) fn reset(&self) {
        self.clear();
        self.turn(FREE, GIVEN_UP);
        self.state.store(FREE, Ordering::Release);
    }

    /// Host: says which command the signal that follows is meant for. By the time it arrives there may
    /// be another one in the cell.
    pub(super) fn ask_to_terminate(&self, id: u64) {
        self.terminate.store(id, Ordering::Release);
    }

    pub(super) fn ask_to_kill(&self, id: u64) {
        self.kill.store(id, Ordering::Release);
    }

    pub(super) fn is_to_terminate(&self) -> bool {
        self.command() == Some(self.terminate.load(Ordering::Acquire))
    }

    pub(super) fn is_to_be_killed(&self) -> bool {
        self.command() == Some(self.kill.load(Ordering::Acquire))
    }

    pub(super) fn fail(&self, failure: Failure) {
        self.failed_errno.store(failure.errno, Ordering::Relaxed);
        self.failed_step
            .store(failure.step as u32, Ordering::Release);
    }

    /// Code of the step that failed, and the error number.
    pub(super) fn failure(&self) -> Option<(u8, i32)> {
        let step = self.failed_step.load(Ordering::Acquire);
        (step != 0).then(|| (step as u8, self.failed_errno.load(Ordering::Relaxed)))
    }
}

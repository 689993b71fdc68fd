//! System calls without libc, for processes that share the host's memory.
//!
//! Such a process runs beside the host on the same thread-local storage and the same heap: an `errno`,
//! a lock or the allocator would be the host's own. So everything here is the bare instruction, takes
//! and returns plain numbers, and cannot panic. x86-64 only.

#![expect(
    unsafe_code,
    reason = "bare system calls, and processes that share memory"
)]

use std::arch::{asm, naked_asm};
use std::ffi::{CStr, c_char, c_long};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::AtomicU32;

use super::shared::Shared;

/// What the kernel returned, or its error number.
pub(super) type Outcome = Result<usize, i32>;

/// One system call.
///
/// # Safety
/// As for the call itself: pointers among the arguments must be what the kernel expects.
unsafe fn call(number: c_long, arguments: [usize; 6]) -> Outcome {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel's convention for x86-64; it changes rax, rcx and r11 and leaves the stack
    // alone. What it does to memory is the caller's responsibility.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 {
        Err(result.unsigned_abs() as i32)
    } else {
        Ok(result.unsigned_abs())
    }
}

/// A system call that takes numbers only.
fn call_with_numbers(number: c_long, arguments: [usize; 6]) -> Outcome {
    // SAFETY: only used in this file, with calls whose arguments are no pointers.
    unsafe { call(number, arguments) }
}

/// Clones this process onto another stack, where it calls `run(argument)`.
///
/// # Safety
/// `stack_top` is the end of memory that nothing else uses while the child lives; `run` does not
/// return.
#[unsafe(naked)]
unsafe extern "C" fn clone_onto(
    flags: usize,
    stack_top: usize,
    run: extern "C" fn(&'static Shared) -> !,
    argument: &'static Shared,
) -> isize {
    naked_asm!(
        "and rsi, -16",
        "sub rsi, 16",
        "mov [rsi], rdx",
        "mov [rsi + 8], rcx",
        "xor edx, edx",
        "xor r10d, r10d",
        "xor r8d, r8d",
        "mov eax, {clone}",
        "syscall",
        "test rax, rax",
        "jnz 2f",
        "xor ebp, ebp",
        "pop rax",
        "pop rdi",
        "call rax",
        "ud2",
        "2: ret",
        clone = const libc::SYS_clone,
    )
}

/// Starts a process that shares this one's memory and descriptors, on a stack of its own.
///
/// # Safety
/// `stack_top` is the end of memory that nothing else uses until the process has ended or executed
/// a program. `run` uses nothing but this file, atomics and its own stack.
pub(super) unsafe fn start(
    flags: i32,
    stack_top: usize,
    run: extern "C" fn(&'static Shared) -> !,
    cell: &'static Shared,
) -> Outcome {
    let flags = (flags | libc::CLONE_VM | libc::CLONE_FILES | libc::SIGCHLD) as usize;
    // SAFETY: promised by the caller.
    let result = unsafe { clone_onto(flags, stack_top, run, cell) };
    if result < 0 {
        Err(result.unsigned_abs() as i32)
    } else {
        Ok(result.unsigned_abs())
    }
}

pub(super) fn exit(code: i32) -> ! {
    loop {
        let _ = call_with_numbers(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]);
    }
}

pub(super) fn die_with_parent() -> Outcome {
    let arguments = [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize];
    prctl(arguments)
}

pub(super) fn forbid_new_privileges() -> Outcome {
    prctl([libc::PR_SET_NO_NEW_PRIVS as usize, 1])
}

fn prctl([option, value]: [usize; 2]) -> Outcome {
    call_with_numbers(libc::SYS_prctl, [option, value, 0, 0, 0, 0])
}

pub(super) fn leave_mount_namespace() -> Outcome {
    let flags = libc::CLONE_NEWNS as usize;
    call_with_numbers(libc::SYS_unshare, [flags, 0, 0, 0, 0, 0])
}

pub(super) fn mount_proc() -> Outcome {
    let flags = (libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC) as usize;
    let [name, place] = [c"proc", c"/proc"].map(|text| text.as_ptr() as usize);
    // SAFETY: three valid strings and no data.
    unsafe { call(libc::SYS_mount, [name, place, name, flags, 0, 0]) }
}

pub(super) fn make_proc_read_only() -> Outcome {
    let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
    let flags = (flags | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC) as usize;
    let place = c"/proc".as_ptr() as usize;
    // SAFETY: a valid string; a remount needs no source, type or data.
    unsafe { call(libc::SYS_mount, [0, place, 0, flags, 0, 0]) }
}

pub(super) fn let_others_run() {
    let _ = call_with_numbers(libc::SYS_sched_yield, [0; 6]);
}

/// Writes to an existing file.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> Outcome {
    let at = libc::AT_FDCWD as usize;
    let flags = (libc::O_WRONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: a valid string.
    let file = unsafe {
        call(
            libc::SYS_openat,
            [at, path.as_ptr() as usize, flags, 0, 0, 0],
        )
    }?;
    let written = write(file as RawFd, bytes);
    let _ = close(file as RawFd);
    written
}

pub(super) fn write(file: RawFd, bytes: &[u8]) -> Outcome {
    let (start, length) = (bytes.as_ptr() as usize, bytes.len());
    // SAFETY: as many bytes as are read.
    unsafe { call(libc::SYS_write, [file as usize, start, length, 0, 0, 0]) }
}

/// An ended child, if there is one: its pid, 0 when all still run. `ECHILD` when there is none.
pub(super) fn wait_without_blocking(status: &mut i32) -> Outcome {
    let status = ptr::from_mut(status) as usize;
    let (any, options) = (usize::MAX, (libc::WNOHANG | libc::__WALL) as usize);
    // SAFETY: a place for the status, and none for the usage.
    unsafe { call(libc::SYS_wait4, [any, status, options, 0, 0, 0]) }
}

/// Waits for the next of all blocked signals and returns its number. `EAGAIN` when none came in so
/// many milliseconds.
pub(super) fn next_signal(milliseconds: Option<i64>) -> Outcome {
    let every = u64::MAX;
    let set = ptr::from_ref(&every) as usize;
    let whole = milliseconds.unwrap_or(0);
    let time = [whole / 1000, whole % 1000 * 1_000_000];
    let time = match milliseconds {
        Some(_) => ptr::from_ref(&time) as usize,
        None => 0,
    };
    // SAFETY: a set of the size that is passed, a time (seconds and nanoseconds) or none, and no
    // information is asked for.
    unsafe {
        call(
            libc::SYS_rt_sigtimedwait,
            [set, 0, time, size_of::<u64>(), 0, 0],
        )
    }
}

/// Signals every process of this pid namespace but the first, which is the caller.
pub(super) fn signal_everyone(signal: i32) {
    let _ = call_with_numbers(libc::SYS_kill, [usize::MAX, signal as usize, 0, 0, 0, 0]);
}

pub(super) fn close(fd: RawFd) -> Outcome {
    call_with_numbers(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0])
}

pub(super) fn send(socket: RawFd, bytes: &[u8]) -> Outcome {
    let (start, length) = (bytes.as_ptr() as usize, bytes.len());
    let flags = libc::MSG_NOSIGNAL as usize;
    // SAFETY: as many bytes as are sent, and no address.
    unsafe {
        call(
            libc::SYS_sendto,
            [socket as usize, start, length, flags, 0, 0],
        )
    }
}

/// Sleeps while `word` is `value`; may return early.
pub(super) fn sleep_while(word: &AtomicU32, value: u32) {
    futex(word, libc::FUTEX_WAIT, value);
}

/// Wakes who sleeps on `word`.
pub(super) fn wake(word: &AtomicU32) {
    futex(word, libc::FUTEX_WAKE, 1);
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    let word = word.as_ptr() as usize;
    // SAFETY: an aligned word that lives, and no time limit.
    let _ = unsafe { call(libc::SYS_futex, [word, operation, value as usize, 0, 0, 0]) };
}

pub(super) fn new_session() -> Outcome {
    call_with_numbers(libc::SYS_setsid, [0; 6])
}

/// Limits a resource of this process.
pub(super) fn limit(resource: u32, most: u64) -> Outcome {
    let limit = [most, most];
    let limit = ptr::from_ref(&limit) as usize;
    // SAFETY: a valid limit (two numbers), and no place for the old one.
    unsafe { call(libc::SYS_prlimit64, [0, resource as usize, limit, 0, 0, 0]) }
}

pub(super) fn enter_landlock(ruleset: RawFd) -> Outcome {
    let arguments = [ruleset as usize, 0, 0, 0, 0, 0];
    call_with_numbers(libc::SYS_landlock_restrict_self, arguments)
}

pub(super) fn drop_capabilities() -> Outcome {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    let (header, none) = (
        ptr::from_ref(&header) as usize,
        ptr::from_ref(&none) as usize,
    );
    // SAFETY: the header says how many numbers follow: two times three.
    unsafe { call(libc::SYS_capset, [header, none, 0, 0, 0, 0]) }
}

/// Stops sharing descriptors with the host, and marks all but the standard ones to be closed by the
/// program.
pub(super) fn take_own_descriptors() -> Outcome {
    let flags = (libc::CLOSE_RANGE_UNSHARE | libc::CLOSE_RANGE_CLOEXEC) as usize;
    let last = u32::MAX as usize;
    call_with_numbers(libc::SYS_close_range, [3, last, flags, 0, 0, 0])
}

/// Puts a copy of `fd` at the number `at`, to be inherited by the program.
pub(super) fn place(fd: RawFd, at: RawFd) -> Outcome {
    let arguments = [fd as usize, at as usize, 0, 0, 0, 0];
    call_with_numbers(libc::SYS_dup3, arguments)
}

/// # Safety
/// `path` is a valid string.
pub(super) unsafe fn change_directory(path: *const c_char) -> Outcome {
    // SAFETY: promised by the caller.
    unsafe { call(libc::SYS_chdir, [path as usize, 0, 0, 0, 0, 0]) }
}

pub(super) fn unblock_signals() -> Outcome {
    let none = 0_u64;
    let none = ptr::from_ref(&none) as usize;
    let how = libc::SIG_SETMASK as usize;
    // SAFETY: a set of the size that is passed, and no place for the old one.
    unsafe {
        call(
            libc::SYS_rt_sigprocmask,
            [how, none, 0, size_of::<u64>(), 0, 0],
        )
    }
}

/// Becomes a program; returns the error number when that failed.
///
/// # Safety
/// `program` is a valid string; the others are arrays of such that end with null.
pub(super) unsafe fn execute(
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> i32 {
    let [program, arguments, environment] =
        [program as usize, arguments as usize, environment as usize];
    // SAFETY: promised by the caller.
    match unsafe { call(libc::SYS_execve, [program, arguments, environment, 0, 0, 0]) } {
        Ok(_) => 0,
        Err(errno) => errno,
    }
}

//! System calls that no library wraps safely. All `unsafe` code of the host is in this file
//! and in `cells`.
//!
//! The host has one thread, so what follows a fork here may do what any program may do.

#![expect(
    unsafe_code,
    reason = "forking, executing and raw system calls have no safe wrapper"
)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// What a fork returns: on which side of it the caller is.
pub(super) enum Forked {
    Parent(Pid),
    Child,
}

/// Forks, the child in new namespaces where `flags` (`CLONE_NEW…`) say so.
pub(super) fn fork_into(flags: i32) -> io::Result<Forked> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a plain fork. The process has one
    // thread, so the child finds every lock and the allocator as they were.
    let result =
        unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match result {
        0 => Ok(Forked::Child),
        pid if pid > 0 => i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("the kernel returned no process id")),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without running destructors that belong to its parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes any number and does not return.
    unsafe { libc::_exit(code) }
}

/// Memory for the stack of a process that shares this one's memory, with a page before it that cannot
/// be touched. Returns its end; it is never given back.
#[cfg(target_arch = "x86_64")]
pub(super) fn new_stack(bytes: usize) -> io::Result<usize> {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
    const GUARD: usize = 4096;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: new memory at a place of the kernel's choice, of which the first page is then closed.
    let start = unsafe {
        let start = mmap_anonymous(ptr::null_mut(), GUARD + bytes, access, flags)?;
        mprotect(start, GUARD, MprotectFlags::empty())?;
        start
    };
    Ok(start as usize + GUARD + bytes)
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the caller gives up all descriptors from `first` on; none is used afterwards.
    check(unsafe { libc::close_range(first, u32::MAX, 0) })
}

/// Closes every descriptor but standard ones and those given.
pub(super) fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept
        .iter()
        .filter_map(|fd| u32::try_from(*fd).ok())
        .collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept {
        if fd > first {
            // SAFETY: the descriptors of this range are not used afterwards.
            check(unsafe { libc::close_range(first, fd - 1, 0) })?;
        }
        first = first.max(fd + 1);
    }
    close_from(first)
}

/// Marks every descriptor from `first` on to be closed by `execve`.
pub(super) fn close_on_exec_from(first: u32) -> io::Result<()> {
    let flag = i32::try_from(libc::CLOSE_RANGE_CLOEXEC).unwrap_or_default();
    // SAFETY: only changes flags of descriptors.
    check(unsafe { libc::close_range(first, u32::MAX, flag) })
}

/// Puts a copy of `fd` at the number `at`, to be inherited by a program.
pub(super) fn place_descriptor(fd: BorrowedFd<'_>, at: RawFd) -> io::Result<()> {
    // SAFETY: `fd` is open; `at` is a standard descriptor that nothing in this process owns.
    check(unsafe { libc::dup2(fd.as_raw_fd(), at) })
}

/// Replaces this process by a program. Returns only when that failed.
pub(super) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |words: &[CString]| -> Vec<*const libc::c_char> {
        words
            .iter()
            .map(|word| word.as_ptr())
            .chain([ptr::null()])
            .collect()
    };
    let arguments = pointers(arguments);
    let environment = pointers(environment);
    // SAFETY: both arrays end with a null pointer, and their strings live until the call returns.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Puts this process into the Landlock domain of a ruleset, for good.
pub(super) fn enter_landlock(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes a descriptor and flags, touches no memory.
    check_long(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })
}

/// The version of the kernel's Landlock interface.
pub(super) fn landlock_abi() -> io::Result<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call only returns a number and reads no memory.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(abi).map_err(|_| io::Error::last_os_error())
}

/// Leaves namespaces behind. The process has one thread.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no UnshareFlags::FILES, so no other thread could see descriptors change.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Sets flags (read-only and such) of an open mount, and of those below it when `recursive`. What is mounted or unmounted
/// elsewhere does not reach them any more.
pub(super) fn set_mount_flags(
    mount: BorrowedFd<'_>,
    flags: u64,
    recursive: bool,
) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: flags,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    change_mount(mount, attributes, recursive)
}

/// Makes an open mount writable again that this process made read-only.
pub(super) fn make_writable(mount: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: 0,
        attr_clr: libc::MOUNT_ATTR_RDONLY,
        propagation: 0,
        userns_fd: 0,
    };
    change_mount(mount, attributes, false)
}

fn change_mount(
    mount: BorrowedFd<'_>,
    attributes: libc::mount_attr,
    recursive: bool,
) -> io::Result<()> {
    let below = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a valid, empty string, and the structure has the size that is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | below,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check_long(result)
}

/// Has a network interface of this process's network work.
pub(super) fn bring_interface_up(name: &CStr) -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let kind = SocketType::DGRAM;
    let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
    // SAFETY: a structure of numbers and letters, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let letters = name.to_bytes_with_nul();
    if letters.len() > request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (place, letter) in request.ifr_name.iter_mut().zip(letters) {
        // Letters are signed on some processors.
        *place = libc::c_char::from_ne_bytes([*letter]);
    }
    let flags = libc::c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: the request lives until the call returns, and has the size that this call reads.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
}

/// Signals that the host and supervisors wait for instead of being interrupted by them.
pub(super) struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks every signal in this process.
    pub(super) fn block_all() -> io::Result<Self> {
        // SAFETY: `sigfillset` fills the whole set before it is read; then it is a valid set.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            check(libc::sigfillset(&raw mut set))?;
            check(libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const set,
                ptr::null_mut(),
            ))?;
            Ok(Signals { set })
        }
    }

    /// Waits for the next signal.
    pub(super) fn wait(&self) -> io::Result<i32> {
        // SAFETY: the set is valid, and no information is asked for.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.set, ptr::null_mut()) };
        check(signal).map(|()| signal)
    }

    /// A descriptor that becomes readable when one of the signals comes.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is valid; -1 asks for a new descriptor.
        let fd = unsafe {
            libc::signalfd(
                -1,
                &raw const self.set,
                libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
            )
        };
        check(fd)?;
        // SAFETY: the descriptor is new and nobody else's.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Gives every signal its default effect, for this process and all it starts.
    pub(super) fn default_all() {
        for signal in 1..=libc::SIGRTMAX() {
            // Some numbers are reserved or cannot be changed; those are at their default.
            // SAFETY: a default disposition; no handler is involved.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }

    /// Lets a program start with no signal blocked.
    pub(super) fn unblock_all() -> io::Result<()> {
        // SAFETY: an empty, fully initialised mask.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            check(libc::sigemptyset(&raw mut none))?;
            check(libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const none,
                ptr::null_mut(),
            ))
        }
    }
}

/// Sends a signal to every process this one may signal, itself and pid 1 of its namespace excepted.
pub(super) fn signal_everyone(signal: i32) {
    // SAFETY: plain call. Only used by pid 1 of a command's own pid namespace, where "everyone" is
    // the command's tree.
    unsafe { libc::kill(-1, signal) };
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn check_long(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

//! What the server does for its own protection.

use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, umask,
};

/// Keeps other processes of the same user from looking into this one: no core dump, no debugger, no
/// reading of its memory or environment through `/proc`.
pub fn protect_this_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// What each heap of the allocator may keep for later: enough that growing it step by step is no call to the kernel each
/// time, which would hold up all other threads.
const KEPT_PER_HEAP: i32 = 64 * 1024;

/// Has memory that is not needed any more given back soon, instead of keeping it for later. A server that has
/// answered something large once would else hold on to that much, and spread what it keeps for long all over it.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator, which takes its own lock for it.
    #[expect(unsafe_code, reason = "the allocator has no other face")]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, KEPT_PER_HEAP);
    }
}

/// The umask of commands, once this process has another one.
static UMASK_OF_COMMANDS: OnceLock<Mode> = OnceLock::new();

/// Makes every file of this process readable by its user only, also those that libraries make. Commands keep the umask
/// that this process was started with. To be called before there are other threads.
pub fn keep_own_files_private() {
    let of_operator = umask(Mode::RWXG | Mode::RWXO);
    // Another call finds the private one in place.
    let _ = UMASK_OF_COMMANDS.set(of_operator);
}

/// What a host is told about the umask of its commands; none means that it has the right one already.
pub(crate) fn umask_of_commands() -> Option<String> {
    UMASK_OF_COMMANDS
        .get()
        .map(|mask| format!("{:o}", mask.bits()))
}

/// In a host: takes over what it was told.
pub(crate) fn set_umask(told: &OsStr) {
    let mask = told.to_str().and_then(|it| u32::from_str_radix(it, 8).ok());
    if let Some(mask) = mask {
        umask(Mode::from_raw_mode(mask));
    }
}

/// Lets this process open as many files as the operator allows at most: a command that runs takes two.
pub fn allow_many_descriptors() {
    let allowed = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: allowed.maximum,
        maximum: allowed.maximum,
    };
    // Where it is refused, the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, raised);
}

//! What the server does for its own protection.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Keeps other processes of the same user from looking into this one: no core dump, no debugger, no
/// reading of its memory or environment through `/proc`.
pub fn protect_this_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Has memory that is not needed any more given back at once, instead of keeping some for later. A server that has
/// answered something large once would else hold on to that much, and spread what it keeps for long all over it.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator, which takes its own lock for it.
    #[expect(unsafe_code, reason = "the allocator has no other face")]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, 0);
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

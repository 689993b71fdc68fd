//! What the server does for its own protection.

use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::mm::Advice;
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

/// Gives back what the program's own code takes that has been used so far: most of it was for the start, and what is needed
/// again is in the cache of the kernel. To be called beside the runtime.
#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
pub fn give_code_of_start_back() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (start, end) in maps.lines().filter_map(code_of_file) {
        let start = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: pages of a file that cannot be written through this mapping: the kernel reads them again when they are used.
        #[expect(unsafe_code, reason = "the kernel has no other face for it")]
        let _ = unsafe { rustix::mm::madvise(start, end - start.addr(), Advice::LinuxDontNeed) };
    }
}

/// Where code is mapped from a file, by a line of the kernel's table.
fn code_of_file(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp";
    let is_file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
    let at = |hex: &str| usize::from_str_radix(hex, 16).ok();
    (is_code && is_file).then_some((at(start)?, at(end)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_is_given_back() {
        let table = "\
55d0-55d9 r--p 00000000 fe:01 42 /opt/bin/ahma_mcp
55d9-55f0 r-xp 00009000 fe:01 42 /opt/bin/ahma_mcp
55f0-55f4 rw-p 00020000 fe:01 42 /opt/bin/ahma_mcp
7f00-7f01 r-xp 00000000 00:00 0
7ffd-7fff r-xp 00000000 00:00 0                          [vdso]";
        let found: Vec<_> = table.lines().filter_map(code_of_file).collect();
        assert_eq!(found, [(0x55d9, 0x55f0)]);
    }

    #[test]
    fn what_is_given_back_runs_on() {
        give_code_of_start_back();
        assert_eq!("still here".len(), 10);
    }
}

//! What every process below the host inherits from it. Sets what needs no privilege; must not set what a command could
//! change back.

use std::fs;

use rustix::process::{Resource, Rlimit, setrlimit};

/// How much sooner than the server a command is ended when the machine runs out of memory; 1000 is the most there is.
const FIRST_TO_GO: i32 = 500;

/// Makes commands the first to be ended when memory runs out, and leaves their memory out of core dumps. While the
/// machine's own `/proc` is there.
#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
pub(super) fn in_case_of_need() {
    // Where one of them is refused the other layers are what they were.
    let _ = fs::write("/proc/self/coredump_filter", "0");
    let path = "/proc/self/oom_score_adj";
    let now = fs::read_to_string(path).ok();
    let now = now.and_then(|it| it.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < FIRST_TO_GO) {
        let _ = fs::write(path, FIRST_TO_GO.to_string());
    }
}

/// No core dumps: they could hold secrets and fill the disk. The limit is 1 and not 0: with 0 the kernel still starts a
/// program that the administrator set up for crashes, outside and with the memory of the command.
pub(super) fn no_core_dumps() {
    let limit = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // Where the operator allows less than that, it stays so.
    if setrlimit(Resource::Core, limit(1)).is_err() {
        let _ = setrlimit(Resource::Core, limit(0));
    }
}

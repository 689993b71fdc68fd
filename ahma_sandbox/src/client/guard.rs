//! What the server does for its own protection.

use std::io;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Keeps other processes of the same user from looking into this one: no core dump, no debugger, no
/// reading of its memory or environment through `/proc`.
pub fn protect_this_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

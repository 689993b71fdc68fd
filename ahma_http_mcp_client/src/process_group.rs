//! The processes of a server that was started here. Ends what is left of them.
//!
//! A process that has made a group or session of its own is not among them.

use rustix::process::{Pid, Signal, kill_process_group};

/// Ends a process group when it is dropped, whatever it does.
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group of a process that leads one.
    pub(crate) fn of(leader: Option<u32>) -> Option<Self> {
        let leader = i32::try_from(leader?).ok()?;
        Pid::from_raw(leader).map(ProcessGroup)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Nobody is left: that is what is wanted.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

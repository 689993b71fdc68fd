//! The cgroup of one command: its limits, and whether it has reached one.
//!
//! Blocks, so runs beside the runtime.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use super::CommandGroups;
use crate::command::LimitReached;
use crate::policy::Limits;

/// A cgroup that one command enters before it starts.
#[derive(Debug)]
pub(in crate::client) struct CommandGroup {
    groups: Arc<CommandGroups>,
    directory: PathBuf,
    limits: Limits,
    /// Whoever writes `0` to it enters.
    door: OwnedFd,
}

#[expect(clippy::disallowed_methods, reason = "runs beside the runtime")]
impl CommandGroup {
    pub(in crate::client) fn new(groups: &Arc<CommandGroups>, limits: Limits) -> io::Result<Self> {
        let directory = groups.make()?;
        let made = || -> io::Result<OwnedFd> {
            if let Some(bytes) = limits.memory_bytes {
                fs::write(directory.join("memory.max"), bytes.to_string())?;
                // Not every kernel has swap to limit.
                let _ = fs::write(directory.join("memory.swap.max"), "0");
                // All of it ends, not the one process that the kernel would choose.
                fs::write(directory.join("memory.oom.group"), "1")?;
            }
            if let Some(most) = limits.processes {
                fs::write(directory.join("pids.max"), most.to_string())?;
            }
            let door = OpenOptions::new()
                .write(true)
                .open(directory.join("cgroup.procs"))?;
            Ok(door.into())
        };
        match made() {
            Ok(door) => Ok(CommandGroup {
                groups: Arc::clone(groups),
                directory,
                limits,
                door,
            }),
            Err(error) => {
                groups.discard(directory);
                Err(error)
            }
        }
    }

    pub(in crate::client) fn door(&self) -> BorrowedFd<'_> {
        self.door.as_fd()
    }

    /// The limit that the command has reached. Memory comes first: that ends a command.
    pub(in crate::client) fn reached(&self) -> Option<LimitReached> {
        let was_killed = self
            .count("memory.events", "oom_group_kill")
            .or_else(|| self.count("memory.events", "oom_kill"));
        if let (Some(1..), Some(limit)) = (was_killed, self.limits.memory_bytes) {
            // Since Linux 5.19.
            let peak = self
                .read("memory.peak")
                .and_then(|it| it.trim().parse().ok());
            return Some(LimitReached::Memory { limit, peak });
        }
        match (self.count("pids.events", "max"), self.limits.processes) {
            (Some(1..), Some(limit)) => Some(LimitReached::Processes { limit }),
            _ => None,
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(file)).ok()
    }

    /// A number of a file that has a name and a number in each line.
    fn count(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.read(file)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find_map(|(key, value)| (key == name).then(|| value.parse().ok())?)
    }
}

impl Drop for CommandGroup {
    fn drop(&mut self) {
        self.groups.discard(std::mem::take(&mut self.directory));
    }
}

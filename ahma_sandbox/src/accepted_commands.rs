//! What tells the server, when a host has died, which commands it had not even looked at.
//!
//! A file in memory that both hold: the host writes the number of each command before it starts it,
//! the server reads the last one when the host is gone. Numbers are given in the order of requests, so
//! a larger one was never looked at, and another host can run it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

#[derive(Debug)]
pub(crate) struct AcceptedCommands {
    file: OwnedFd,
    /// Requests of different tasks may overtake each other.
    highest: u64,
}

impl AcceptedCommands {
    pub(crate) fn new() -> io::Result<Self> {
        let file = memfd_create("ahma-accepted", MemfdFlags::CLOEXEC)?;
        Ok(AcceptedCommands::of(file))
    }

    pub(crate) fn of(file: OwnedFd) -> Self {
        AcceptedCommands { file, highest: 0 }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(AcceptedCommands::of(self.file.try_clone()?))
    }

    /// Host: notes that a command is about to be started.
    pub(crate) fn note(&mut self, id: u64) -> io::Result<()> {
        self.highest = self.highest.max(id);
        rustix::io::pwrite(&self.file, &self.highest.to_le_bytes(), 0)?;
        Ok(())
    }

    /// The largest number noted; 0 when none was. When it cannot be read, none may be run again.
    pub(crate) fn last(&self) -> u64 {
        let mut bytes = [0; 8];
        match rustix::io::pread(&self.file, &mut bytes, 0) {
            Ok(0) => 0,
            Ok(8) => u64::from_le_bytes(bytes),
            _ => u64::MAX,
        }
    }
}

impl AsFd for AcceptedCommands {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_side_reads_the_highest_number() {
        let ours = AcceptedCommands::new().unwrap();
        let mut theirs = AcceptedCommands::of(ours.as_fd().try_clone_to_owned().unwrap());
        assert_eq!(ours.last(), 0);
        for (noted, last) in [(1, 1), (6, 6), (5, 6), (u64::MAX, u64::MAX)] {
            theirs.note(noted).unwrap();
            assert_eq!(ours.last(), last);
        }
    }
}

//! A script that was handed over to a shell that waited for it.
//!
//! Tells after the shell's end whether it ever looked at the script. Must not know how the shell was started.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Exit, NoExit};
use crate::error::LaunchStep;

/// What the shell exits with when it cannot enter the directory.
const NO_DIRECTORY: i32 = 127;
/// A longer script is sooner started the usual way than read by a shell.
pub(super) const MAX_SCRIPT_LEN: usize = 8 * 1024;
/// A shell is replaced when its script ends, or when that takes longer than this: not at once, when it
/// would only delay the script.
pub(super) const QUIET: Duration = Duration::from_millis(5);
/// What tells, after its end, whether a shell ever looked at its script.
pub(super) struct ScriptHandoff {
    file: OwnedFd,
    length: u64,
    directory: PathBuf,
}

impl ScriptHandoff {
    /// Where it is written does not move the place where the shell begins to read.
    pub(super) fn write(file: OwnedFd, text: &[u8], directory: &Path) -> io::Result<Self> {
        let mut at = 0;
        while at < text.len() {
            at += rustix::io::pwrite(&file, &text[at..], at as u64)?;
        }
        Ok(ScriptHandoff {
            file,
            length: at as u64,
            directory: directory.to_owned(),
        })
    }

    /// What an end means. A shell that had not begun to read ran nothing, whatever ended it; one that
    /// could not enter the directory neither.
    pub(super) fn interpret(&self, end: Result<Exit, NoExit>) -> Result<Exit, NoExit> {
        let may_be_unread = match end {
            Ok(exit) => exit.code != Some(0),
            Err(why) => why == NoExit::HostGone,
        };
        if may_be_unread && self.take_back() {
            return Err(NoExit::NeverStarted);
        }
        let exit = end?;
        if exit.code == Some(NO_DIRECTORY) && self.has_complaint() {
            let seen = rustix::fs::stat(&self.directory);
            return Err(NoExit::NotStarted {
                step: LaunchStep::WorkingDirectory,
                // Where the server sees nothing wrong, it was the sandbox.
                errno: seen
                    .err()
                    .map_or(libc::EACCES, rustix::io::Errno::raw_os_error),
            });
        }
        Ok(exit)
    }

    /// Takes the script back, if the shell has not begun to read it; it cannot any more then, should it
    /// still live. Both read with the same position, and the kernel lets only one read at a time.
    fn take_back(&self) -> bool {
        let mut all = vec![0; usize::try_from(self.length).unwrap_or(MAX_SCRIPT_LEN)];
        let read = rustix::io::read(&self.file, all.as_mut_slice());
        read.is_ok_and(|read| read as u64 == self.length)
    }

    fn has_complaint(&self) -> bool {
        let about = rustix::fs::fstat(&self.file);
        about.is_ok_and(|about| about.st_size.unsigned_abs() > self.length)
    }
}

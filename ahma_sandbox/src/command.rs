//! What a command is, and what is known of its end; the same on every platform.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::error::LaunchStep;
use crate::input::Input;

/// A command to start.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    /// The program, looked up on the PATH of `environment` unless it is a path, and its arguments.
    pub arguments: Vec<OsString>,
    /// Everything the command finds in its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What it reads.
    pub input: Input,
}

/// How the main process of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    #[cfg(target_os = "linux")]
    pub(crate) fn from_wait_status(status: i32) -> Self {
        ExitStatus::from_raw(status).into()
    }
}

/// A limit that a command and what it had started reached together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// It was killed for the memory it took.
    Memory {
        /// How many bytes it could have.
        limit: u64,
        /// The most that it had, as far as the kernel tells.
        peak: Option<u64>,
    },
    /// It was refused another process or thread.
    Processes {
        /// How many it could have.
        limit: u32,
    },
}

/// Why a command has no exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoExit {
    /// It did not run, not even partly: a step between the host and the command failed.
    #[error("the command was not started: {step}: {}", io::Error::from_raw_os_error(*errno))]
    NotStarted {
        /// Which step.
        step: LaunchStep,
        /// What the kernel said.
        errno: i32,
    },
    /// The host ended before it looked at the command. It did not run; another host can run it.
    #[error("the sandbox host ended before it started the command")]
    NeverStarted,
    /// The host ended while it ran; so has the command.
    #[error("the sandbox host ended while the command ran")]
    HostGone,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Exit {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

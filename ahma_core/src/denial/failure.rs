//! A command that went wrong, as the explanation needs to know it. Plain data.

use std::path::Path;

/// What was run.
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// A script for a shell.
    Script(&'a str),
    /// A program with its arguments.
    Argv(&'a [String]),
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with exit code 0.
    Completed,
    /// By itself, otherwise; or by a signal that nobody here sent.
    Failed,
    /// Stopped at its deadline.
    TimedOut,
    /// Stopped for another reason.
    Stopped,
}

/// A limit that a command reached with everything it had started, as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedLimit {
    /// It was killed for the memory it took.
    Memory {
        /// How many bytes it could have.
        limit: u64,
        /// The most that it had, where the kernel tells.
        peak: Option<u64>,
    },
    /// It was refused another process.
    Processes {
        /// How many it could have.
        limit: u32,
    },
}

/// A command and what became of it.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// What was run.
    pub command: Command<'a>,
    /// What it wrote, both streams as they came.
    pub output: &'a str,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How it ended.
    pub ended: Ended,
    /// The directory it was started in.
    pub directory: &'a Path,
    /// Whether the middle of the output is missing.
    pub truncated: bool,
    /// The limit that it reached, where that is known.
    pub limit_reached: Option<ReachedLimit>,
}

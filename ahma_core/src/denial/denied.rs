//! The explanation of a failure: its kind, what it is about, what the owner can do, and the sentences for the reader.
//!
//! Plain data. Must not decide anything.

use serde::Serialize;

/// What stood in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenialKind {
    /// A path that commands cannot see was to be read.
    ReadOutside,
    /// A path that commands cannot see was to be written.
    WriteOutside,
    /// A path that commands can see and not write.
    ReadOnlyPath,
    /// A path of the scope that is protected.
    ProtectedPath,
    /// A path of the user's home, looked for in the home that commands have of their own.
    HomePrivate,
    /// A program of the user that commands do not see.
    ProgramHidden,
    /// A file or a token by which the user proves who they are.
    CredentialMissing,
    /// A socket of a service of this machine.
    SocketDenied,
    /// Another machine, without a network.
    NetworkOff,
    /// This machine, without a network.
    Loopback,
    /// A terminal.
    TtyMissing,
    /// Something the kernel refuses to commands in a sandbox.
    SyscallDenied,
    /// Memory.
    LimitMemory,
    /// Processes.
    LimitProcesses,
    /// Files: their size, or how many are open.
    LimitFiles,
    /// Time.
    Deadline,
    /// Another effect of the sandbox.
    Other,
}

impl DenialKind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::ReadOutside,
        Self::WriteOutside,
        Self::ReadOnlyPath,
        Self::ProtectedPath,
        Self::HomePrivate,
        Self::ProgramHidden,
        Self::CredentialMissing,
        Self::SocketDenied,
        Self::NetworkOff,
        Self::Loopback,
        Self::TtyMissing,
        Self::SyscallDenied,
        Self::LimitMemory,
        Self::LimitProcesses,
        Self::LimitFiles,
        Self::Deadline,
        Self::Other,
    ];

    /// Its name, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOutside => "read-outside",
            Self::WriteOutside => "write-outside",
            Self::ReadOnlyPath => "read-only-path",
            Self::ProtectedPath => "protected-path",
            Self::HomePrivate => "home-private",
            Self::ProgramHidden => "program-hidden",
            Self::CredentialMissing => "credential-missing",
            Self::SocketDenied => "socket-denied",
            Self::NetworkOff => "network-off",
            Self::Loopback => "loopback",
            Self::TtyMissing => "tty-missing",
            Self::SyscallDenied => "syscall-denied",
            Self::LimitMemory => "limit-memory",
            Self::LimitProcesses => "limit-processes",
            Self::LimitFiles => "limit-files",
            Self::Deadline => "deadline",
            Self::Other => "other",
        }
    }
}

/// Why a command failed, as far as the sandbox has to do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// What stood in the way.
    pub kind: DenialKind,
    /// What it is about: a path, a program, a host.
    pub subject: String,
    /// What the owner of the server can do, or why nothing.
    pub owner_can: String,
    /// One or two sentences for who ran the command.
    pub text: String,
}

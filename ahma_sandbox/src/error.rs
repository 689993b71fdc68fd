//! What can go wrong before a command runs. Nothing here means that a command ran unconfined.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Why a sandbox host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The scope cannot be used.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The operating system has no sandbox that this program knows.
    #[error("there is no kernel sandbox for this operating system")]
    UnknownPlatform,
    /// The host process could not be started, or ended before it was ready.
    #[error("the sandbox host cannot be started: {0}")]
    Host(#[source] io::Error),
    /// A host enforces less than the one before it.
    #[error("the sandbox has become weaker: {0} cannot be enforced any more")]
    Weaker(String),
    /// The host could not confine itself.
    #[error("the sandbox cannot be set up: {0}")]
    Setup(SetupFailure),
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            StartError::Scope(error) => error.hint().to_owned(),
            StartError::UnknownPlatform => "use Linux 5.13 or newer, or macOS".to_owned(),
            StartError::Host(_) => {
                "check that the program is intact and may be executed".to_owned()
            }
            StartError::Weaker(_) => "restart the server to accept what is left".to_owned(),
            StartError::Setup(failure) => failure.hint().to_owned(),
        }
    }
}

/// The step of the setup that failed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupFailure {
    /// What was tried.
    pub step: SetupStep,
    /// What the kernel said, or a path that is missing.
    pub detail: String,
}

impl fmt::Display for SetupFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.step, self.detail)
    }
}

impl SetupFailure {
    pub(crate) fn new(step: SetupStep, detail: impl fmt::Display) -> Self {
        SetupFailure {
            step,
            detail: detail.to_string(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self.step {
            SetupStep::Landlock => {
                "Landlock keeps commands inside the scope; without it an agent could damage files \
                 anywhere. It needs Linux 5.13 or newer with `landlock` among the modules that \
                 /sys/kernel/security/lsm lists (boot parameter `lsm=landlock,…`), and a container \
                 that allows the landlock system calls."
            }
            SetupStep::Seccomp => {
                "the kernel must allow seccomp filters (CONFIG_SECCOMP_FILTER), and so must the \
                 container"
            }
            SetupStep::Seatbelt => {
                "Seatbelt keeps commands inside the scope; without it an agent could damage files \
                 anywhere. It needs /usr/bin/sandbox-exec, and no other sandbox around the server."
            }
            SetupStep::Policy | SetupStep::Paths | SetupStep::View => {
                "check that every path exists, is readable and is not a link"
            }
            SetupStep::Process => "check the limits on processes and open files (ulimit -a)",
        }
    }
}

/// A step of the setup of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetupStep {
    /// Reading the policy.
    Policy,
    /// Opening the paths it names.
    Paths,
    /// Building the view of the file system.
    View,
    /// Building the Landlock ruleset and trying it.
    Landlock,
    /// Installing the seccomp filter.
    Seccomp,
    /// Trying a Seatbelt profile.
    Seatbelt,
    /// Becoming the process that commands are started from.
    Process,
}

impl fmt::Display for SetupStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SetupStep::Policy => "the policy cannot be read",
            SetupStep::Paths => "a path of the policy cannot be used",
            SetupStep::View => "the view of the file system cannot be built",
            SetupStep::Landlock => "Landlock is not available",
            SetupStep::Seccomp => "the seccomp filter cannot be installed",
            SetupStep::Seatbelt => "Seatbelt is not available",
            SetupStep::Process => "the host process cannot be set up",
        })
    }
}

/// Why a directory cannot be the scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// Not there, or not accessible.
    #[error("the scope {path} cannot be used: {reason}")]
    Unusable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Not a directory.
    #[error("the scope {0} is not a directory")]
    NotADirectory(PathBuf),
    /// The whole file system.
    #[error("the scope would be the whole file system")]
    Root,
    /// The server's own private directories would be in reach of commands.
    #[error("the private directory {private_dir} would lie in {granted}, which commands can write")]
    HoldsPrivateDir {
        /// The private directory.
        private_dir: PathBuf,
        /// The scope, or a path granted for writing.
        granted: PathBuf,
    },
    /// The whole home directory, or something around it.
    #[error("the scope {0} holds your whole home directory")]
    Home(PathBuf),
}

impl ScopeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ScopeError::Unusable { .. } | ScopeError::NotADirectory(_) => {
                "name an existing directory"
            }
            ScopeError::HoldsPrivateDir { .. } => {
                "set TMPDIR to a directory outside of what commands can write"
            }
            ScopeError::Root | ScopeError::Home(_) => {
                "start in the directory of a project, or name one; commands could read and change \
                 everything below the scope"
            }
        }
    }
}

/// Why a command was not started. It did not run, not even partly.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The host is gone.
    #[error("the sandbox host is gone")]
    HostGone,
    /// The request cannot be expressed, e.g. an argument with a NUL character.
    #[error("the command cannot be started: {0}")]
    BadRequest(String),
    /// The server has no descriptors or memory left.
    #[error("the command cannot be started: {0}")]
    Resources(#[source] io::Error),
}

/// A step between the host and the running command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LaunchStep {
    /// Making the process that looks after the command.
    Supervisor = 1,
    /// A fresh /proc for the command.
    Proc = 2,
    /// Making the command's own process.
    Process = 3,
    /// A session of its own.
    Session = 4,
    /// Standard input and output.
    Stdio = 5,
    /// The working directory.
    WorkingDirectory = 6,
    /// Resource limits.
    Limits = 7,
    /// Giving up new privileges.
    NoNewPrivileges = 8,
    /// Entering the Landlock domain.
    Landlock = 9,
    /// Giving up capabilities.
    Capabilities = 10,
    /// Closing descriptors.
    Descriptors = 11,
    /// Resetting signals.
    Signals = 12,
    /// Executing the program.
    Execute = 13,
}

#[cfg(target_os = "linux")]
impl LaunchStep {
    const ALL: [LaunchStep; 13] = [
        LaunchStep::Supervisor,
        LaunchStep::Proc,
        LaunchStep::Process,
        LaunchStep::Session,
        LaunchStep::Stdio,
        LaunchStep::WorkingDirectory,
        LaunchStep::Limits,
        LaunchStep::NoNewPrivileges,
        LaunchStep::Landlock,
        LaunchStep::Capabilities,
        LaunchStep::Descriptors,
        LaunchStep::Signals,
        LaunchStep::Execute,
    ];

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == code)
    }
}

impl fmt::Display for LaunchStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LaunchStep::Supervisor => "no process for its supervisor",
            LaunchStep::Proc => "no /proc of its own",
            LaunchStep::Process => "no process for it",
            LaunchStep::Session => "no session of its own",
            LaunchStep::Stdio => "input or output cannot be connected",
            LaunchStep::WorkingDirectory => "the working directory cannot be entered",
            LaunchStep::Limits => "its limits cannot be set",
            LaunchStep::NoNewPrivileges => "privileges cannot be given up",
            LaunchStep::Landlock => "Landlock cannot be enforced",
            LaunchStep::Capabilities => "capabilities cannot be dropped",
            LaunchStep::Descriptors => "descriptors cannot be closed",
            LaunchStep::Signals => "signals cannot be reset",
            LaunchStep::Execute => "the program cannot be executed",
        })
    }
}

//! What the values of flags can be.

use clap::ValueEnum;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogLevel {
    /// Only failures that affect someone's work.
    Error,
    /// Also failed commands, and what the server could recover from.
    Warn,
    /// Also milestones, such as the start and the end of the server.
    Info,
    /// Also details for troubleshooting.
    Debug,
    /// Also every MCP message.
    Trace,
}

/// What the program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Serve MCP on stdin and stdout.
    Stdio,
    /// Serve MCP over HTTP on this machine.
    Http,
    /// Serve both from one server.
    Dual,
    /// Print all tools as JSON and exit.
    ListTools,
}

impl Mode {
    /// As the operator writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Stdio => "stdio",
            Mode::Http => "http",
            Mode::Dual => "dual",
            Mode::ListTools => "list-tools",
        }
    }
}

/// A layer of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LayerArg {
    /// Landlock (Linux).
    Landlock,
    /// A filter of system calls (Linux).
    Seccomp,
    /// A view of the file system without what is outside (Linux).
    Namespaces,
    /// Processes that the kernel keeps together (Linux).
    PidNamespace,
    /// Seatbelt (macOS).
    Seatbelt,
}

/// What becomes of the home of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum HomeArg {
    /// It is there again next time.
    Keep,
    /// It is made anew.
    Fresh,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}

/// Whether commands have a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NetworkArg {
    /// That of the machine.
    On,
    /// None at all.
    Off,
}

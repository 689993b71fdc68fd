//! The command line of `ahma_mcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  ahma_mcp
          serve MCP on stdin and stdout; commands are confined to this directory
  ahma_mcp --sandbox-scope ~/project --network off
          confined to that directory, without network
  ahma_mcp --mode http --sandbox-scope .
          serve MCP over HTTP to programs of this machine; prints the URL
  ahma_mcp --mode dual
          both: stdin and stdout for an IDE, HTTP for other agents beside it
  ahma_mcp --mode list-tools
          the tools of this project, as JSON
  ahma_mcp --mode list-tools --tools-dir my-tools --tools git,cargo
          only what my-tools/git.json and my-tools/cargo.json offer

An entry of an mcp.json:
  { \"mcpServers\": { \"ahma\": { \"command\": \"ahma_mcp\" } } }

Exit codes: 0 normal, 1 failure, 2 bad usage or configuration, 3 no sandbox,
4 no port or no state file";

/// An MCP server that runs commands confined by the kernel.
#[derive(Debug, Parser)]
#[command(name = "ahma_mcp", version, after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to do.
    #[arg(long, alias = "transport", value_enum, default_value_t = Mode::Stdio)]
    pub(super) mode: Mode,

    /// Directory with tool files; may be given several times. Default: `AHMA_TOOLS_DIR` (several are
    /// separated as in PATH), else `.ahma/tools`, else `tools` (there only files whose `$schema` is
    /// mtdf.schema.json), else those that come with the program.
    #[arg(long, value_name = "DIR")]
    pub(super) tools_dir: Vec<PathBuf>,

    /// Only these tool files, named without `.json`.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) tools: Vec<String>,

    /// The directory commands are confined to. Default: `AHMA_SANDBOX_SCOPE`, else this directory.
    #[arg(long, value_name = "PATH")]
    pub(super) sandbox_scope: Option<PathBuf>,

    /// Lets the scope be `/` or the home directory.
    #[arg(long)]
    pub(super) allow_wide_scope: bool,

    /// One more path that commands may read; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(super) sandbox_read: Vec<PathBuf>,

    /// One more path that commands may read and write; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(super) sandbox_write: Vec<PathBuf>,

    /// One more path in the scope that commands may not write; may be given several times. Usually:
    /// .git/hooks, .vscode, .idea, .mcp.json, .ahma, and where tool files are read from.
    #[arg(long, value_name = "PATH")]
    pub(super) protect: Vec<PathBuf>,

    /// A path that commands may write although it is usually protected; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(super) unprotect: Vec<PathBuf>,

    /// Whether commands have a network. Default: `AHMA_NETWORK`, else on.
    #[arg(long, value_enum)]
    pub(super) network: Option<NetworkArg>,

    /// Runs commands without the kernel's confinement. Also `AHMA_NO_SANDBOX=1`.
    #[arg(long)]
    pub(super) no_sandbox: bool,

    /// One more variable of the server's environment that commands get; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(super) pass_env: Vec<OsString>,

    /// No `sandboxed_shell`: declared tools only.
    #[arg(long)]
    pub(super) no_shell: bool,

    /// Every call waits for its command, whatever the caller and the tool file say.
    #[arg(long)]
    pub(super) sync: bool,

    /// Deadline of a command unless the call says otherwise.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(super) timeout: u32,

    /// Commands that run at the same time.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) max_operations: u32,

    /// Commands that wait for others to end; more are refused.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(super) max_queue: u32,

    /// Ended operations that are remembered.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) keep_operations: u32,

    /// How long ended operations are remembered.
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    pub(super) keep_minutes: u32,

    /// Shells that are started ahead of time and wait for the scripts of `sandboxed_shell`, each for one.
    /// While scripts come in a row up to 12 wait.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(super) warm_shells: u32,

    /// Disk that outputs take together; beyond it the oldest ended operations keep only the beginning
    /// and the end of theirs.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) spool_mb: u32,

    /// The address HTTP is served on; only loopback addresses are taken.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) http_host: String,

    /// The port HTTP is served on. Default: the first that is free from 4242 to 5242.
    #[arg(long, value_name = "PORT")]
    pub(super) http_port: Option<u16>,

    /// What callers over HTTP have to show: `auto` (a secret that is made once for each project), `off`, or a secret.
    /// Default: `AHMA_HTTP_TOKEN`, which others cannot see as easily as an argument, else auto.
    #[arg(long, value_name = "auto|off|VALUE")]
    pub(super) http_token: Option<String>,

    /// Web pages of this origin may call, such as <http://localhost:5173>; may be given several times.
    #[arg(long, value_name = "ORIGIN")]
    pub(super) allow_origin: Vec<String>,

    /// Sessions over HTTP that are open at the same time; more are refused.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) max_sessions: u32,

    /// A session that nobody uses for this long ends; one with an open stream or a running operation is in use.
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    pub(super) session_idle_minutes: u32,

    /// Requests a second of a session, or of all callers together that have none; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) rate_limit: u32,

    /// Requests that may come at once before that counts.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) rate_burst: u32,

    /// Each session over HTTP has a scope, a sandbox and operations of its own: the scope is the first root that its
    /// client names. Needs --scope-root.
    #[arg(long, requires = "scope_root")]
    pub(super) session_isolation: bool,

    /// A directory at or below which the scopes of sessions are; may be given several times.
    #[arg(long, value_name = "DIR", requires = "session_isolation")]
    pub(super) scope_root: Vec<PathBuf>,

    /// A project that is served at /mcp/w/NAME, with its own scope, tools and operations; may be given several times.
    #[arg(long, value_name = "NAME=PATH")]
    pub(super) workspace: Vec<String>,

    /// Where a record of every operation goes: a file, or `off`. Default: a file a day in the user's cache
    /// directory, of which 30 are kept.
    #[arg(long, value_name = "FILE|off")]
    pub(super) audit_log: Option<PathBuf>,

    /// Log to stderr, in colours unless `NO_COLOR` is set. Default: to a file a day in the user's cache directory, of which 7 are kept.
    #[arg(long)]
    pub(super) log_to_stderr: bool,

    /// How much is logged. Default: `RUST_LOG`, else info.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(super) log_level: Option<LogLevel>,

    /// Log everything that helps to find faults; the same as --log-level debug.
    #[arg(long, conflicts_with = "log_level")]
    pub(super) debug: bool,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogLevel {
    /// What went wrong.
    Error,
    /// And what might.
    Warn,
    /// And what happens.
    Info,
    /// And how.
    Debug,
    /// And every message.
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

/// Whether commands have a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NetworkArg {
    /// That of the machine.
    On,
    /// None at all.
    Off,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

//! The command line of `ahma_mcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(super) use super::arg_values::{HomeArg, LayerArg, LogLevel, Mode, NetworkArg, OnOff};
use super::auth_args::AuthCommand;
use super::clean_command::CleanArgs;
use super::doctor::DoctorArgs;
use super::downstream_args::DownstreamCommand;
use super::new_args::NewArgs;
use super::paper::{CompletionArgs, ManArgs};
use super::run_args::RunArgs;
use super::setup_args::SetupArgs;
use crate::service::SettingOrigin;

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
  ahma_mcp --tools core,gh,-git_push
          list the tools of gh too, and not git_push
  ahma_mcp run -- cargo test
          run a command as an agent's would run, and say what was refused
  ahma_mcp downstream check
          whether other servers behind this one still offer what was approved
  ahma_mcp new wc --add
          a tool file for wc, drafted from its own help
  ahma_mcp auth login jira
          sign in to the server `jira` of the user's mcp.json

An entry of an mcp.json:
  { \"mcpServers\": { \"Ahama\": { \"command\": \"ahma_mcp\" } } }

Exit codes: 0 normal, 1 failure, 2 bad usage or configuration, 3 no sandbox,
4 no port or no state file";

/// An MCP server that runs commands confined by the kernel.
#[derive(Debug, Clone, Parser)]
#[command(name = "ahma_mcp", version, after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    /// Settings that come after flags and variables.
    ///
    /// Default: `ahma.toml` in the user's configuration directory, when it is there. Settings are named as the flags.
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,

    /// What to do.
    #[arg(long, visible_alias = "transport", value_enum, default_value_t = Mode::Stdio)]
    pub(super) mode: Mode,

    /// Directory with tool files, instead of those of the project; may be given several times.
    ///
    /// Default: `AHMA_TOOLS_DIR` (several are separated as in PATH), else `.ahma/tools` and those files of `tools`
    /// that look like tool files. The ones that come with the program are there too; a file of the same name takes
    /// their place.
    #[arg(long, value_name = "DIR", help_heading = "Tools")]
    pub(super) tools_dir: Vec<PathBuf>,

    /// Directory with prompt files, instead of `.ahma/prompts` of the project; may be given several times.
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Tools",
        hide_short_help = true
    )]
    pub(super) prompts_dir: Vec<PathBuf>,

    /// Directory with resource files, instead of `.ahma/resources` of the project; may be given several times.
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Tools",
        hide_short_help = true
    )]
    pub(super) resources_dir: Vec<PathBuf>,

    /// What is listed: `all`, `none`, `core` (the default: the most used tools of every file), names of tool files
    /// (`git`) and of single tools (`git_log`), with `-` to leave one out.
    ///
    /// What is not listed is found with `find_tools`.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Tools"
    )]
    pub(super) tools: Vec<String>,

    /// Leave out the tool files that come with the program.
    #[arg(long, help_heading = "Tools")]
    pub(super) no_shipped_tools: bool,

    /// A file that names other MCP servers whose tools are offered too.
    ///
    /// Default: `ahma_mcp/mcp.json` in the user's configuration directory, when it is there. Read once, at the start.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Tools")]
    pub(super) mcp_config: Option<PathBuf>,

    /// The directory commands are confined to.
    ///
    /// Default: `AHMA_SANDBOX_SCOPE`, else this directory.
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub(super) sandbox_scope: Option<PathBuf>,

    /// Allow the scope, or a grant, to be the home directory or what is above it.
    ///
    /// What servers of this user keep must lie outside (`XDG_STATE_HOME`), so it is never everything.
    #[arg(long, help_heading = "Sandbox")]
    pub(super) allow_wide_scope: bool,

    /// Bundles of grants by their names, such as `java` or `docker`; `ahma_mcp doctor --profiles` shows them.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Sandbox"
    )]
    pub(super) profile: Vec<String>,

    /// One more path that commands may read; may be given several times.
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub(super) sandbox_read: Vec<PathBuf>,

    /// One more path that commands may read and write; may be given several times.
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub(super) sandbox_write: Vec<PathBuf>,

    /// Whether the private home of commands is there again for the next server of the same scope (`keep`), or made
    /// anew (`fresh`).
    ///
    /// Sessions with a scope of their own always get a fresh one.
    #[arg(long, value_enum, value_name = "keep|fresh", default_value_t = HomeArg::Keep, help_heading = "Sandbox", hide_short_help = true)]
    pub(super) home: HomeArg,

    /// Whether commands may run the programs in directories of your PATH below the home directory (`~/.local/bin`,
    /// `~/go/bin`…), with what they link to.
    ///
    /// Nothing else of the home can be read.
    #[arg(long, value_enum, value_name = "on|off", default_value_t = OnOff::On, help_heading = "Sandbox", hide_short_help = true)]
    pub(super) user_path: OnOff,

    /// One more path in the scope that commands may not write; may be given several times.
    ///
    /// By default Git's hooks, the files of editors, agents and shells that start programs (such as .vscode, .cursor,
    /// .claude, .mcp.json, .envrc) and the directories that tool files are read from are protected; docs/sandbox.md
    /// lists them all.
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub(super) protect: Vec<PathBuf>,

    /// A path that commands may write although it is protected by default; may be given several times.
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub(super) unprotect: Vec<PathBuf>,

    /// Whether commands have a network.
    ///
    /// Default: `AHMA_NETWORK`, else on.
    #[arg(long, value_enum, help_heading = "Sandbox")]
    pub(super) network: Option<NetworkArg>,

    /// Run commands without the sandbox: they can do what you can do.
    ///
    /// Also `AHMA_NO_SANDBOX=1`.
    #[arg(long, help_heading = "Sandbox")]
    pub(super) no_sandbox: bool,

    /// Refuse to start unless these layers of the sandbox are enforced; several are separated by commas.
    ///
    /// Without user namespaces, for instance, the server starts with less, and says so.
    #[arg(
        long,
        value_enum,
        value_name = "LAYER,…",
        value_delimiter = ',',
        conflicts_with = "no_sandbox",
        help_heading = "Sandbox",
        hide_short_help = true
    )]
    pub(super) require: Vec<LayerArg>,

    /// One more variable of the server's environment that commands get; may be given several times.
    #[arg(long, value_name = "NAME", help_heading = "Sandbox")]
    pub(super) pass_env: Vec<OsString>,

    /// Leave `sandboxed_shell` out: only declared tools can run commands.
    #[arg(long, help_heading = "Tools")]
    pub(super) no_shell: bool,

    /// Make every call wait for its command, whatever the caller and the tool file say.
    #[arg(long, help_heading = "Calls")]
    pub(super) sync: bool,

    /// How long a call that does not wait for its command waits all the same, so that a quick result comes with the
    /// answer; 0 for not at all.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=60_000), help_heading = "Calls", hide_short_help = true)]
    pub(super) inline_ms: u32,

    /// How long a call that waits for its command waits before the command goes on in the background: clients give up
    /// after a while, and the command would be stopped.
    ///
    /// Default: 50; with --sync for ever.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400), help_heading = "Calls", hide_short_help = true)]
    pub(super) sync_limit: Option<u32>,

    /// How long a command may run, unless its tool file or the call says otherwise.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=86_400), help_heading = "Calls")]
    pub(super) timeout: u32,

    /// How many commands may run at the same time.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Calls")]
    pub(super) max_operations: u32,

    /// How many commands may wait for others to end; further ones are refused.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(0..=100_000), help_heading = "Calls", hide_short_help = true)]
    pub(super) max_queue: u32,

    /// How many finished operations are remembered.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Calls", hide_short_help = true)]
    pub(super) keep_operations: u32,

    /// How long finished operations are remembered.
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_080), help_heading = "Calls", hide_short_help = true)]
    pub(super) keep_minutes: u32,

    /// How many shells are started ahead of time, each to run one script of `sandboxed_shell`.
    ///
    /// While scripts come in quick succession, up to 12 are kept ready.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=64), help_heading = "Calls", hide_short_help = true)]
    pub(super) warm_shells: u32,

    /// How much disk space the outputs of all operations may take together; beyond it the oldest finished operations
    /// keep only the beginning and the end of theirs.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Calls", hide_short_help = true)]
    pub(super) spool_mb: u32,

    /// The address HTTP is served on; must be a loopback address.
    ///
    /// Default: 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", help_heading = "HTTP")]
    pub(super) http_host: Option<String>,

    /// The port HTTP is served on.
    ///
    /// Default: the first that is free from 4242 to 5242.
    #[arg(long, value_name = "PORT", help_heading = "HTTP")]
    pub(super) http_port: Option<u16>,

    /// Serve HTTP at a Unix socket of this path, which only you can open, and at no port: out of reach of every
    /// command, also of those with a network.
    ///
    /// For clients that can connect to one.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["http_host", "http_port"], help_heading = "HTTP")]
    pub(super) http_socket: Option<PathBuf>,

    /// The token that HTTP clients must send: `auto` (a secret that is created once per project and per workspace),
    /// `off`, or a secret of your own.
    ///
    /// Default: `AHMA_HTTP_TOKEN`, which is harder for others to see than an argument, else auto.
    #[arg(long, value_name = "auto|off|VALUE", help_heading = "HTTP")]
    pub(super) http_token: Option<String>,

    /// An origin whose web pages may call the server, such as <http://localhost:5173>; may be given several times.
    #[arg(
        long,
        value_name = "ORIGIN",
        help_heading = "HTTP",
        hide_short_help = true
    )]
    pub(super) allow_origin: Vec<String>,

    /// How many HTTP sessions may be open at the same time; further ones are refused.
    ///
    /// Default: 1000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "HTTP", hide_short_help = true)]
    pub(super) max_sessions: Option<u32>,

    /// A session ends after this long without use; one with an open stream or a running operation is in use.
    ///
    /// Default: 30.
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..=10_080), help_heading = "HTTP", hide_short_help = true)]
    pub(super) session_idle_minutes: Option<u32>,

    /// How many requests per second a session may make (or all callers without a session together); 0 for no limit.
    ///
    /// Default: 50.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "HTTP", hide_short_help = true)]
    pub(super) rate_limit: Option<u32>,

    /// How many requests may come at once before the rate limit applies.
    ///
    /// Default: 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "HTTP", hide_short_help = true)]
    pub(super) rate_burst: Option<u32>,

    /// Give each HTTP session a scope, a sandbox and operations of its own; the scope is the first root that its
    /// client names.
    ///
    /// Needs --scope-root.
    #[arg(long, requires = "scope_root", help_heading = "HTTP")]
    pub(super) session_isolation: bool,

    /// A directory that the scopes of sessions must be in; may be given several times.
    #[arg(
        long,
        value_name = "DIR",
        requires = "session_isolation",
        help_heading = "HTTP"
    )]
    pub(super) scope_root: Vec<PathBuf>,

    /// A project that is served at /mcp/w/NAME, with its own scope, tools and operations; may be given several times.
    #[arg(long, value_name = "NAME=PATH", help_heading = "HTTP")]
    pub(super) workspace: Vec<String>,

    /// Where every operation is recorded: a file, or `off`.
    ///
    /// Default: one file per day in the user's cache directory, of which 30 are kept.
    #[arg(long, value_name = "FILE|off", help_heading = "Logs")]
    pub(super) audit_log: Option<PathBuf>,

    /// Log to stderr, in colour where that is a terminal and `NO_COLOR` is not set.
    ///
    /// Default: one file per day in the user's cache directory, of which 7 are kept.
    #[arg(long, help_heading = "Logs")]
    pub(super) log_to_stderr: bool,

    /// The least severe level that is logged.
    ///
    /// Default: `RUST_LOG`, else info.
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        help_heading = "Logs",
        hide_short_help = true
    )]
    pub(super) log_level: Option<LogLevel>,

    /// Log details for troubleshooting; the same as --log-level debug.
    #[arg(long, conflicts_with = "log_level", help_heading = "Logs")]
    pub(super) debug: bool,

    /// Settings that are not the default, and who decided them.
    #[arg(skip)]
    pub(super) origins: Vec<SettingOrigin>,
}

/// What is done instead of serving.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum Command {
    /// Sign in to other MCP servers behind this one (OAuth), and out.
    Auth {
        /// What to do.
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// Other MCP servers behind this one: list them, compare them with what was approved, approve, import.
    Downstream {
        /// What to do with them.
        #[command(subcommand)]
        command: DownstreamCommand,
    },
    /// Remove what servers have left behind and nobody uses.
    Clean(CleanArgs),
    /// Print completions for a shell.
    Completions(CompletionArgs),
    /// Write manual pages.
    Man(ManArgs),
    /// Look for what keeps the server from working here, and say how to repair it.
    Doctor(DoctorArgs),
    /// Run a command as an agent's would run, and say what the sandbox refused.
    Run(RunArgs),
    /// Add this server to the clients of this machine (Claude Code, Cursor, VS Code, Codex…), and take it out again.
    Setup(SetupArgs),
    /// Draft a tool file from a program's own help, which is asked in the sandbox.
    New(NewArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

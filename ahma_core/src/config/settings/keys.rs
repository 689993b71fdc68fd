//! The settings that there are: one for each flag of the server, under its name. Must not know where values come from.

/// What a value can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A text.
    Text,
    /// Several texts.
    Texts,
    /// A path.
    Path,
    /// Several paths.
    Paths,
    /// Several paths of the project.
    PathsOfProject,
    /// A whole number in these bounds.
    Number(u32, u32),
    /// One of these.
    Choice(&'static [&'static str]),
    /// Several of these.
    Choices(&'static [&'static str]),
}

/// What a file of the project may say, which commands could have written: only what takes something away from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrowing {
    /// Nothing.
    No,
    /// This value.
    Only(&'static str),
    /// A number that is not greater than the one in force.
    Less,
    /// More of them.
    More,
    /// Anything: it grants nothing.
    Harmless,
}

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name, which is that of the flag.
    pub name: &'static str,
    /// What its value can be.
    pub kind: Kind,
    /// What a file of the project may say.
    pub narrowing: Narrowing,
    /// What it does.
    pub meaning: &'static str,
}

const fn key(name: &'static str, kind: Kind, narrowing: Narrowing, meaning: &'static str) -> Key {
    Key {
        name,
        kind,
        narrowing,
        meaning,
    }
}

use Kind::{Choice, Choices, Number, Path, Paths, PathsOfProject, Switch, Text, Texts};
use Narrowing::{Harmless, Less, More, No, Only};

const ON_OFF: Kind = Choice(&["on", "off"]);
const LEVELS: Kind = Choice(&["error", "warn", "info", "debug", "trace"]);
const LAYERS: Kind = Choices(&[
    "landlock",
    "seccomp",
    "namespaces",
    "pid-namespace",
    "seatbelt",
]);
const DAY: u32 = 86_400;

/// All settings, in the order of the flags.
pub const KEYS: &[Key] = &[
    key(
        "mode",
        Choice(&["stdio", "http", "dual"]),
        No,
        "What is served: MCP on stdin and stdout, over HTTP, or both.",
    ),
    key(
        "tools-dir",
        Paths,
        No,
        "Directories with tool files, instead of those of the project.",
    ),
    key(
        "prompts-dir",
        Paths,
        No,
        "Directories with prompt files, instead of `.ahma/prompts` of the project.",
    ),
    key(
        "resources-dir",
        Paths,
        No,
        "Directories with resource files, instead of `.ahma/resources` of the project.",
    ),
    key(
        "tools",
        Texts,
        Harmless,
        "What is listed: `all`, `none`, `core`, names of tool files and of single tools, with `-` to leave one out.",
    ),
    key(
        "no-shipped-tools",
        Switch,
        Only("true"),
        "Leave out the tool files that come with the program.",
    ),
    key(
        "mcp-config",
        Path,
        No,
        "The file that names other MCP servers whose tools are offered too.",
    ),
    key(
        "sandbox-scope",
        Path,
        No,
        "The directory commands are confined to, where neither flag nor variable name one.",
    ),
    key(
        "allow-wide-scope",
        Switch,
        No,
        "Allow the scope, or a grant, to be `/` or the home directory.",
    ),
    key(
        "profile",
        Texts,
        No,
        "Bundles of grants by their names, such as `java`; `ahma_mcp doctor --profiles` shows them.",
    ),
    key(
        "sandbox-read",
        Paths,
        No,
        "More paths that commands may read.",
    ),
    key(
        "sandbox-write",
        Paths,
        No,
        "More paths that commands may read and write.",
    ),
    key(
        "home",
        Choice(&["keep", "fresh"]),
        Only("fresh"),
        "Whether the private home of commands is there again for the next server.",
    ),
    key(
        "user-path",
        ON_OFF,
        Only("off"),
        "Whether commands may run the programs in directories of your PATH below the home directory.",
    ),
    key(
        "protect",
        PathsOfProject,
        More,
        "More paths of the project that commands may not write.",
    ),
    key(
        "unprotect",
        PathsOfProject,
        No,
        "Paths that commands may write although they are protected by default.",
    ),
    key(
        "network",
        ON_OFF,
        Only("off"),
        "Whether commands have a network.",
    ),
    key(
        "no-sandbox",
        Switch,
        No,
        "Run commands without the sandbox: they can do what you can do.",
    ),
    key(
        "require",
        LAYERS,
        More,
        "Refuse to start unless these layers of the sandbox are enforced.",
    ),
    key(
        "pass-env",
        Texts,
        No,
        "More variables of the server's environment that commands get.",
    ),
    key(
        "no-shell",
        Switch,
        Only("true"),
        "Leave `sandboxed_shell` out: only declared tools can run commands.",
    ),
    key("sync", Switch, No, "Make every call wait for its command."),
    key(
        "inline-ms",
        Number(0, 60_000),
        No,
        "How long a call that does not wait for its command waits all the same, in milliseconds.",
    ),
    key(
        "sync-limit",
        Number(1, DAY),
        No,
        "How long a call that waits for its command waits before the command goes on in the background, in seconds.",
    ),
    key(
        "timeout",
        Number(1, DAY),
        Less,
        "How long a command may run, in seconds.",
    ),
    key(
        "max-operations",
        Number(1, 10_000),
        Less,
        "How many commands may run at the same time.",
    ),
    key(
        "max-queue",
        Number(0, 100_000),
        Less,
        "How many commands may wait for others to end.",
    ),
    key(
        "keep-operations",
        Number(1, 100_000),
        Less,
        "How many finished operations are remembered.",
    ),
    key(
        "keep-minutes",
        Number(1, 10_080),
        Less,
        "How long finished operations are remembered, in minutes.",
    ),
    key(
        "warm-shells",
        Number(0, 64),
        Less,
        "How many shells are started ahead of time.",
    ),
    key(
        "spool-mb",
        Number(1, 1_000_000),
        Less,
        "How much disk space the outputs of all operations may take together, in MB.",
    ),
    key(
        "http-host",
        Text,
        No,
        "The loopback address HTTP is served on.",
    ),
    key(
        "http-port",
        Number(0, 65_535),
        No,
        "The port HTTP is served on.",
    ),
    key(
        "http-socket",
        Path,
        No,
        "Serve HTTP at a Unix socket of this path, and at no port.",
    ),
    key(
        "http-token",
        Text,
        No,
        "The token that HTTP clients must send: `auto`, `off`, or a secret of your own.",
    ),
    key(
        "allow-origin",
        Texts,
        No,
        "Origins whose web pages may call the server.",
    ),
    key(
        "max-sessions",
        Number(1, 100_000),
        No,
        "How many HTTP sessions may be open at the same time.",
    ),
    key(
        "session-idle-minutes",
        Number(1, 10_080),
        No,
        "A session ends after this long without use, in minutes.",
    ),
    key(
        "rate-limit",
        Number(0, 1_000_000),
        No,
        "How many requests per second a session may make; 0 for no limit.",
    ),
    key(
        "rate-burst",
        Number(1, 1_000_000),
        No,
        "How many requests may come at once before the rate limit applies.",
    ),
    key(
        "session-isolation",
        Switch,
        No,
        "Give each HTTP session a scope, a sandbox and operations of its own.",
    ),
    key(
        "scope-root",
        Paths,
        No,
        "Directories that the scopes of sessions must be in.",
    ),
    key(
        "workspace",
        Texts,
        No,
        "Projects that are served at /mcp/w/NAME, as `NAME=PATH`.",
    ),
    key(
        "audit-log",
        Path,
        No,
        "Where every operation is recorded: a file, or `off`.",
    ),
    key(
        "log-to-stderr",
        Switch,
        No,
        "Log to stderr instead of a file.",
    ),
    key(
        "log-level",
        LEVELS,
        No,
        "The least severe level that is logged.",
    ),
    key("debug", Switch, No, "Log details for troubleshooting."),
];

/// Settings of which a profile consists: what commands may read, write, and get of the environment.
pub(super) const OF_PROFILES: [&str; 3] = ["pass-env", "sandbox-read", "sandbox-write"];

/// Settings that belong to a server, not to one of its projects.
pub(super) const OF_SERVERS: [&str; 3] = ["mcp-config", "mode", "sandbox-scope"];

/// The setting of a name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|it| it.name == name)
}

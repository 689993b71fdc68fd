//! What can go wrong, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ahma_contract::ServerAddress;

/// Why there is no connection to a server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its program cannot be started.
    #[error("`{program}` cannot be started: {error}")]
    Start {
        /// Which program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The directory it is to run in is not there.
    #[error("the directory {} that the server is to run in: {error}", .path.display())]
    Directory {
        /// Which directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It does not speak MCP, or ended.
    #[error("the server did not answer as an MCP server does: {what}{stderr}")]
    Protocol {
        /// What happened.
        what: String,
        /// The end of what it said on stderr, on lines of its own.
        stderr: String,
    },
    /// A URL leads to no server.
    #[error("{url} cannot be used: {what}")]
    Url {
        /// Without its key.
        url: String,
        /// What happened.
        what: String,
    },
    /// It did not answer.
    #[error("the server did not answer within {} seconds{stderr}", .timeout.as_secs())]
    Silent {
        /// How long was waited.
        timeout: Duration,
        /// The end of what it said on stderr, on lines of its own.
        stderr: String,
    },
}

impl ConnectError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ConnectError::Start { .. } => "is the program installed, and on the PATH?",
            ConnectError::Directory { .. } => "look at its `cwd`",
            ConnectError::Protocol { .. } => "run the command by hand and look at what it prints",
            ConnectError::Url { .. } => {
                "does the server run, and is the URL complete? a server started by ahma_mcp prints it, with its key"
            }
            ConnectError::Silent { .. } => "is it an MCP server?",
        }
    }
}

/// Why an `mcp.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}", path = .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not what it should be.
    #[error("{path}:{line}:{column}: {what}", path = .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// Where in the line.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It has no such server.
    #[error("{path} has no server `{name}`; it has {known}", path = .path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// Which server was asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// An entry of it is not what it should be.
    #[error("the server `{name}` of {path}: {what}", path = .path.display())]
    Entry {
        /// Which file.
        path: PathBuf,
        /// Which server.
        name: String,
        /// What is wrong.
        what: String,
    },
}

/// Why the server of a project is not found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// There is none.
    #[error("no server serves {} or a directory above it", .0.display())]
    None(PathBuf),
    /// There is no such directory.
    #[error("the current directory cannot be used: {0}")]
    Directory(io::Error),
    /// There is nothing that it could prove to know.
    #[error("{} names a server at {url}, but no token of it is known", .file.display())]
    NoToken {
        /// Which file.
        file: PathBuf,
        /// Where.
        url: String,
    },
    /// Its file is not what it should be.
    #[error("{}: {what}", .file.display())]
    Content {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It has gone and left its file.
    #[error("{} is left over: its server, process {pid}, is gone", .file.display())]
    Stale {
        /// Which file.
        file: PathBuf,
        /// Whose.
        pid: u32,
    },
    /// What answers at its address is another program.
    #[error("{} names a server at {address}, but {what}; nothing secret was sent to it", .file.display())]
    Unproven {
        /// Which file.
        file: PathBuf,
        /// Where.
        address: ServerAddress,
        /// What happened.
        what: String,
    },
}

//! What other servers go through, and where those that run are reached: what the engine has to know of it.

use std::sync::Arc;

use serde::Serialize;

/// Something that happened to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    /// The server, by its name here.
    pub server: Arc<str>,
    /// Whether it happened to the process of one session, not to the one for all.
    pub is_of_session: bool,
    /// What happened.
    pub kind: ServerEventKind,
}

/// What can happen to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEventKind {
    /// It runs and has answered.
    Started,
    /// It has said which tools it offers: for the first time since it was started, or others than before.
    ToolsUpdated {
        /// How many are known.
        tools: usize,
    },
    /// It was ended.
    Stopped {
        /// Why.
        why: &'static str,
    },
    /// It could not be started, or ended by itself.
    Error {
        /// Why.
        why: String,
    },
}

/// Where a server that runs is reached, in the form in which other programs name servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerConfig {
    /// How it is spoken to: `http`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its endpoint, without a query.
    pub url: String,
}

//! What the program that serves the tools contributes to every set of tool files.
//!
//! Plain data, passed in: tool files are checked the same way by the server and by programs that never serve.

use serde_json::{Map, Value};

use super::spec::ArgumentSpec;

/// What tool files are checked against beside each other.
#[derive(Debug, Clone, Default)]
pub struct ServerFacts {
    /// Tools of the server itself; no tool file may use their names, and sequences may call them.
    pub reserved: Vec<ReservedTool>,
    /// Parameters that every call takes and no command sees, as properties of a JSON Schema.
    pub call_parameters: Map<String, Value>,
    /// The same for calls that may start a service.
    pub service_parameters: Map<String, Value>,
    /// Whether a program is on this machine, where that is known: one that is not is worth a warning.
    pub has_program: Option<fn(&str) -> bool>,
    /// How an author finds out what a tool takes.
    pub how_to_list: &'static str,
}

/// A tool of the server itself.
#[derive(Debug, Clone)]
pub struct ReservedTool {
    /// Its name.
    pub name: &'static str,
    /// What it takes; none when it checks its arguments itself.
    pub arguments: Option<Vec<ArgumentSpec>>,
}

impl ServerFacts {
    /// The parameters of calls of a tool.
    pub(super) fn parameters(&self, allows_service: bool) -> &Map<String, Value> {
        match allows_service {
            true => &self.service_parameters,
            false => &self.call_parameters,
        }
    }

    pub(super) fn is_reserved(&self, name: &str) -> bool {
        self.reserved.iter().any(|tool| tool.name == name)
    }
}

//! One tool that is offered: its definition, and who runs it.

use std::sync::Arc;

use rmcp::model::Tool;

use super::foreign::ForeignTool;
use crate::config::ToolSpec;

/// A tool of any source.
#[derive(Debug, Clone)]
pub(crate) struct ToolEntry {
    /// As clients see it.
    pub definition: Arc<Tool>,
    /// With fields that the SDK does not know, where there are such; JSON text.
    pub whole: Option<Arc<str>>,
    /// Who runs it.
    pub runner: Runner,
    /// Whether it is known to be available. One whose check has not been made yet can be called all the same.
    pub is_available: bool,
    /// Whether it is listed; one that is not can be searched for, and called.
    pub is_listed: bool,
}

/// Who runs a tool.
#[derive(Debug, Clone)]
pub(crate) enum Runner {
    /// The server itself, by this name.
    BuiltIn(&'static str),
    /// A command that a tool file declares.
    Declared(Arc<ToolSpec>),
    /// Another server.
    Foreign(Arc<dyn ForeignTool>),
}

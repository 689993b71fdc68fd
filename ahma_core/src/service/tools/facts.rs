//! What the server contributes to the checks of tool files: its own tools, and the parameters that every call takes.

use super::NAMES;
use crate::config::{ReservedTool, ServerFacts};
use crate::service::call_parameters::{
    SHELL, call_parameters, service_parameters, shell_arguments,
};

/// What tool files are checked against: names of built-in tools, and parameters of every call.
///
/// ```
/// use ahma_core::config::{files::SourceFile, load};
///
/// let text = br#"{ "name": "wc", "description": "Counts.", "command": "wc" }"#;
/// let file = SourceFile { path: "wc.json".into(), content: Ok(text.to_vec()) };
/// let catalog = load(vec![file], &ahma_core::server_facts());
/// assert!(catalog.rejected.is_empty());
/// ```
pub fn server_facts() -> ServerFacts {
    let reserved = NAMES.map(|name| ReservedTool {
        name,
        arguments: (name == SHELL).then(shell_arguments),
    });
    ServerFacts {
        has_program: None,
        reserved: reserved.to_vec(),
        call_parameters: call_parameters(),
        service_parameters: service_parameters(),
        how_to_list: "`ahma_mcp --mode list-tools`",
    }
}

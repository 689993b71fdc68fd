//! Looking into the table of built-in tools.

use rmcp::model::Tool;

use super::built_in::BuiltIn;
use super::{BUILT_INS, NAMES};
use crate::service::call_parameters::SHELL;
use crate::service::context::CallStyle;

const SEND_INPUT: &str = "send_input";

/// The built-in tool of that name.
pub(in crate::service) fn find(name: &str) -> Option<&'static dyn BuiltIn> {
    let index = NAMES.iter().position(|it| *it == name)?;
    BUILT_INS.get(index).copied()
}

/// The built-in tools that are offered, each with its name, in the order they are listed.
pub(crate) fn definitions(style: CallStyle) -> Vec<(&'static str, Tool)> {
    let offered = NAMES.iter().zip(BUILT_INS);
    // Only scripts can be started with an input.
    let needs_shell = [SHELL, SEND_INPUT];
    let offered = offered.filter(|(name, _)| !(style.no_shell && needs_shell.contains(*name)));
    offered
        .map(|(name, tool)| (*name, tool.definition(style)))
        .collect()
}

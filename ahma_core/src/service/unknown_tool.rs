//! What is said of a tool that cannot be called: why it is not available here, or what was meant.

use std::fmt::Write as _;

use rmcp::ErrorData;

use super::respond::cut;
use crate::config::nearest;
use crate::registry::ToolSnapshot;

/// The protocol error for a call of a tool that is not offered.
pub(super) fn error(offered: &ToolSnapshot, name: &str) -> ErrorData {
    ErrorData::invalid_params(message(offered, name), None)
}

/// Why a tool is not offered, and what to do about it.
pub(super) fn message(offered: &ToolSnapshot, name: &str) -> String {
    let declared = offered.declared();
    let mut unavailable = declared.unavailable().iter();
    if let Some(tool) = unavailable.find(|it| it.name == name) {
        let mut message = format!("the tool `{name}` is not available here: its check failed");
        if let Some(how) = &tool.install_instructions {
            let _ = write!(message, "; {how}");
        }
        return message;
    }
    let mut unfitting = declared.unfitting();
    if let Some(tool) = unfitting.find(|it| it.name == name) {
        let files = tool.only_if.join(", ");
        return format!(
            "the tool `{name}` does not apply here: the project has none of these: {files}"
        );
    }
    if declared.disabled().iter().any(|it| *it == name) {
        return format!("the tool `{name}` is switched off by its file");
    }
    let mut message = format!("there is no tool `{}`", cut(name));
    if let Some(right) = nearest(name, offered.names()) {
        let _ = write!(message, "; did you mean `{right}`?");
    }
    message
}

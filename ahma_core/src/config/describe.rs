//! The texts a model reads about a tool. They describe; they give no orders.

use std::collections::BTreeMap;

use super::spec::ToolSpec;

/// Whether calls wait for their commands by default, as the operator decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// As each tool declares.
    AsDeclared,
    /// Every call waits.
    Always,
}

/// What is said of every tool that runs in the background.
pub const BACKGROUND_NOTE: &str = "Runs in the background: a call answers at once with an operation id, \
     the result comes later, and other work can go on meanwhile.";

/// The description as listed to clients: for a tool that runs in the background it says so.
pub fn listed_description(tool: &ToolSpec, waiting: Waiting) -> String {
    if tool.synchronous || waiting == Waiting::Always {
        tool.description.clone()
    } else {
        format!("{}\n\n{BACKGROUND_NOTE}", tool.description)
    }
}

/// The author's description, followed by the hints and the guidance that apply.
pub(super) fn with_hints(
    description: &str,
    hints: &BTreeMap<String, String>,
    guidance_key: Option<&str>,
) -> String {
    let mut text = description.trim().to_owned();
    if !hints.is_empty() {
        text.push_str("\n\nHints:");
        for (topic, advice) in hints {
            text.push_str(&format!("\n- {topic}: {advice}"));
        }
    }
    if let Some(key) = guidance_key {
        text.push_str(&format!("\n\nGuidance: {key}"));
    }
    text
}

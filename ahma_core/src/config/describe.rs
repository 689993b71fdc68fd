//! The description of a tool: the author's words, with hints and guidance. It describes; it gives no orders.

use std::collections::BTreeMap;

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

//! What a model reads about a tool.

use ahma_core::internal::definition;
use serde_json::json;

use crate::{tool, tools_of};

const NOTE: &str = "Runs in the background: the result may come later, and other work can go on.";

/// Proves: O6.
#[test]
fn only_tools_that_run_in_the_background_say_so() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "subcommand": [
            { "name": "long", "description": "Takes long." },
            { "name": "short", "description": "Is short.", "synchronous": true }
        ]
    }));
    let long = tool(&tools, "t_long");
    let short = tool(&tools, "t_short");
    let expected = format!("Takes long.\n\n{NOTE}");
    let said = |tool, always_sync| definition(tool, always_sync).description.unwrap();
    assert_eq!(said(&long, false), expected);
    assert_eq!(said(&long, true), "Takes long.");
    assert_eq!(said(&short, false), "Is short.");
}

#[test]
fn hints_and_guidance_are_shown_after_the_description() {
    let tools = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "guidance_key": "builds",
        "hints": { "speed": "Slow at first.", "tests": "Runs none." },
        "subcommand": [{ "name": "s", "description": "S.", "hints": { "tests": "Runs all." } }]
    }));
    assert_eq!(
        tools[0].description,
        "S.\n\nHints:\n- speed: Slow at first.\n- tests: Runs all.\n\nGuidance: builds"
    );
}

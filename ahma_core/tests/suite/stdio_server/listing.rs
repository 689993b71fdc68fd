//! The list of tools as a client gets it.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::{Served, modern, unspoken_to};

fn project() -> Workspace {
    let project = Workspace::new();
    let tool = json!({
        "name": "weather", "title": "Weather", "description": "Tells the weather.", "command": "weather",
        "annotations": { "read_only": true, "open_world": true },
        "options": [{
            "name": "days", "type": "integer", "minimum": 1, "maximum": 7, "default": 1,
            "description": "How many days."
        }],
        "positional_args": [{
            "name": "place", "type": "string", "required": true, "description": "Where."
        }]
    });
    project.write(".ahma/tools/weather.json", tool.to_string());
    project
}

/// Proves: P19.
#[test]
fn the_list_is_what_clients_rely_on() {
    let mut served = Served::of(project(), &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let text = serde_json::to_string_pretty(&listed["result"]).unwrap();
    insta::assert_snapshot!("tools_list", text);
}

/// Proves: P19.
#[test]
fn both_lifecycles_list_the_same_tools_in_the_same_order() {
    let mut served = Served::of(project(), &[]);
    let older = served.client.request("tools/list", &json!({}));
    let project = project();
    let mut client = unspoken_to(&project);
    let newer = client.request("tools/list", &modern(json!({})));
    let tools = |answer: &Value| answer["result"]["tools"].clone();
    assert_eq!(tools(&older), tools(&newer));
    let again = client.request("tools/list", &modern(json!({})));
    assert_eq!(tools(&newer), tools(&again));
}

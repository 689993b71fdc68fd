//! What calls take: the parameters of every call, and the arguments of the shell.
//!
//! Plain data, without the feature `server` too: a tool file is checked the same way wherever it is checked.

use serde_json::{Map, Value, json};

use crate::config::{
    ArgumentSpec, Delivery, EXECUTION_MODES, SERVICE_MODE, ScalarKind, ScalarSpec, TIMEOUT_SECONDS,
    ValueSpec,
};

/// The tool that runs scripts.
pub(super) const SHELL: &str = "sandboxed_shell";

/// What a call of the shell takes, besides the parameters of every call. Described like the arguments of a declared
/// tool, because steps of sequences are checked against it.
pub(super) fn shell_arguments() -> Vec<ArgumentSpec> {
    vec![
        text("command", "The script.", true),
        text("stdin", "Standard input of the script.", false),
        ArgumentSpec {
            values: ValueSpec::Boolean,
            ..text("input", "true: `send_input` can write to it.", false)
        },
    ]
}

fn text(name: &str, description: &str, required: bool) -> ArgumentSpec {
    ArgumentSpec {
        name: name.to_owned(),
        alias: None,
        description: Some(description.to_owned()),
        values: ValueSpec::One(ScalarSpec {
            kind: ScalarKind::String,
            allowed: Vec::new(),
            minimum: None,
            maximum: None,
            pattern: None,
            is_path: false,
        }),
        required,
        default: None,
        allow_dash: true,
        // Neither is a word of a command line: a script may hold anything.
        delivery: Delivery::Stdin,
        negated_flag: None,
        conflicts_with: Vec::new(),
        requires: Vec::new(),
        complete: None,
    }
}

/// Parameters that steer a call and are never passed on to its command.
pub(super) fn call_parameters() -> Map<String, Value> {
    parameters(&EXECUTION_MODES)
}

/// The same for calls that may start a service.
pub(super) fn service_parameters() -> Map<String, Value> {
    let mut modes = EXECUTION_MODES.to_vec();
    modes.push(SERVICE_MODE);
    let mut parameters = parameters(&modes);
    parameters.insert(
        "ready".into(),
        json!({
            "type": "object",
            "properties": {
                "port": { "type": "integer", "minimum": 1, "maximum": u16::MAX },
                "pattern": { "type": "string" }
            },
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false
        }),
    );
    parameters
}

/// Without descriptions: they are in every tool of every list. The server's instructions explain them once.
fn parameters(modes: &[&str]) -> Map<String, Value> {
    let mut parameters = Map::new();
    parameters.insert("working_directory".into(), json!({ "type": "string" }));
    parameters.insert(
        "execution_mode".into(),
        json!({ "type": "string", "enum": modes }),
    );
    let (least, most) = (TIMEOUT_SECONDS.start(), TIMEOUT_SECONDS.end());
    parameters.insert(
        "timeout_seconds".into(),
        json!({ "type": "integer", "minimum": least, "maximum": most }),
    );
    parameters
}

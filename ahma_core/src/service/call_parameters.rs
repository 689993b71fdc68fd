//! What calls take: the parameters of every call, and the arguments of the shell.
//!
//! Plain data, without the feature `server` too: a tool file is checked the same way wherever it is checked.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::config::{
    ArgumentSpec, Delivery, EXECUTION_MODES, ScalarKind, ScalarSpec, TIMEOUT_SECONDS, ValueSpec,
};

/// The tool that runs scripts.
pub(super) const SHELL: &str = "sandboxed_shell";

/// How long an `auto` call waits before it goes on in the background.
pub(super) const AUTO_WAIT: Duration = Duration::from_secs(10);

/// What a call of the shell takes, besides the parameters of every call. Described like the arguments of a declared
/// tool, because steps of sequences are checked against it.
pub(super) fn shell_arguments() -> Vec<ArgumentSpec> {
    vec![
        text("command", "The script.", true),
        text("stdin", "What the script reads from standard input.", false),
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
    }
}

/// Parameters that steer a call and are never passed on to its command.
pub(super) fn call_parameters() -> Map<String, Value> {
    let modes = format!(
        "async: answer at once with an operation id. sync: answer with the result. auto: wait up to {} seconds, \
         then go on in the background.",
        AUTO_WAIT.as_secs()
    );
    let mut parameters = Map::new();
    parameters.insert(
        "working_directory".into(),
        json!({
            "type": "string",
            "description": "Directory to run in, inside the sandbox scope. Default: the scope."
        }),
    );
    parameters.insert(
        "execution_mode".into(),
        json!({ "type": "string", "enum": EXECUTION_MODES, "description": modes }),
    );
    parameters.insert(
        "timeout_seconds".into(),
        json!({
            "type": "integer",
            "minimum": TIMEOUT_SECONDS.start(),
            "maximum": TIMEOUT_SECONDS.end(),
            "description": "The command is stopped after this many seconds."
        }),
    );
    parameters
}

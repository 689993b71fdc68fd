//! The arguments of the built-in `sandboxed_shell`, described like those of any tool: sequences call
//! it by them, and the server lists and checks it by them.

use super::spec::{ArgumentSpec, Delivery, ScalarKind, ScalarSpec, ValueSpec};

/// What a call of `sandboxed_shell` takes, besides the meta parameters.
pub fn shell_arguments() -> Vec<ArgumentSpec> {
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

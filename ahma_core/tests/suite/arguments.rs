//! How each kind of argument reaches the command.

use ahma_core::config::{Action, ArgumentSpec, Delivery, Flag, ScalarKind, Separator, ValueSpec};
use serde_json::{Value, json};

use crate::tools_of;

fn option(option: &Value) -> ArgumentSpec {
    let tool = json!({ "name": "t", "description": "T.", "command": "t", "options": [option] });
    tools_of(&tool).remove(0).arguments.remove(0)
}

fn flag(text: &str, joined: bool) -> Delivery {
    Delivery::Flag(Flag {
        text: text.to_owned(),
        joined,
    })
}

#[test]
fn a_long_flag_takes_its_value_joined_a_short_one_apart() {
    let long = option(&json!({ "name": "message", "type": "string" }));
    assert_eq!(long.delivery, flag("--message", true));
    let short = option(&json!({ "name": "message", "type": "string", "flag": "-m" }));
    assert_eq!(short.delivery, flag("-m", false));
    let one_dash = option(&json!({ "name": "name", "type": "string", "flag": "-name" }));
    assert_eq!(one_dash.delivery, flag("-name", false));
}

#[test]
fn value_style_overrides_the_form() {
    let apart = option(&json!({ "name": "a", "type": "string", "value_style": "separate" }));
    assert_eq!(apart.delivery, flag("--a", false));
    let joined =
        option(&json!({ "name": "a", "type": "string", "flag": "-a", "value_style": "equals" }));
    assert_eq!(joined.delivery, flag("-a", true));
}

#[test]
fn a_file_argument_uses_its_own_flag_or_that_of_the_option() {
    let own = option(&json!({ "name": "message", "type": "string", "flag": "-m",
                             "file_arg": true, "file_flag": "-F" }));
    assert_eq!(
        own.delivery,
        Delivery::File(Some(Flag {
            text: "-F".into(),
            joined: false
        }))
    );
    let same = option(&json!({ "name": "body-file", "type": "string", "file_arg": true }));
    let expected = Flag {
        text: "--body-file".into(),
        joined: true,
    };
    assert_eq!(same.delivery, Delivery::File(Some(expected)));
}

#[test]
fn a_value_can_be_the_standard_input() {
    let patch = option(&json!({ "name": "patch", "type": "string", "stdin": true }));
    assert_eq!(patch.delivery, Delivery::Stdin);
}

/// Proves: T8.
#[test]
fn types_limits_and_formats_are_kept() {
    let level = option(
        &json!({ "name": "level", "type": "integer", "minimum": 1, "maximum": 9,
                               "default": 6, "alias": "l", "description": "How hard." }),
    );
    let ValueSpec::One(scalar) = &level.values else {
        panic!("{level:?}")
    };
    assert_eq!(
        (scalar.kind, scalar.minimum, scalar.maximum),
        (ScalarKind::Integer, Some(1.0), Some(9.0))
    );
    assert_eq!(level.default, Some(json!(6)));
    assert_eq!(level.alias.as_deref(), Some("l"));
    assert_eq!(level.description.as_deref(), Some("How hard."));

    let paths = option(&json!({ "name": "paths", "type": "array",
                               "items": { "type": "string", "format": "path" } }));
    let ValueSpec::Many(scalar) = &paths.values else {
        panic!("{paths:?}")
    };
    assert_eq!((scalar.kind, scalar.is_path), (ScalarKind::String, true));
}

#[test]
fn positionals_follow_the_options_unless_the_file_says_otherwise() {
    for first in [false, true] {
        let tool = tools_of(&json!({
            "name": "t", "description": "T.", "command": "t", "positional_args_first": first,
            "options": [{ "name": "o", "type": "boolean" }],
            "positional_args": [{ "name": "p", "type": "string", "allow_dash": true }]
        }))
        .remove(0);
        let Action::Run(line) = &tool.action else {
            panic!("{tool:?}")
        };
        assert_eq!(
            (line.positionals_first, line.end_of_options),
            (first, false)
        );
        let names: Vec<_> = tool
            .arguments
            .iter()
            .map(|argument| argument.name.as_str())
            .collect();
        assert_eq!(names, ["o", "p"]);
        assert_eq!(
            tool.arguments[1].delivery,
            Delivery::Positional(Separator::None)
        );
        assert!(tool.arguments[1].allow_dash);
    }
}

/// Proves: T36.
#[test]
fn dashes_can_stand_before_all_positionals_or_before_one() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t", "end_of_options": true,
        "positional_args": [{ "name": "p", "type": "string" }]
    }))
    .remove(0);
    let Action::Run(line) = &tool.action else {
        panic!("{tool:?}")
    };
    assert!(line.end_of_options);
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "positional_args": [{ "name": "revisions", "type": "array" },
                            { "name": "paths", "type": "array", "end_of_options": true }]
    }))
    .remove(0);
    let deliveries: Vec<_> = tool
        .arguments
        .iter()
        .map(|argument| &argument.delivery)
        .collect();
    assert_eq!(
        deliveries,
        [
            &Delivery::Positional(Separator::None),
            &Delivery::Positional(Separator::Dashes)
        ]
    );
}

//! Arguments of a call are judged against the tool, and the message names what would be right.

use ahma_core::config::{ToolSpec, check_arguments};
use serde_json::{Value, json};

use crate::tools_of;

fn demo() -> ToolSpec {
    tools_of(&json!({
        "name": "demo", "description": "D.", "command": "demo",
        "options": [
            { "name": "level", "type": "integer", "minimum": 1, "maximum": 9 },
            { "name": "mode", "type": "string", "enum": ["fast", "slow"] },
            { "name": "quiet", "type": "boolean", "alias": "q" },
            { "name": "tag", "type": "string", "pattern": "^v[0-9]+$" },
            { "name": "ratio", "type": "number" },
            { "name": "ids", "type": "array", "items": { "type": "integer" } }
        ],
        "positional_args": [
            { "name": "target", "type": "string", "required": true, "description": "What to do." }
        ]
    }))
    .remove(0)
}

fn faults(arguments: &Value) -> Vec<String> {
    let mut arguments = arguments.as_object().unwrap().clone();
    arguments.entry("target").or_insert_with(|| "x".into());
    messages(&arguments)
}

fn messages(arguments: &serde_json::Map<String, Value>) -> Vec<String> {
    check_arguments(&demo(), arguments)
        .into_iter()
        .map(|fault| fault.message)
        .collect()
}

/// Proves: T33.
#[test]
fn a_correct_call_has_no_fault() {
    let call = json!({
        "level": 9, "mode": "fast", "q": true, "tag": "v12", "ratio": 0.5, "ids": [1, 2.0],
        "working_directory": "src", "execution_mode": "sync", "timeout_seconds": 5.0
    });
    assert_eq!(faults(&call), Vec::<String>::new());
}

/// Proves: T8.
#[test]
fn each_wrong_argument_is_named_with_what_was_expected() {
    for (call, expected) in [
        (json!({ "level": 10 }), "10 is above the maximum 9"),
        (json!({ "level": 0 }), "0 is below the minimum 1"),
        (
            json!({ "level": 1.5 }),
            "expected a whole number, found 1.5",
        ),
        (
            json!({ "level": "3" }),
            "expected a whole number, found \"3\"",
        ),
        (
            json!({ "mode": "quick" }),
            "\"quick\" is not one of \"fast\", \"slow\"",
        ),
        (
            json!({ "quiet": "false" }),
            "expected `true` or `false`, found \"false\"",
        ),
        (
            json!({ "tag": "12" }),
            "\"12\" does not match the pattern `^v[0-9]+$`",
        ),
        (json!({ "ids": 1 }), "expected an array, found 1"),
        (
            json!({ "ids": [1, "2"] }),
            "element 1: expected a whole number, found \"2\"",
        ),
        (
            json!({ "target": "v1\u{0}" }),
            "a command-line argument cannot hold a NUL character",
        ),
        (
            json!({ "quiet": true, "q": true }),
            "`q` is another name of `quiet`, which is given too",
        ),
        (json!({ "mode": null }), "expected a string, found null"),
        (
            json!({ "working_directory": 1 }),
            "expected a string, found 1",
        ),
        (
            json!({ "execution_mode": "later" }),
            "expected \"async\", \"sync\", \"auto\", found \"later\"",
        ),
        (
            json!({ "timeout_seconds": 0 }),
            "expected a whole number from 1 to 86400, found 0",
        ),
        (
            json!({ "timeout_seconds": 86_401 }),
            "expected a whole number from 1 to 86400, found 86401",
        ),
    ] {
        assert_eq!(faults(&call), [expected], "{call}");
    }
}

#[test]
fn an_unknown_argument_gets_a_suggestion() {
    let mut call = serde_json::Map::new();
    call.insert("target".into(), "x".into());
    call.insert("levle".into(), 3.into());
    let faults = check_arguments(&demo(), &call);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].argument, "levle");
    assert_eq!(faults[0].message, "`demo` has no argument `levle`");
    assert_eq!(faults[0].hint.as_deref(), Some("did you mean `level`?"));
}

#[test]
fn a_missing_required_argument_is_explained_by_its_description() {
    let faults = check_arguments(&demo(), &serde_json::Map::new());
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].message, "the argument `target` is required");
    assert_eq!(faults[0].hint.as_deref(), Some("What to do."));
}

/// Proves: T38.
#[test]
fn a_required_array_needs_an_element() {
    let tool = tools_of(&json!({
        "name": "add", "description": "A.", "command": "add",
        "positional_args": [{ "name": "paths", "type": "array", "required": true }]
    }))
    .remove(0);
    let call = json!({ "paths": [] });
    let faults = check_arguments(&tool, call.as_object().unwrap());
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].message, "at least one element is required");
}

/// Proves: T35.
#[test]
fn a_value_that_could_be_read_as_a_flag_is_refused() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "options": [
            { "name": "joined", "type": "string" },
            { "name": "apart", "type": "string", "flag": "-a" },
            { "name": "number", "type": "integer", "flag": "-n" }
        ],
        "positional_args": [
            { "name": "words", "type": "array" },
            { "name": "free", "type": "array", "allow_dash": true, "end_of_options": true }
        ]
    }))
    .remove(0);
    let check = |call: &Value| -> Vec<String> {
        let faults = check_arguments(&tool, call.as_object().unwrap());
        faults.into_iter().map(|fault| fault.message).collect()
    };
    assert_eq!(
        check(&json!({ "joined": "-x", "free": ["-x"] })),
        Vec::<String>::new()
    );
    let refused = |value: &str| {
        vec![format!(
            "{value} begins with `-` and could be read as a flag"
        )]
    };
    assert_eq!(check(&json!({ "apart": "-x" })), refused("\"-x\""));
    assert_eq!(check(&json!({ "number": -3 })), refused("-3"));
    assert_eq!(
        check(&json!({ "words": ["a", "--output=x"] })),
        refused("\"--output=x\"")
    );
}

/// Proves: T36.
#[test]
fn a_positional_does_not_slide_into_the_place_of_one_left_out() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "positional_args": [
            { "name": "upstream", "type": "string" },
            { "name": "branch", "type": "string" },
            { "name": "paths", "type": "array", "end_of_options": true }
        ]
    }))
    .remove(0);
    let check = |call: &Value| check_arguments(&tool, call.as_object().unwrap());
    for right in [
        json!({}),
        json!({ "upstream": "main" }),
        json!({ "upstream": "main", "branch": "b" }),
        json!({ "paths": ["a"] }),
        json!({ "upstream": "main", "paths": ["a"] }),
    ] {
        assert_eq!(check(&right), [], "{right}");
    }
    let faults = check(&json!({ "branch": "b" }));
    assert_eq!(faults.len(), 1);
    assert_eq!(
        faults[0].message,
        "`branch` needs `upstream`, which stands before it on the command line"
    );
}

/// Proves: T38.
#[test]
fn an_empty_array_counts_as_not_given() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "positional_args": [{ "name": "a", "type": "array" }, { "name": "b", "type": "string" }]
    }))
    .remove(0);
    let faults = check_arguments(&tool, json!({ "a": [], "b": "x" }).as_object().unwrap());
    assert_eq!(faults.len(), 1);
    assert_eq!(
        faults[0].message,
        "`b` needs `a`, which stands before it on the command line"
    );
}

/// Proves: H20.
#[test]
fn very_many_wrong_arguments_are_told_in_part() {
    let many = (0..50_000).map(|number| (format!("k{number}"), json!(1)));
    let faults = check_arguments(&demo(), &many.collect());
    assert_eq!(faults.len(), 21);
    let last = &faults[20].message;
    assert!(last.contains("49980 further arguments"), "{last}");
    let long = "x".repeat(1_000_000);
    let faults = check_arguments(&demo(), &[(long, json!(1))].into_iter().collect());
    assert!(faults[0].message.len() + faults[0].argument.len() < 1000);
}

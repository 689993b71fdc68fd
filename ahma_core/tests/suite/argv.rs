//! What a call becomes on the command line: every value one word, none of them a flag.

use std::path::{Path, PathBuf};

use ahma_core::config::{ToolSpec, check_arguments};
use ahma_core::internal::command_line::{Arg, BuiltCommand, PathContext, build};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools_of;

fn built(tool: &ToolSpec, call: &Value) -> Result<BuiltCommand, Vec<String>> {
    let roots = [PathBuf::from("/project"), PathBuf::from("/granted")];
    let context = PathContext {
        working_directory: Path::new("/project/sub"),
        roots: &roots,
    };
    let call = call.as_object().unwrap();
    let mut faults = check_arguments(tool, call);
    let built = build(tool, call, context);
    faults.extend(built.as_ref().err().cloned().unwrap_or_default());
    match built {
        Ok(built) if faults.is_empty() => Ok(built),
        _ => Err(faults.into_iter().map(|fault| fault.message).collect()),
    }
}

fn words(tool: &ToolSpec, call: &Value) -> Vec<String> {
    let command = built(tool, call).unwrap_or_else(|faults| panic!("{call}: {faults:?}"));
    command
        .words
        .into_iter()
        .map(|word| match word {
            Arg::Text(text) => text,
            Arg::File { prefix, content } => format!("{prefix}<{content}>"),
        })
        .collect()
}

fn git_commit() -> ToolSpec {
    tools_of(&json!({
        "name": "git", "description": "G.", "command": "git", "fixed_args": ["--no-pager"],
        "subcommand": [{
            "name": "commit", "description": "C.", "end_of_options": true,
            "options": [
                { "name": "message", "type": "string", "alias": "m" },
                { "name": "all", "type": "boolean" },
                { "name": "quiet", "type": "boolean", "default": true },
                { "name": "level", "type": "integer", "flag": "-l" },
                { "name": "trailer", "type": "array" },
                { "name": "include", "type": "array", "flag": "-i" },
                { "name": "body", "type": "string", "file_arg": true, "file_flag": "-F" },
                { "name": "template", "type": "string", "file_arg": true },
                { "name": "patch", "type": "string", "stdin": true }
            ],
            "positional_args": [
                { "name": "paths", "type": "array", "items": { "type": "string", "format": "path" } }
            ]
        }]
    }))
    .remove(0)
}

/// Proves: T33.
#[test]
fn each_kind_of_argument_takes_its_form() {
    let tool = git_commit();
    let start = ["git", "--no-pager", "commit"];
    for (call, expected) in [
        (json!({}), vec!["--quiet"]),
        (json!({ "quiet": false }), vec![]),
        (
            json!({ "message": "two words", "quiet": false }),
            vec!["--message=two words"],
        ),
        (
            json!({ "m": "by alias", "quiet": false }),
            vec!["--message=by alias"],
        ),
        (
            json!({ "message": "-x", "quiet": false }),
            vec!["--message=-x"],
        ),
        (json!({ "all": true }), vec!["--all", "--quiet"]),
        (json!({ "level": 3.0, "quiet": false }), vec!["-l", "3"]),
        (
            json!({ "trailer": ["a", "b"], "quiet": false }),
            vec!["--trailer=a", "--trailer=b"],
        ),
        (
            json!({ "include": ["a", "b"], "quiet": false }),
            vec!["-i", "a", "-i", "b"],
        ),
        (
            json!({ "trailer": [], "paths": [], "quiet": false }),
            vec![],
        ),
        (
            json!({ "body": "text", "quiet": false }),
            vec!["-F", "<text>"],
        ),
        (
            json!({ "template": "text", "quiet": false }),
            vec!["--template=<text>"],
        ),
        (
            json!({ "paths": ["a", "b"], "quiet": false }),
            vec!["--", "a", "b"],
        ),
    ] {
        assert_eq!(
            words(&tool, &call),
            [start.as_slice(), &expected].concat(),
            "{call}"
        );
    }
}

/// Proves: T17.
#[test]
fn meta_parameters_are_never_passed_on() {
    let call = json!({
        "quiet": false, "working_directory": "x", "execution_mode": "sync", "timeout_seconds": 5
    });
    assert_eq!(words(&git_commit(), &call), ["git", "--no-pager", "commit"]);
}

#[test]
fn standard_input_is_apart_from_the_words() {
    let command = built(&git_commit(), &json!({ "patch": "diff", "quiet": false })).unwrap();
    assert_eq!(command.input.as_deref(), Some("diff"));
    assert_eq!(command.words.len(), 3);
}

#[test]
fn dashes_stand_before_the_argument_that_asks_for_them() {
    let tool = tools_of(&json!({
        "name": "diff", "description": "D.", "command": "git", "fixed_args": ["diff"],
        "options": [{ "name": "stat", "type": "boolean" }],
        "positional_args": [{ "name": "revisions", "type": "array" },
                            { "name": "paths", "type": "array", "end_of_options": true }]
    }))
    .remove(0);
    for (call, expected) in [
        (
            json!({ "stat": true, "revisions": ["a", "b"] }),
            "git diff --stat a b",
        ),
        (json!({ "paths": ["p"] }), "git diff -- p"),
        (
            json!({ "revisions": ["a"], "paths": ["p", "q"] }),
            "git diff a -- p q",
        ),
    ] {
        assert_eq!(words(&tool, &call).join(" "), expected, "{call}");
    }
}

#[test]
fn positionals_can_come_first() {
    let tool = tools_of(&json!({
        "name": "find", "description": "F.", "command": "find", "positional_args_first": true,
        "options": [{ "name": "name", "type": "string", "flag": "-name", "allow_dash": true }],
        "positional_args": [{ "name": "paths", "type": "array", "default": ["."] }]
    }))
    .remove(0);
    assert_eq!(
        words(&tool, &json!({ "name": "-x*" })),
        ["find", ".", "-name", "-x*"]
    );
    assert_eq!(
        words(&tool, &json!({ "paths": [], "name": "x" })),
        ["find", ".", "-name", "x"]
    );
}

#[test]
fn paths_must_lie_in_the_scope_or_a_grant() {
    let tool = git_commit();
    let paths = |paths: &[&str]| json!({ "paths": paths, "quiet": false });
    for inside in [
        "a",
        "./a/../b",
        "..",
        "../x",
        "/project",
        "/project/a b",
        "/granted/x",
    ] {
        assert!(built(&tool, &paths(&[inside])).is_ok(), "{inside}");
    }
    for outside in [
        "../..",
        "../../etc/passwd",
        "/etc/passwd",
        "/projects",
        "/",
        "/project/../etc",
    ] {
        let expected = vec![format!("the path {outside:?} is outside the sandbox")];
        assert_eq!(
            built(&tool, &paths(&["a", outside])).unwrap_err(),
            expected,
            "{outside}"
        );
    }
}

#[test]
fn everything_wrong_is_told_at_once() {
    let call = json!({ "level": "x", "nosuch": 1, "paths": ["/etc"] });
    let faults = built(&git_commit(), &call).unwrap_err();
    assert_eq!(faults.len(), 3, "{faults:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a value holds, it stays one word in its place, or the call is refused.
    ///
    /// Proves: T35.
    #[test]
    fn a_value_is_never_more_than_one_word(text in "\\PC{0,40}|[-;$`\"'|&<>(){} \n\t*?!~]{1,20}") {
        let tool = git_commit();
        let joined = words_or_refusal(&tool, &json!({ "message": text, "quiet": false }));
        if let Some(words) = joined {
            prop_assert_eq!(&words[3..], [format!("--message={text}")]);
        }
        let call = json!({ "include": [text], "quiet": false });
        match words_or_refusal(&tool, &call) {
            Some(words) => {
                prop_assert!(!text.starts_with('-'));
                prop_assert_eq!(&words[3..], ["-i".to_owned(), text]);
            }
            None => prop_assert!(text.starts_with('-')),
        }
    }
}

fn words_or_refusal(tool: &ToolSpec, call: &Value) -> Option<Vec<String>> {
    built(tool, call).is_ok().then(|| words(tool, call))
}

/// Proves: T55.
#[test]
fn a_boolean_that_is_false_passes_its_negated_flag_and_only_then() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "options": [{ "name": "color", "type": "boolean", "negated_flag": "--no-color" }]
    }))
    .remove(0);
    assert_eq!(words(&tool, &json!({})), ["t"]);
    assert_eq!(words(&tool, &json!({ "color": true })), ["t", "--color"]);
    assert_eq!(
        words(&tool, &json!({ "color": false })),
        ["t", "--no-color"]
    );
}

/// Proves: T55.
#[test]
fn an_argument_can_become_a_variable_instead_of_a_word() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "options": [
            { "name": "level", "type": "integer", "env": "LEVEL" },
            { "name": "name", "type": "string", "env": "NAME" }
        ]
    }))
    .remove(0);
    let command = built(&tool, &json!({ "level": 3.0, "name": "-x y" })).unwrap();
    assert_eq!(command.words, [Arg::from("t")]);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(command.env, [own("LEVEL", "3"), own("NAME", "-x y")]);
    let refused = built(&tool, &json!({ "name": "a\u{0}b" })).unwrap_err();
    assert!(refused[0].contains("NUL"), "{refused:?}");
}

/// Proves: T54.
#[test]
fn arguments_that_exclude_or_need_each_other_are_told() {
    let tool = tools_of(&json!({
        "name": "t", "description": "T.", "command": "t",
        "options": [
            { "name": "up", "type": "boolean", "conflicts_with": ["down"], "alias": "u" },
            { "name": "down", "type": "boolean" },
            { "name": "by", "type": "integer", "requires_arguments": ["up"] },
            { "name": "files", "type": "array", "conflicts_with": ["by"] }
        ]
    }))
    .remove(0);
    for call in [
        json!({ "up": true }),
        json!({ "down": true }),
        json!({ "up": true, "down": false }),
        json!({ "up": true, "by": 2 }),
        json!({ "u": true, "by": 2, "files": [] }),
        json!({}),
    ] {
        assert!(built(&tool, &call).is_ok(), "{call}");
    }
    for (call, why) in [
        (
            json!({ "up": true, "down": true }),
            "cannot be given together with `down`",
        ),
        (
            json!({ "u": true, "down": true }),
            "cannot be given together with `down`",
        ),
        (json!({ "by": 2 }), "it needs `up`, which is not given"),
        (
            json!({ "by": 2, "up": false }),
            "it needs `up`, which is not given",
        ),
        (
            json!({ "up": true, "by": 2, "files": ["a"] }),
            "together with `by`",
        ),
    ] {
        let faults = built(&tool, &call).unwrap_err();
        assert!(
            faults.len() == 1 && faults[0].contains(why),
            "{call}: {faults:?}"
        );
    }
    // A client reads it where it reads the rest.
    let schema = json!(tool.input_schema.as_ref());
    assert_eq!(
        schema["properties"]["up"]["description"],
        "Not together with `down`."
    );
    assert_eq!(schema["properties"]["by"]["description"], "Only with `up`.");
}

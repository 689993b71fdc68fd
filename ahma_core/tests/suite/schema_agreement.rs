//! The published schema and the loader probe alike: what the loader accepts the schema accepts, and
//! what it rejects the schema rejects, but for the rules listed here. They are beyond a schema, or
//! would need conditional schemas, whose messages in an editor help nobody.

use std::fs;
use std::path::PathBuf;

use ahma_core::config::files::read_file;
use ahma_core::config::{load, tool_file_schema};
use ahma_tests::{fixtures, shipped_tools, stem};
use jsonschema::Validator;
use serde_json::Value;

/// Broken fixtures that the schema accepts, by the reason why.
const LEFT_TO_THE_LOADER: [(&str, &[&str]); 7] = [
    (
        "a schema sees parsed values, not repeated keys",
        &[
            "duplicate-key",
            "duplicate-key-in-env",
            "wrong-first-of-two-equal-keys",
        ],
    ),
    (
        "content of texts: characters, command lines, paths, expressions, meaning of names",
        &[
            "availability-with-an-open-quote",
            "blank-description",
            "command-line-as-command",
            "complete-args-without-command",
            "complete-of-a-boolean",
            "complete-of-nothing",
            "complete-of-two-kinds",
            "env-sets-bash-env",
            "env-sets-git-ssh-command",
            "env-sets-ld-preload",
            "env-sets-node-options",
            "env-sets-path",
            "argument-env-sets-ld-preload",
            "env-sets-pythonstartup",
            "env-with-a-bad-name",
            "invalid-regex",
            "nul-in-command",
            "nul-in-fixed-args",
            "only-if-outside",
            "step-skip-path-outside",
            "env-sets-makeflags",
            "env-sets-rustflags",
            "flag-of-dashes-only",
            "pattern-clients-do-not-understand",
            "pattern-too-large",
            "pattern-too-long",
            "pipe-in-command",
        ],
    ),
    (
        "one field depends on another",
        &[
            "boolean-positional",
            "default-above-maximum",
            "default-beside-required",
            "default-of-wrong-type",
            "default-outside-its-enum",
            "enum-of-wrong-type",
            "enum-on-an-array",
            "file-arg-on-a-number",
            "file-flag-without-file-arg",
            "flag-on-a-positional",
            "items-on-a-string",
            "minimum-above-maximum",
            "options-beside-subcommands",
            "pattern-on-a-number",
            "read-only-and-destructive",
            "sequence-beside-a-command",
            "sequence-missing",
            "sequence-with-options",
            "step-naming-nothing",
            "step-without-tool",
            "value-style-on-a-boolean",
            "argument-env-beside-a-flag",
            "argument-env-of-a-positional",
            "argument-env-of-an-array",
            "negated-flag-of-a-string",
            "command-beside-a-sequence",
            "default-beginning-with-a-dash",
            "end-of-options-on-a-sequence",
            "end-of-options-on-an-option",
            "enum-value-beginning-with-a-dash",
            "enum-value-beyond-the-maximum",
            "file-content-as-a-path",
            "options-behind-dashes",
            "step-always-skipped",
            "stdin-with-a-flag",
            "input-schema-beside-options",
            "input-schema-beside-subcommands",
            "input-schema-of-a-sequence",
            "mime-type-of-another-kind",
            "mime-type-of-json",
            "output-of-a-sequence",
            "output-schema-of-an-image",
            "output-schema-of-text",
            "stdin-beside-events",
            "task-never-beside-an-output-schema",
        ],
    ),
    (
        "what a schema in the file says",
        &[
            "input-schema-of-an-array",
            "input-schema-that-is-none",
            "input-schema-that-refers-elsewhere",
            "input-schema-without-type",
            "output-schema-of-an-array",
            "output-schema-that-is-none",
            "output-schema-that-refers-elsewhere",
            "output-schema-that-refers-to-nothing",
            "output-schema-too-large",
            "output-schema-with-a-broken-pattern",
        ],
    ),
    (
        "counts and uniqueness across elements",
        &[
            "alias-taken",
            "conflict-of-a-required-argument",
            "conflict-with-a-default",
            "conflict-with-itself",
            "conflict-with-nobody",
            "requires-nobody",
            "requires-what-it-excludes",
            "duplicate-option",
            "required-positional-behind-an-optional-one",
            "two-arguments-on-stdin",
            "too-many-allowed-values",
            "too-many-arguments",
            "too-many-patterns",
            "too-many-steps",
            "too-many-tools",
        ],
    ),
    (
        "names built from several levels, and names taken",
        &[
            "built-in-name",
            "duplicate-tool-in-one-file",
            "full-name-of-70-characters",
            "header-mark-of-a-list",
            "header-mark-that-is-no-name",
            "header-mark-twice",
            "huge-number",
            "option-named-like-a-meta-parameter",
        ],
    ),
    (
        "steps refer to other tools",
        &[
            "cycle-of-one",
            "step-to-a-disabled-tool",
            "step-to-nowhere",
            "step-with-an-unknown-argument",
            "step-without-a-required-argument",
            "step-naming-a-group",
            "step-that-disagrees-with-an-input-schema",
            "step-with-a-flag-as-value",
            "step-with-a-misspelt-shell-argument",
            "step-with-a-sliding-positional",
        ],
    ),
];

fn validator() -> Validator {
    jsonschema::draft202012::new(&tool_file_schema()).unwrap()
}

fn loader_accepts(path: PathBuf) -> bool {
    load(vec![read_file(path)], &ahma_core::server_facts())
        .rejected
        .is_empty()
}

/// `None` when the text is not JSON: then there is nothing a schema could probe.
fn schema_accepts(validator: &Validator, path: &PathBuf) -> Option<bool> {
    let text = fs::read_to_string(path).unwrap();
    let document = serde_json::from_str(&text).ok();
    let document: Value = document.or_else(|| without_comments(&text))?;
    Some(validator.is_valid(&document))
}

/// A document that is JSON but for its comments.
fn without_comments(text: &str) -> Option<Value> {
    let strict = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    jsonc_parser::parse_to_serde_value(text, &strict).ok()
}

/// Proves: T27, T56.
#[test]
fn both_accept_every_good_fixture_and_every_shipped_tool() {
    let validator = validator();
    for path in fixtures("good").into_iter().chain(shipped_tools()) {
        assert_eq!(
            schema_accepts(&validator, &path),
            Some(true),
            "{}",
            path.display()
        );
        assert!(loader_accepts(path.clone()), "{}", path.display());
    }
}

/// Proves: T27.
#[test]
fn both_reject_every_broken_fixture_but_those_left_to_the_loader() {
    let validator = validator();
    let mut expected: Vec<&str> = LEFT_TO_THE_LOADER
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    expected.sort_unstable();
    let mut accepted_by_schema = Vec::new();
    for path in fixtures("broken") {
        assert!(!loader_accepts(path.clone()), "{}", path.display());
        if schema_accepts(&validator, &path) == Some(true) {
            accepted_by_schema.push(stem(&path));
        }
    }
    accepted_by_schema.sort_unstable();
    assert_eq!(accepted_by_schema, expected);
}

/// Proves: T27.
#[test]
fn every_field_of_the_schema_is_described() {
    let schema = tool_file_schema();
    let mut objects = vec![("Tool", &schema)];
    for (name, object) in schema["$defs"].as_object().unwrap() {
        objects.push((name, object));
    }
    let mut fields = 0;
    for (name, object) in objects {
        for (field, property) in object["properties"].as_object().unwrap() {
            let description = property["description"].as_str().unwrap_or_default();
            assert!(description.len() > 10, "{name}.{field} is not described");
            fields += 1;
        }
        assert_eq!(object["additionalProperties"], false, "{name}");
    }
    assert!(fields > 80, "only {fields} fields found");
}

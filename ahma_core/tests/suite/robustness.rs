//! Rubbish never makes the loader panic, and it reads JSON exactly as strictly as `serde_json`.

use ahma_core::config::files::SourceFile;
use ahma_core::config::{Action, Catalog, load};
use ahma_tests::fixtures;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

fn load_bytes(bytes: Vec<u8>) -> Catalog {
    load(
        vec![SourceFile {
            path: "x.json".into(),
            content: Ok(bytes),
        }],
        &ahma_core::server_facts(),
    )
}

/// Either one tool, or one rejected file with a place in the text for every fault.
fn assert_judged(bytes: &[u8]) {
    let catalog = load_bytes(bytes.to_vec());
    assert_eq!(catalog.files.len() + catalog.rejected.len(), 1);
    for file in &catalog.rejected {
        assert!(!file.faults.is_empty());
        for fault in &file.faults {
            assert!(fault.line >= 1 && fault.column >= 1, "{fault:?}");
            assert!(fault.span.start <= fault.span.end, "{fault:?}");
            assert!(
                fault.span.end <= file.text.len().max(bytes.len()),
                "{fault:?}"
            );
            assert!(!fault.message.is_empty(), "{fault:?}");
        }
    }
}

/// JSON documents made of the words of the format, right and wrong types mixed.
fn documents() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("name"),
        Just("description"),
        Just("command"),
        Just("subcommand"),
        Just("options"),
        Just("positional_args"),
        Just("type"),
        Just("enum"),
        Just("default"),
        Just("sequence"),
        Just("tool"),
        Just("args"),
        Just("env"),
        Just("availability_check"),
        Just("limits"),
        Just("annotations"),
        Just("items"),
        Just("required"),
        Just("flag"),
        Just("enabled"),
        Just("pattern"),
        Just("minimum"),
        Just("only_if"),
        Just("fixed_args"),
        Just("a~/b"),
    ];
    let tool = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("string"),
            Just("array"),
            Just("sequence"),
            Just("x"),
            Just("which x")
        ]
        .prop_map(Value::from),
    ];
    tool.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((word.clone(), inner), 0..8).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

/// A fixture with some of its bytes changed, cut or doubled.
fn mutated_fixtures() -> impl Strategy<Value = Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for path in fixtures("good").into_iter().chain(fixtures("broken")) {
        texts.push(std::fs::read(path).unwrap());
    }
    let edits = vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6);
    (prop::sample::select(texts), edits).prop_map(|(mut bytes, edits)| {
        for (index, byte, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Proves: T29.
    #[test]
    fn arbitrary_bytes_are_judged(bytes in vec(any::<u8>(), 0..200)) {
        assert_judged(&bytes);
    }

    #[test]
    fn documents_of_the_right_words_are_judged(document in documents()) {
        assert_judged(document.to_string().as_bytes());
    }

    /// Several files at once: names collide, steps lead anywhere, nothing breaks.
    #[test]
    fn files_that_meddle_with_each_other_are_judged(
        files in vec((0..4_u8, vec((0..6_u8, 0..6_u8), 0..4)), 1..8)
    ) {
        let sources = files.iter().enumerate().map(|(number, (name, steps))| {
            let steps: Vec<Value> = steps
                .iter()
                .map(|(tool, sub)| serde_json::json!({ "tool": format!("t{tool}"), "subcommand": format!("s{sub}") }))
                .collect();
            let subcommand: Vec<Value> = (0..3)
                .map(|sub| match steps.is_empty() {
                    true => serde_json::json!({ "name": format!("s{sub}"), "description": "S." }),
                    false => serde_json::json!({ "name": format!("s{sub}"), "description": "S.", "sequence": steps }),
                })
                .collect();
            let tool = serde_json::json!({
                "name": format!("t{name}"), "description": "T.", "command": "t", "subcommand": subcommand
            });
            SourceFile { path: format!("{number}.json").into(), content: Ok(tool.to_string().into_bytes()) }
        });
        let catalog = load(sources.collect(), &ahma_core::server_facts());
        prop_assert_eq!(catalog.files.len() + catalog.rejected.len(), files.len());
        // What is left can be called: every step leads to a tool that is there.
        let names: Vec<&str> = catalog.tools().map(|(_, tool)| tool.name.as_str()).collect();
        for (_, tool) in catalog.tools() {
            if let Action::Sequence(sequence) = &tool.action {
                for step in &sequence.steps {
                    prop_assert!(names.contains(&step.target.as_str()), "{}", step.target);
                }
            }
        }
    }

    /// Proves: T29.
    #[test]
    fn mutated_files_are_judged(bytes in mutated_fixtures()) {
        assert_judged(&bytes);
    }

    /// A file is "not valid JSON" for us when, and only when, it is none for `serde_json`.
    #[test]
    fn json_is_read_as_strictly_as_by_serde_json(
        text in r#"[\[\]{}:,"'0-9eE.+\-a-fu/\\* \n\t]{0,14}|[0-9eE.+\-]{1,6}|"(\\[u"\\/bfnrtx0-9a-f]|[a-zé\t]){0,6}""#
    ) {
        let ours = load_bytes(text.clone().into_bytes());
        let refused = ours.rejected.iter().flat_map(|file| &file.faults).any(|fault| {
            fault.message.starts_with("not valid JSON") || fault.message == "the file is empty"
        });
        let theirs = serde_json::from_str::<Value>(&text);
        // Numbers beyond the range of a float are JSON by its grammar; only serde_json minds, and
        // then looks no further.
        prop_assume!(!theirs.as_ref().is_err_and(|error| error.to_string().contains("range")));
        prop_assert_eq!(refused, theirs.is_err(), "{:?}: {:?}", text, theirs);
    }
}

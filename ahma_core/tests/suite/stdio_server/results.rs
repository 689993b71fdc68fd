//! Programs whose output is one JSON document.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::Served;
use super::scripted::{add_python, call, texts, whole};

/// A project with a tool that writes this, and promises that.
fn writing(program: &str, schema: Option<Value>) -> Workspace {
    let project = Workspace::new();
    let mut fields = json!({ "output": "json" });
    if let Some(schema) = schema {
        fields["output_schema"] = schema;
    }
    add_python(&project, "run", &fields, program);
    project
}

fn numbers() -> Value {
    json!({
        "type": "object",
        "properties": { "all": { "type": "array", "items": { "type": "integer" } } },
        "required": ["all"]
    })
}

/// Proves: T57.
#[test]
fn a_document_is_the_structured_result_and_stands_as_text_too() {
    let program = r#"print('{"all": [1, 2], "more": {"a": 1.10}}')"#;
    for schema in [None, Some(numbers())] {
        let mut served = Served::of(writing(program, schema), &[]);
        let result = whole(&mut served.client, "run");
        let document = r#"{"all":[1,2],"more":{"a":1.10}}"#;
        assert_eq!(result["structuredContent"].to_string(), document);
        let texts = texts(&result);
        assert_eq!(texts[0], "{\"all\": [1, 2], \"more\": {\"a\": 1.10}}\n");
        assert!(texts[1].starts_with("[op_"), "{texts:?}");
        assert_eq!(texts.len(), 2);
        assert_eq!(result["isError"], false);
    }
}

/// Clients check what they are given against the schema, so they have to know it.
///
/// Proves: T57.
#[test]
fn the_schema_is_listed_as_it_stands_and_the_call_waits() {
    let schema = json!({ "type": "object", "title": "T", "x-own": [1.10], "$defs": { "a": true } });
    let project = writing("print('{}')", Some(schema.clone()));
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let run = tools.iter().find(|tool| tool["name"] == "run").unwrap();
    assert_eq!(run["outputSchema"], schema);
    assert_eq!(run["description"], "A tool.");
    // Nothing but the result can stand in its place.
    let arguments = json!({ "execution_mode": "async" });
    let result = served.client.call("run", &arguments);
    assert_eq!(result.structured, json!({}), "{result:?}");
}

/// Proves: T57.
#[test]
fn what_is_no_object_is_text_only() {
    let mut served = Served::of(writing("print('[1, 2]')", None), &[]);
    let result = whole(&mut served.client, "run");
    assert_eq!(texts(&result)[0], "[1, 2]\n");
    assert_eq!(result.get("structuredContent"), None);
    assert_eq!(result["isError"], false);
}

/// Proves: T57.
#[test]
fn what_is_no_document_is_an_error_that_keeps_the_text() {
    for (program, expected) in [
        (
            r#"print('{"all": [1,}')"#,
            "{\"all\": [1,}\nthe output is not a JSON document: ",
        ),
        (
            "print('{} {}')",
            "{} {}\nthe output is not a JSON document: ",
        ),
        ("pass", "the output is not a JSON document: "),
        (
            "print('[' * 1000 + ']' * 1000)",
            "not a JSON document: recursion limit",
        ),
        (
            "import sys; sys.stdout.buffer.write(b'{\"a\": \"\\xff\"}')",
            "the output is not a JSON document: ",
        ),
    ] {
        let mut served = Served::of(writing(program, None), &[]);
        let result = whole(&mut served.client, "run");
        assert_eq!(result["isError"], true, "{program}: {result}");
        assert_eq!(result["_meta"]["ahma/error"]["kind"], "failed");
        let text = texts(&result)[0];
        assert!(text.contains(expected), "{program}: {text}");
        assert!(text.contains(" failed, exit code 0, "), "{program}: {text}");
        assert_eq!(result.get("structuredContent"), None);
    }
}

/// Proves: T57.
#[test]
fn a_document_that_disagrees_with_its_schema_is_an_error_that_names_the_place() {
    let program = r#"print('{"all": [1, "two", 3, null]}')"#;
    let mut served = Served::of(writing(program, Some(numbers())), &[]);
    let result = whole(&mut served.client, "run");
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result.get("structuredContent"), None);
    let text = texts(&result)[0];
    let expected = "{\"all\": [1, \"two\", 3, null]}\n\
                    the structured result is not what the tool promises:\n\
                    /all/1: \"two\" is not of type \"integer\"\n\
                    /all/3: null is not of type \"integer\"\n[op_";
    assert!(text.starts_with(expected), "{text}");
    // What fails by itself is not judged besides.
    let program = "print('oh'); raise SystemExit(3)";
    let mut served = Served::of(writing(program, Some(numbers())), &[]);
    let failed = call(&mut served.client, "run");
    assert!(failed.is_error, "{failed:?}");
    assert!(failed.text.starts_with("oh\n[op_"), "{failed:?}");
}

/// Proves: T57.
#[test]
fn standard_error_stands_apart_from_the_document() {
    let program =
        "import sys; sys.stderr.write('careful\\n'); sys.stderr.flush(); print('{\"a\": 1}')";
    let mut served = Served::of(writing(program, None), &[]);
    let result = whole(&mut served.client, "run");
    assert_eq!(result["structuredContent"], json!({ "a": 1 }));
    let texts = texts(&result);
    assert_eq!(texts[0], "{\"a\": 1}\n");
    assert!(texts[1].starts_with("careful\n[op_"), "{texts:?}");
    let program = "import sys; sys.stderr.write('no such thing\\n'); raise SystemExit(2)";
    let mut served = Served::of(writing(program, None), &[]);
    let failed = call(&mut served.client, "run");
    assert!(failed.is_error, "{failed:?}");
    assert!(failed.text.starts_with("no such thing\n[op_"), "{failed:?}");
}

/// Proves: T57.
#[test]
fn a_long_document_is_passed_on_whole_and_a_too_long_one_is_refused() {
    let program = "import json; print(json.dumps({'a': ['x' * 1000] * 3000}))";
    let mut served = Served::of(writing(program, None), &[]);
    let result = whole(&mut served.client, "run");
    let lines = result["structuredContent"]["a"].as_array().unwrap();
    assert_eq!(lines.len(), 3000);
    assert!(lines.iter().all(|it| *it == json!("x".repeat(1000))));
    // The same as text is beginning and end.
    assert!(texts(&result)[0].len() < 64 * 1024);

    let program = "import json; print(json.dumps({'a': ['x' * 1000] * 5000}))";
    let mut served = Served::of(writing(program, None), &[]);
    let refused = whole(&mut served.client, "run");
    assert_eq!(refused["isError"], true);
    let text = texts(&refused)[0];
    let expected =
        "the JSON document has 5020008 bytes; at most 4 MiB are passed on. `read_output` reads it";
    assert!(text.contains(expected), "{text}");
    assert_eq!(refused.get("structuredContent"), None);
}

/// Who waits with `await` for a call in the background gets what the call would have given.
///
/// Proves: T57.
#[test]
fn the_document_of_a_call_in_the_background_comes_with_await() {
    let mut served = Served::of(writing(r#"print('{"a": 1}')"#, None), &[]);
    let started = served
        .client
        .call("run", &json!({ "execution_mode": "async" }));
    assert!(started.text.starts_with("started op_"), "{started:?}");
    let id = json!({ "operation_id": started.operation_id() });
    let waited = served.client.call("await", &id);
    assert_eq!(waited.text, "{\"a\": 1}\n");
    assert_eq!(
        waited.structured["operations"][0]["result"],
        json!({ "a": 1 })
    );
    assert_eq!(waited.structured["operations"][0]["state"], "completed");
}

//! The `inputSchema` clients see: closed, complete, and valid JSON Schema 2020-12.

use serde_json::{Value, json};

use crate::tools_of;

fn demo() -> Value {
    let tool = tools_of(&json!({
        "name": "demo", "description": "D.", "command": "demo",
        "options": [
            { "name": "level", "type": "integer", "minimum": 1, "maximum": 9, "default": 6,
              "description": "How hard." },
            { "name": "mode", "type": "string", "enum": ["fast", "slow"] },
            { "name": "quiet", "type": "boolean", "alias": "q" },
            { "name": "tag", "type": "string", "pattern": "^v[0-9]+$" },
            { "name": "ratio", "type": "number", "minimum": 0.5 },
            { "name": "ids", "type": "array", "items": { "type": "integer" } }
        ],
        "positional_args": [
            { "name": "paths", "type": "array", "required": true,
              "items": { "type": "string", "format": "path" } }
        ]
    }))
    .remove(0);
    Value::Object(std::sync::Arc::unwrap_or_clone(tool.input_schema))
}

/// Proves: T16, T33.
#[test]
fn the_schema_states_every_argument_and_every_meta_parameter() {
    let mut schema = demo();
    let properties = schema["properties"].as_object_mut().unwrap();
    for (name, kind) in [
        ("working_directory", "string"),
        ("execution_mode", "string"),
        ("timeout_seconds", "integer"),
    ] {
        let meta = properties.shift_remove(name).unwrap();
        assert_eq!(meta["type"], kind);
        assert_eq!(
            meta.get("description"),
            None,
            "it would be in every tool of every list"
        );
    }
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "level": { "type": "integer", "minimum": 1, "maximum": 9,
                           "description": "How hard.", "default": 6 },
                "mode": { "type": "string", "enum": ["fast", "slow"] },
                "quiet": { "type": "boolean" },
                "tag": { "type": "string", "pattern": "^v[0-9]+$" },
                "ratio": { "type": "number", "minimum": 0.5 },
                "ids": { "type": "array", "items": { "type": "integer" } },
                "paths": { "type": "array", "items": { "type": "string" }, "minItems": 1 }
            },
            "required": ["paths"],
            "additionalProperties": false
        })
    );
}

/// Proves: T28.
#[test]
fn the_schema_is_valid_and_refuses_what_it_does_not_name() {
    let schema = demo();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(validator.is_valid(&json!({ "paths": ["a"], "execution_mode": "auto" })));
    for wrong in [
        json!({}),
        json!({ "paths": ["a"], "extra": 1 }),
        json!({ "paths": ["a"], "execution_mode": "later" }),
        json!({ "paths": ["a"], "timeout_seconds": 0 }),
        json!({ "paths": "a" }),
        json!({ "paths": [] }),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

//! The JSON Schema (2020-12, closed) of the arguments of a tool.

use serde_json::{Map, Value};

use super::spec::{ArgumentSpec, ScalarKind, ScalarSpec, ValueSpec};

/// The schema of a call: its own arguments, and the parameters that every call takes.
pub fn input_schema(
    arguments: &[ArgumentSpec],
    call_parameters: &Map<String, Value>,
) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in arguments {
        properties.insert(argument.name.clone(), property(argument));
        if argument.required {
            required.push(Value::from(argument.name.as_str()));
        }
    }
    properties.extend(call_parameters.clone());

    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

fn property(argument: &ArgumentSpec) -> Value {
    let mut property = match &argument.values {
        ValueSpec::Boolean => typed("boolean"),
        ValueSpec::One(scalar) => scalar_schema(scalar),
        ValueSpec::Many(scalar) => {
            let mut array = typed("array");
            array.insert("items".into(), scalar_schema(scalar).into());
            if argument.required {
                array.insert("minItems".into(), 1.into());
            }
            array
        }
    };
    if let Some(description) = description(argument) {
        property.insert("description".into(), description.into());
    }
    if let Some(default) = &argument.default {
        property.insert("default".into(), default.clone());
    }
    property.into()
}

/// The author's words, and what a schema that all clients understand cannot say.
fn description(argument: &ArgumentSpec) -> Option<String> {
    let list = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
        names.join(", ")
    };
    let mut parts: Vec<String> = argument.description.iter().cloned().collect();
    if !argument.conflicts_with.is_empty() {
        parts.push(format!(
            "Not together with {}.",
            list(&argument.conflicts_with)
        ));
    }
    if !argument.requires.is_empty() {
        parts.push(format!("Only with {}.", list(&argument.requires)));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn scalar_schema(scalar: &ScalarSpec) -> Map<String, Value> {
    let mut schema = typed(match scalar.kind {
        ScalarKind::String => "string",
        ScalarKind::Integer => "integer",
        ScalarKind::Number => "number",
    });
    if !scalar.allowed.is_empty() {
        schema.insert("enum".into(), scalar.allowed.clone().into());
    }
    if let Some(minimum) = scalar.minimum {
        schema.insert("minimum".into(), plain_number(minimum));
    }
    if let Some(maximum) = scalar.maximum {
        schema.insert("maximum".into(), plain_number(maximum));
    }
    if let Some(pattern) = &scalar.pattern {
        schema.insert("pattern".into(), pattern.as_str().into());
    }
    schema
}

fn typed(name: &str) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), name.into());
    schema
}

/// A bound without the `.0` that a float would carry.
fn plain_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 1e15")]
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

//! Arguments of a built-in tool, held against the schema that clients have read. Finds all faults of a call, in the words
//! that declared tools have for theirs. Must not know any one tool.

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use crate::config::{
    ArgumentFault, MAX_FAULTS, ScalarKind, ScalarSpec, ValueSpec, check_value, missing, shown,
    unknown,
};

/// Everything that is wrong with the arguments of a call of `tool`. What is right is written the one way that its type
/// reads: an optional argument that is `null` is left out, and 2.0 is 2.
pub(super) fn check(
    tool: &str,
    schema: &JsonObject,
    arguments: &mut Map<String, Value>,
) -> Vec<ArgumentFault> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object);
    let known = known.unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    arguments.retain(|name, value| {
        !value.is_null() || !known.contains_key(name) || required.contains(&name.as_str())
    });
    let mut faults = Vec::new();
    for (name, value) in arguments.iter_mut() {
        if faults.len() >= MAX_FAULTS {
            let message = "further arguments were not looked at".to_owned();
            faults.push(ArgumentFault::new(tool, message, None));
            return faults;
        }
        let Some(property) = known.get(name) else {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            faults.push(unknown(tool, &known, name));
            continue;
        };
        match check_property(property, value) {
            Ok(()) => make_whole(property, value),
            Err(message) => {
                faults.push(ArgumentFault::new(name, message, description(property)));
            }
        }
    }
    for name in required {
        if !arguments.contains_key(name) {
            faults.push(missing(name, known.get(name).and_then(description)));
        }
    }
    faults
}

fn description(property: &Value) -> Option<String> {
    property["description"].as_str().map(str::to_owned)
}

fn check_property(property: &Value, value: &Value) -> Result<(), String> {
    if let Some(options) = property["anyOf"].as_array() {
        return check_options(options, value);
    }
    if property["type"] == "object" {
        return match value.is_object() {
            true => Ok(()),
            false => Err(format!("expected an object, found {}", shown(value))),
        };
    }
    // What no schema of a tool says is left to the type.
    values(property).map_or(Ok(()), |values| check_value(&values, value))
}

/// One of several forms. An array is judged as an array, anything else by all of them.
fn check_options(options: &[Value], value: &Value) -> Result<(), String> {
    let array = options.iter().find(|it| it["type"] == "array");
    if let Some(array) = array.filter(|_| value.is_array()) {
        return check_property(array, value);
    }
    if options.iter().any(|it| check_property(it, value).is_ok()) {
        return Ok(());
    }
    let names: Vec<String> = options.iter().map(name_of).collect();
    let (names, found) = (names.join(" or "), shown(value));
    Err(format!("expected {names}, found {found}"))
}

/// The type as a person says it.
fn name_of(property: &Value) -> String {
    match property["type"].as_str().unwrap_or_default() {
        "array" => "an array".to_owned(),
        "object" => "an object".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "integer" => "a whole number".to_owned(),
        other => format!("a {other}"),
    }
}

fn values(property: &Value) -> Option<ValueSpec> {
    match property["type"].as_str()? {
        "boolean" => Some(ValueSpec::Boolean),
        "array" => scalar(&property["items"]).map(ValueSpec::Many),
        _ => scalar(property).map(ValueSpec::One),
    }
}

fn scalar(property: &Value) -> Option<ScalarSpec> {
    let kind = match property["type"].as_str()? {
        "string" => ScalarKind::String,
        "integer" => ScalarKind::Integer,
        "number" => ScalarKind::Number,
        _ => return None,
    };
    Some(ScalarSpec {
        kind,
        allowed: property["enum"].as_array().cloned().unwrap_or_default(),
        minimum: property["minimum"].as_f64(),
        maximum: property["maximum"].as_f64(),
        pattern: None,
        is_path: false,
    })
}

/// JSON knows one kind of number; the types of arguments know two.
fn make_whole(property: &Value, value: &mut Value) {
    if property["type"] == "integer"
        && let (None, None, Some(number)) = (value.as_i64(), value.as_u64(), value.as_f64())
    {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole")]
        let whole = number as i64;
        *value = Value::from(whole);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::service::CallStyle;
    use crate::service::plan::described;
    use crate::service::tools::definitions;

    /// What a caller reads, or the arguments as they are decoded.
    fn checked(tool: &str, arguments: Value) -> Result<Value, String> {
        let definitions = definitions(CallStyle::default());
        let (_, definition) = definitions.iter().find(|(name, _)| *name == tool).unwrap();
        let Value::Object(mut arguments) = arguments else {
            panic!("arguments are an object");
        };
        let faults = check(tool, &definition.input_schema, &mut arguments);
        match faults.is_empty() {
            true => Ok(arguments.into()),
            false => Err(described(faults).to_string()),
        }
    }

    #[test]
    fn faults_are_told_in_plain_words() {
        let ids = "One id, or several. Default: all that run, and what ended without you having been given its result.";
        for (tool, arguments, expected) in [
            ("status", json!({ "limit": 0 }), "limit: 0 is below the minimum 1 (At most this many.)".to_owned()),
            ("status", json!({ "limit": 1.5 }), "limit: expected a whole number, found 1.5 (At most this many.)".to_owned()),
            (
                "status",
                json!({ "state": "done", "tools": "cargo" }),
                "state: \"done\" is not one of \"queued\", \"running\", \"completed\", \"failed\", \"cancelled\", \
                 \"timed_out\", \"lost\" (Only operations in this state.)\ntools: expected an array, found \"cargo\" (Only \
                 operations of tools whose names begin with one of these.)".to_owned(),
            ),
            ("read_output", json!({ "operation_id": 5 }), "operation_id: expected a string, found 5 (Which one.)".to_owned()),
            ("read_output", json!({ "operation_id": null }), "operation_id: expected a string, found null (Which one.)".to_owned()),
            ("read_output", json!({ "offset": -1 }), "offset: -1 is below the minimum 0 (First byte. Default: 0.)\n\
                operation_id: the argument `operation_id` is required (Which one.)".to_owned()),
            ("await", json!({ "timeout_seconds": "x" }), "timeout_seconds: expected a whole number, found \"x\" (How long to wait.)".to_owned()),
            ("await", json!({ "timeout_seconds": 3601 }), "timeout_seconds: 3601 is above the maximum 3600 (How long to wait.)".to_owned()),
            ("await", json!({ "operation_id": 5 }), format!("operation_id: expected a string or an array, found 5 ({ids})")),
            ("await", json!({ "operation_id": ["a", 5] }), format!("operation_id: element 1: expected a string, found 5 ({ids})")),
            ("await", json!({ "operationid": "a" }), "operationid: `await` has no argument `operationid` (did you mean `operation_id`?)".to_owned()),
            ("cancel", json!({ "operation_id": "a", "why": "b" }), "why: `cancel` has no argument `why` (arguments of `cancel`: operation_id, reason)".to_owned()),
            ("get_server_info", json!({ "x": 1 }), "x: `get_server_info` has no argument `x` (`get_server_info` takes no arguments)".to_owned()),
            ("send_input", json!({ "operation_id": "a", "close": "yes" }), "close: expected `true` or `false`, found \"yes\" (Ends the input, after the text.)".to_owned()),
            ("find_tools", json!({ "limit": 51 }), "limit: 51 is above the maximum 50 (At most this many.)".to_owned()),
            ("call_tool", json!({ "name": "a", "arguments": [] }), "arguments: expected an object, found [] (What it takes.)".to_owned()),
        ] {
            assert_eq!(checked(tool, arguments), Err(expected));
        }
    }

    #[test]
    fn what_is_right_becomes_what_its_type_reads() {
        for (tool, arguments, expected) in [
            (
                "status",
                json!({ "limit": 2.0, "state": null }),
                json!({ "limit": 2 }),
            ),
            (
                "await",
                json!({ "timeout_seconds": 0 }),
                json!({ "timeout_seconds": 0 }),
            ),
            (
                "await",
                json!({ "operation_id": ["a", "b"] }),
                json!({ "operation_id": ["a", "b"] }),
            ),
            (
                "read_output",
                json!({ "operation_id": "a", "offset": u64::MAX }),
                json!({ "operation_id": "a", "offset": u64::MAX }),
            ),
            (
                "call_tool",
                json!({ "name": "a", "arguments": { "b": 1 } }),
                json!({ "name": "a", "arguments": { "b": 1 } }),
            ),
        ] {
            assert_eq!(checked(tool, arguments), Ok(expected));
        }
    }

    #[test]
    fn of_very_many_faults_some_are_told() {
        let many: Map<String, Value> = (0..500).map(|it| (format!("x{it}"), it.into())).collect();
        let told = checked("status", many.into()).unwrap_err();
        assert_eq!(told.lines().count(), MAX_FAULTS + 1);
        assert_eq!(
            told.lines().last(),
            Some("status: further arguments were not looked at")
        );
    }
}

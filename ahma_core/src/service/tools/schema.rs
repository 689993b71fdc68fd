//! The schema of a built-in tool, derived from the type of its arguments, so that the two cannot differ.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::argument_check::check;
use crate::service::call_error::CallError;
use crate::service::plan::described;

/// The schema of a tool's arguments, made once: every call is checked against it.
pub(super) fn published<T: JsonSchema>(tool: &'static str) -> Arc<JsonObject> {
    static MADE: Mutex<BTreeMap<&str, Arc<JsonObject>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = made
        .entry(tool)
        .or_insert_with(|| Arc::new(schema_of::<T>()));
    Arc::clone(schema)
}

/// The schema as clients like it: closed by the type, without names and formats of Rust, optional fields not nullable.
fn schema_of<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let Value::Object(mut schema) = schema.to_value() else {
        return JsonObject::new();
    };
    schema.remove("title");
    schema.remove("description");
    // Some clients want it, even when there is none.
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(plain);
    }
    schema
}

fn plain(property: &mut Value) {
    let Value::Object(property) = property else {
        return;
    };
    property.remove("format");
    if property.get("default").is_some_and(is_nothing) {
        property.remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = property.get_mut("anyOf") {
        options.retain(|it| it["type"] != "null");
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            for (name, value) in only {
                property.entry(name).or_insert(value);
            }
        }
    }
    if let Some(items) = property.get_mut("items") {
        plain(items);
    }
}

fn is_nothing(default: &Value) -> bool {
    default.is_null() || default.as_array().is_some_and(Vec::is_empty)
}

/// Reads arguments, or says what is wrong with them: first of all where they differ from what clients have read.
pub(super) fn read<T: DeserializeOwned + JsonSchema>(
    tool: &'static str,
    mut arguments: Map<String, Value>,
) -> Result<T, CallError> {
    let faults = check(tool, &published::<T>(tool), &mut arguments);
    if !faults.is_empty() {
        return Err(described(faults));
    }
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        // It names types of Rust, which say nothing to a caller.
        tracing::debug!(tool, "arguments that its schema allows: {error}");
        CallError::new(format!("the arguments of `{tool}` cannot be read"))
    })
}

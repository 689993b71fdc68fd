//! A JSON Schema (2020-12) of a tool file, and whether values agree with it. Must not fetch anything that it refers to.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ReferencingError as Error, ValidationError, Validator};
use serde_json::{Map, Value};

use super::limits;

/// Faults of one value that are told.
const MAX_FAULTS: usize = 10;
/// Bytes of one of them.
const MAX_FAULT_LEN: usize = 300;

/// A schema that can be used. Cheap to clone.
#[derive(Clone)]
pub struct CheckedSchema {
    document: Arc<Map<String, Value>>,
    validator: Arc<Validator>,
}

impl CheckedSchema {
    /// The schema, or what is wrong with it.
    pub fn new(document: &Map<String, Value>) -> Result<Self, SchemaFault> {
        let whole = Value::Object(document.clone());
        let length = whole.to_string().len();
        if length > limits::SCHEMA_BYTES {
            let most = limits::SCHEMA_BYTES;
            return Err(SchemaFault {
                message: format!("the schema has {length} bytes; at most {most} are allowed"),
                pointer: String::new(),
                hint: "leave out what a call does not need, such as long descriptions",
            });
        }
        // Linear in time and bounded in memory, whatever the file says.
        let patterns = PatternOptions::regex().size_limit(limits::PATTERN_MEMORY);
        let options = jsonschema::draft202012::options().with_pattern_options(patterns);
        match options.build(&whole) {
            Ok(validator) => Ok(CheckedSchema {
                document: Arc::new(document.clone()),
                validator: Arc::new(validator),
            }),
            Err(error) => Err(SchemaFault::of(&error)),
        }
    }

    /// The schema as its author wrote it.
    pub fn document(&self) -> &Arc<Map<String, Value>> {
        &self.document
    }

    /// What is wrong with a value, the first few things; nothing when it agrees. Each begins with the pointer of what is wrong.
    pub fn faults(&self, value: &Value) -> Vec<(String, String)> {
        let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
        errors
            .map(|error| (error.instance_path().to_string(), short(error.to_string())))
            .collect()
    }
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// What is wrong.
    pub message: String,
    /// Where in the schema.
    pub pointer: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl SchemaFault {
    fn of(error: &ValidationError<'_>) -> Self {
        const DRAFT: &str = "write it as draft 2020-12 of JSON Schema says";
        let (message, hint) = match error.kind() {
            ValidationErrorKind::Referencing(Error::Unretrievable { uri, .. }) => (
                format!("the schema refers to `{uri}`, and nothing is fetched for it"),
                "put what it refers to into its own `$defs`",
            ),
            ValidationErrorKind::Referencing(Error::PointerToNowhere { pointer }) => (
                format!("the schema refers to `{pointer}`, which is not in it"),
                "correct the `$ref`, or add what it means to `$defs`",
            ),
            ValidationErrorKind::Referencing(error) => (
                format!("a reference of the schema leads nowhere: {error}"),
                "correct the `$ref`, or add what it means to `$defs`",
            ),
            ValidationErrorKind::Format { format } if format == "regex" => (
                format!("{} is not a regular expression", error.instance()),
                "correct it; in JSON a `\\` is written twice",
            ),
            ValidationErrorKind::AnyOf { .. } => {
                (format!("{} has no meaning here", error.instance()), DRAFT)
            }
            _ => (error.to_string(), DRAFT),
        };
        SchemaFault {
            message: short(message),
            pointer: error.instance_path().to_string(),
            hint,
        }
    }
}

/// A message may repeat the value, which is of any length.
fn short(mut text: String) -> String {
    if text.len() > MAX_FAULT_LEN {
        text.truncate(text.floor_char_boundary(MAX_FAULT_LEN));
        text.push('…');
    }
    text
}

impl fmt::Debug for CheckedSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(document: &Value) -> Result<CheckedSchema, SchemaFault> {
        CheckedSchema::new(document.as_object().unwrap())
    }

    #[test]
    fn schemas_that_refer_to_themselves_come_to_an_end() {
        let all = [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        ];
        for document in all {
            let _ = schema(&document).map(|it| it.faults(&json!({ "a": [1, { "b": 2 }] })));
        }
    }

    #[test]
    fn nothing_is_fetched_for_a_schema() {
        for elsewhere in ["http://127.0.0.1:1/schema", "file:///etc/hostname"] {
            assert!(
                schema(&json!({ "$ref": elsewhere })).is_err(),
                "{elsewhere}"
            );
        }
    }

    #[test]
    fn faults_are_few_and_short_whatever_the_value() {
        let schema = schema(&json!({ "items": { "type": "integer" } })).unwrap();
        let value = Value::Array(vec![json!("x".repeat(10_000)); 100]);
        let faults = schema.faults(&value);
        assert_eq!(faults.len(), MAX_FAULTS);
        assert_eq!(faults[3].0, "/3");
        assert!(faults.iter().all(|(_, it)| it.len() < MAX_FAULT_LEN + 4));
        assert_eq!(schema.faults(&json!([1, 2.0])), []);
    }

    #[test]
    fn patterns_cannot_take_long() {
        let schema = schema(&json!({ "pattern": "(a+)+$" })).unwrap();
        assert_eq!(schema.faults(&json!("a".repeat(50_000) + "b")).len(), 1);
        assert!(
            CheckedSchema::new(json!({ "pattern": "(.{1000}){1000}" }).as_object().unwrap())
                .is_err()
        );
    }
}

//! The published JSON Schema of tool files, made from the raw form.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::raw::RawToolFile;

/// A `$schema` that ends in this file name marks a file as a tool file.
pub const SCHEMA_FILE_NAME: &str = "mtdf.schema.json";

/// The schema as a JSON document.
pub fn tool_file_schema() -> Value {
    schema_of::<RawToolFile>("MTDF tool file")
}

/// The schema of a raw form, as published.
pub(super) fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.root_schema_for::<T>();
    TidyTexts.transform(&mut schema);
    schema.insert("title".into(), title.into());
    schema.into()
}

/// The schema as text, with a line feed at the end, exactly as committed.
pub fn tool_file_schema_text() -> String {
    format!("{:#}\n", tool_file_schema())
}

/// Puts each description onto one line (source lines are wrapped for readers of the source), and
/// drops number formats such as `int64`, which strict validators do not know.
struct TidyTexts;

impl Transform for TidyTexts {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get("description") {
            let joined = text.split('\n').collect::<Vec<_>>().join(" ");
            schema.insert("description".into(), joined.into());
        }
        let machine_format = schema
            .get("format")
            .and_then(Value::as_str)
            .is_some_and(|format| format.starts_with("int") || format == "double");
        if machine_format {
            schema.remove("format");
        }
        transform_subschemas(self, schema);
    }
}

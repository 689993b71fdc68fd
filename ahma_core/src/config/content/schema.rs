//! The published JSON Schemas of prompt files and resource files, made from their raw forms.

use serde_json::Value;

use super::super::schema::schema_of;
use super::raw::{RawPromptFile, RawResourceFile};

/// The file name of the schema of prompt files.
pub const PROMPT_SCHEMA_FILE_NAME: &str = "prompt.schema.json";
/// The file name of the schema of resource files.
pub const RESOURCE_SCHEMA_FILE_NAME: &str = "resource.schema.json";

/// The schema of prompt files as a JSON document.
pub fn prompt_file_schema() -> Value {
    schema_of::<RawPromptFile>("Prompt file")
}

/// The schema of resource files as a JSON document.
pub fn resource_file_schema() -> Value {
    schema_of::<RawResourceFile>("Resource file")
}

/// The schema of prompt files as text, exactly as committed.
pub fn prompt_file_schema_text() -> String {
    format!("{:#}\n", prompt_file_schema())
}

/// The schema of resource files as text, exactly as committed.
pub fn resource_file_schema_text() -> String {
    format!("{:#}\n", resource_file_schema())
}

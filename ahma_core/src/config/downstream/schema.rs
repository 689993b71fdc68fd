//! The published JSON Schema of an `mcp.json`, made from the raw form.

use serde_json::Value;

use super::super::schema::schema_of;
use super::raw::RawMcpConfig;

/// The name under which the schema is published.
pub const MCP_CONFIG_SCHEMA_FILE_NAME: &str = "mcp-config.schema.json";

/// The schema as a JSON document.
pub fn mcp_config_schema() -> Value {
    schema_of::<RawMcpConfig>("MCP servers behind ahma_mcp")
}

/// The schema as text, with a line feed at the end, exactly as committed.
pub fn mcp_config_schema_text() -> String {
    format!("{:#}\n", mcp_config_schema())
}

//! Which arguments of a tool go into headers (`x-mcp-header`), and whether a tool marks them as it may.
//!
//! A tool whose marks are wrong must not be called over HTTP: what stands between would read something else than the server.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

/// The mark of a property.
pub(crate) const MARK: &str = "x-mcp-header";

/// Why a tool cannot be used over HTTP, if it cannot.
pub(crate) fn fault(tool: &RawValue) -> Option<String> {
    if !tool.get().contains(MARK) {
        return None;
    }
    let tool: Value = serde_json::from_str(tool.get()).ok()?;
    let mut names = HashSet::new();
    marked(tool.get("inputSchema")?, &mut names).err()
}

fn marked(schema: &Value, names: &mut HashSet<String>) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(mark) = property.get(MARK) {
            let header = mark.as_str().unwrap_or_default();
            let is_token = !header.is_empty() && header.bytes().all(is_token_byte);
            if !is_token {
                return Err(format!(
                    "`{name}` is to go into a header that cannot be one"
                ));
            }
            let kind = property.get("type").and_then(Value::as_str);
            if !matches!(kind, Some("string" | "integer" | "boolean")) {
                return Err(format!(
                    "`{name}` is to go into a header, and is not a string, an integer or a boolean"
                ));
            }
            if !names.insert(header.to_ascii_lowercase()) {
                return Err(format!(
                    "two arguments are to go into the header `{header}`"
                ));
            }
        }
        marked(property, names)?;
    }
    Ok(())
}

/// What the name of a header may consist of.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    /// Proves: C62.
    #[test]
    fn marks_are_names_of_headers_on_simple_arguments_and_each_is_there_once() {
        let fault = |properties: Value| {
            let tool = json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } });
            fault(&to_raw_value(&tool).unwrap())
        };
        let one = |kind: &str, header: &str| fault(json!({ "a": { "type": kind, MARK: header } }));
        assert_eq!(fault(json!({ "a": { "type": "array" } })), None);
        assert_eq!(one("string", "Region"), None);
        assert_eq!(one("integer", "Region-1"), None);
        assert_eq!(one("boolean", "x"), None);
        for kind in ["number", "object", "array", "null"] {
            assert!(
                one(kind, "Region").unwrap().contains("not a string"),
                "{kind}"
            );
        }
        for header in ["", "My Region", "Region:1", "Région", "Region\t1"] {
            let fault = one("string", header).unwrap();
            assert!(fault.contains("cannot be one"), "{header}: {fault}");
        }
        let text = |header: &str| json!({ "type": "string", MARK: header });
        let deep = json!({ "type": "object", "properties": { "b": text("REGION") } });
        let twice = fault(json!({ "a": text("Region"), "deep": deep }));
        assert!(twice.unwrap().contains("two arguments"));
    }
}

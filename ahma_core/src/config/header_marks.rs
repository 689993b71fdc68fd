//! Arguments that clients repeat in headers over HTTP (`x-mcp-header` of an `input_schema`), and whether they may. Clients leave out tools
//! whose marks are wrong.
//!
//! Tools of other servers are judged by `ahma_http_mcp_client`, which a validator of tool files is built without.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::checked_schema::SchemaFault;

const MARK: &str = "x-mcp-header";

/// The first mark that is wrong, if one is.
pub(super) fn fault(schema: &Map<String, Value>) -> Option<SchemaFault> {
    first_fault(schema, "", &mut HashSet::new())
}

fn first_fault(
    schema: &Map<String, Value>,
    pointer: &str,
    seen: &mut HashSet<String>,
) -> Option<SchemaFault> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let Some(property) = property.as_object() else {
            continue;
        };
        let name = name.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{pointer}/properties/{name}");
        if let Some(mark) = property.get(MARK)
            && let Some((message, hint)) = fault_of_mark(mark, property.get("type"), seen)
        {
            return Some(SchemaFault {
                message,
                pointer: format!("{pointer}/{MARK}"),
                hint,
            });
        }
        let deeper = first_fault(property, &pointer, seen);
        if deeper.is_some() {
            return deeper;
        }
    }
    None
}

fn fault_of_mark(
    mark: &Value,
    kind: Option<&Value>,
    seen: &mut HashSet<String>,
) -> Option<(String, &'static str)> {
    let header = mark.as_str().unwrap_or_default();
    if header.is_empty() || !header.bytes().all(is_token_byte) {
        let hint = "write letters, digits and `-`, such as `Region`: the header is then `Mcp-Param-Region`";
        return Some((format!("{mark} cannot be a part of a header's name"), hint));
    }
    let kind = kind.and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        let message = "only a string, an integer or a boolean can go into a header".to_owned();
        return Some((message, "remove the mark, or give the argument such a type"));
    }
    if !seen.insert(header.to_ascii_lowercase()) {
        let message = format!("two arguments are to go into the header `{header}`");
        let hint = "give each a name of its own; upper and lower case are the same";
        return Some((message, hint));
    }
    None
}

/// What the name of a header may consist of.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

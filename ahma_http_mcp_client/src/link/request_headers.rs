//! What 2026-07-28 has said of a request in headers, so that what stands between can see it: method, name, and arguments
//! that a tool's schema marks.

use data_encoding::BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::header_marks;
use crate::message::Params;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// The headers of a request. `schema` is the input schema of the tool that is called, where it is known.
pub(super) fn of_request(method: &str, params: &Params, schema: Option<&Value>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: &str, value: &str| {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&encoded(value))) {
            headers.insert(name, value);
        }
    };
    put("mcp-method", method);
    let named_by = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        _ => None,
    };
    if let Some(name) = named_by.and_then(|field| params.text(field)) {
        put("mcp-name", &name);
    }
    let arguments = params.raw("arguments").filter(|_| method == "tools/call");
    let arguments = arguments.and_then(|it| serde_json::from_str::<Value>(it.get()).ok());
    if let (Some(schema), Some(arguments)) = (schema, arguments) {
        marked(schema, &arguments, &mut |header, value| {
            put(&format!("mcp-param-{header}"), value);
        });
    }
    headers
}

/// Finds arguments whose properties are marked, in objects in objects too.
fn marked(schema: &Value, arguments: &Value, found: &mut impl FnMut(&str, &str)) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let Some(argument) = arguments.get(name) else {
            continue;
        };
        if let Some(header) = property.get(header_marks::MARK).and_then(Value::as_str) {
            match argument {
                Value::String(text) => found(header, text),
                Value::Bool(_) | Value::Number(_) => found(header, &argument.to_string()),
                _ => {}
            }
        }
        marked(property, argument, found);
    }
}

/// A value as it can stand in a header.
fn encoded(value: &str) -> String {
    let is_plain = value.chars().all(|it| matches!(it, ' '..='~'));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    match is_plain && !is_padded && !looks_encoded {
        true => value.to_owned(),
        false => format!("{PREFIX}{}{SUFFIX}", BASE64.encode(value.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_marked_arguments_are_said() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "x-mcp-header": "N" } } },
            "other": { "type": "string" },
        } });
        let arguments = json!({ "region": "Zürich", "deep": { "n": 5 }, "other": "x" });
        let params = Params::new()
            .with("name", "deploy")
            .with("arguments", &arguments);
        let headers = of_request("tools/call", &params, Some(&schema));
        let header = |name: &str| headers.get(name).map(|it| it.to_str().unwrap().to_owned());
        assert_eq!(header("mcp-method").as_deref(), Some("tools/call"));
        assert_eq!(header("mcp-name").as_deref(), Some("deploy"));
        assert_eq!(header("mcp-param-n").as_deref(), Some("5"));
        assert_eq!(
            header("mcp-param-region").as_deref(),
            Some("=?base64?WsO8cmljaA==?=")
        );
        assert_eq!(headers.len(), 4);
    }
}

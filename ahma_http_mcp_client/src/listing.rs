//! Lists of what a server offers, page by page, within bounds. Every item is kept as it came.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::Client;
use crate::header_marks;
use crate::message::Params;
use crate::request::Request;
use crate::request_error::RequestError;

/// Pages that are asked for.
const MAX_PAGES: usize = 200;
/// Items that are taken.
const MAX_ITEMS: usize = 10_000;
/// Bytes of all items together.
const MAX_BYTES: usize = 32 << 20;

/// A list, as far as it was taken.
#[derive(Debug, Default)]
pub struct Listed {
    /// The items.
    pub items: Vec<Box<RawValue>>,
    /// Why there may be more than these.
    pub cut: Option<String>,
    /// Those that the protocol forbids to use, and why.
    pub unusable: Vec<(Box<RawValue>, String)>,
}

/// Asks for all pages of a list.
pub(crate) async fn list(client: &Client, method: &str, key: &str) -> Result<Listed, RequestError> {
    let mut listed = Listed::default();
    let (mut cursor, mut seen, mut bytes): (Option<String>, HashSet<String>, usize) =
        Default::default();
    for _ in 0..MAX_PAGES {
        let params = match &cursor {
            Some(cursor) => Params::new().with("cursor", cursor),
            None => Params::new(),
        };
        let page = client.request(Request::new(method, params)).await?;
        let wrong = |why: &str| RequestError::BadAnswer(format!("to `{method}`: {why}"));
        let fields: HashMap<String, &RawValue> =
            serde_json::from_str(page.get()).map_err(|error| wrong(&error.to_string()))?;
        let items = fields.get(key).ok_or_else(|| wrong("it has no list"))?;
        let items: Vec<&RawValue> =
            serde_json::from_str(items.get()).map_err(|_| wrong("its list is none"))?;
        for item in items {
            bytes += item.get().len();
            if listed.items.len() >= MAX_ITEMS || bytes > MAX_BYTES {
                listed.cut = Some(format!(
                    "only {} are taken: more than {MAX_ITEMS}, or {} MiB, are too much",
                    listed.items.len(),
                    MAX_BYTES >> 20
                ));
                return Ok(listed);
            }
            listed.items.push(item.to_owned());
        }
        let next = fields.get("nextCursor");
        let next = next.and_then(|it| serde_json::from_str::<String>(it.get()).ok());
        match next.filter(|it| !it.is_empty()) {
            None => return Ok(listed),
            Some(next) if !seen.insert(next.clone()) => {
                listed.cut = Some("its pages go round in a circle".to_owned());
                return Ok(listed);
            }
            next => cursor = next,
        }
    }
    listed.cut = Some(format!("only {MAX_PAGES} pages are taken"));
    Ok(listed)
}

/// Leaves out tools that must not be called over HTTP.
pub(crate) fn leave_out_unusable(tools: &mut Listed) {
    for tool in std::mem::take(&mut tools.items) {
        match header_marks::fault(&tool) {
            None => tools.items.push(tool),
            Some(why) => tools.unusable.push((tool, why)),
        }
    }
}

/// The input schemas of tools whose arguments go into headers.
pub(crate) fn schemas_with_headers(tools: &Listed) -> HashMap<String, Value> {
    let marked = tools
        .items
        .iter()
        .filter(|it| it.get().contains(header_marks::MARK));
    let parsed = marked.filter_map(|it| serde_json::from_str::<Value>(it.get()).ok());
    parsed
        .filter_map(|mut tool| {
            let name = tool.get("name")?.as_str()?.to_owned();
            Some((name, tool.get_mut("inputSchema")?.take()))
        })
        .collect()
}

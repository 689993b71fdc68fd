//! The output of an operation as a resource: `ahma://operation/{id}/output`, in parts with `offset` and `length`.

use std::io;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::output::{MAX_PAGE_LEN, PageRequest};
use crate::service::context::ServiceContext;

const BEFORE: &str = "ahma://operation/";
const BEHIND: &str = "/output";
const TEMPLATE: &str = "ahma://operation/{operation_id}/output{?offset,length}";
/// The key of what is said of a part, in `_meta` of what is read.
const RANGE_KEY: &str = "ahma/range";
/// Bytes of one part.
const MAX_PART: usize = 1024 * 1024;

/// A part of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPart {
    /// Of this operation.
    pub(crate) id: String,
    offset: u64,
    length: usize,
}

/// The URI of the output of an operation.
pub(crate) fn uri(id: &str) -> String {
    format!("{BEFORE}{id}{BEHIND}")
}

/// How clients are told of such URIs.
pub(super) fn template() -> Value {
    let template = ResourceTemplate::new(TEMPLATE, "operation_output")
        .with_title("Output of an operation")
        .with_description("All that an operation has written, as long as it is remembered; `offset` and `length` count bytes.")
        .with_mime_type("text/plain");
    serde_json::to_value(template).unwrap_or_default()
}

/// The part that a URI names; none where it is no such URI.
pub(crate) fn part(uri: &str) -> Option<OutputPart> {
    let rest = uri.strip_prefix(BEFORE)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let id = path.strip_suffix(BEHIND).filter(|it| !it.contains('/'))?;
    let mut part = OutputPart {
        id: id.to_owned(),
        offset: 0,
        length: MAX_PART,
    };
    for pair in query.split('&').filter(|it| !it.is_empty()) {
        match pair.split_once('=')? {
            ("offset", number) => part.offset = number.parse().ok()?,
            ("length", number) => part.length = number.parse().ok().filter(|it| *it > 0)?,
            _ => return None,
        }
    }
    part.length = part.length.min(MAX_PART);
    Some(part)
}

/// Reads a part; none where no such operation is remembered.
pub(super) async fn read(
    context: &ServiceContext,
    part: OutputPart,
    uri: &str,
) -> Result<Option<ReadResourceResult>, ErrorData> {
    let Some(operation) = context.operations().get(&part.id) else {
        return Ok(None);
    };
    let unreadable = |error: io::Error| {
        ErrorData::internal_error(format!("the output cannot be read: {error}"), None)
    };
    let (mut text, mut first, mut end) = (String::new(), None, part.offset);
    let last = part.offset.saturating_add(part.length as u64);
    while end < last || first.is_none() {
        let rest = usize::try_from(last - end).unwrap_or(MAX_PAGE_LEN);
        // Shorter than the longest page, which would end with a line.
        let length = rest.min(MAX_PAGE_LEN - 1);
        let request = PageRequest::From {
            offset: end,
            length,
        };
        let page = operation.output().page(request).await;
        let page = page.map_err(unreadable)?;
        first.get_or_insert(page.offset);
        text.push_str(&page.text);
        if page.end <= end {
            break;
        }
        end = page.end;
    }
    let totals = operation.output().totals();
    let range = json!({ "offset": first, "end": end, "total": totals.bytes });
    let mut meta = rmcp::model::MetaObject::new();
    meta.insert(RANGE_KEY.to_owned(), range);
    let contents = ResourceContents::text(text, uri).with_meta(meta);
    Ok(Some(ReadResourceResult::new(vec![contents])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_from_uris() {
        let part_of = |uri: &str| part(uri).map(|it| (it.id, it.offset, it.length));
        let uri = uri("op_1");
        assert_eq!(part_of(&uri), Some(("op_1".to_owned(), 0, MAX_PART)));
        let with = |query: &str| part_of(&format!("{uri}{query}"));
        assert_eq!(with("?offset=5&length=7"), Some(("op_1".to_owned(), 5, 7)));
        assert_eq!(with("?length=99999999").unwrap().2, MAX_PART);
        for query in [
            "?offset=x",
            "?offset",
            "?length=0",
            "?more=1",
            "/",
            "?offset=-1",
        ] {
            assert_eq!(with(query), None, "{query}");
        }
        assert_eq!(part_of("ahma://operation/a/b/output"), None);
        assert_eq!(part_of("docs://operation/a/output"), None);
    }
}

//! The output of an operation as a resource, in parts. Must not know of other resources.

use std::io;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::output::{MAX_PAGE_LEN, PageRequest};
use crate::service::context::ServiceContext;
use crate::service::output_uri::OutputPart;

const TEMPLATE: &str = "ahma://operation/{operation_id}/output{?offset,length}";
/// The key of what is said of a part, in `_meta` of what is read.
const RANGE_KEY: &str = "ahma/range";
/// How clients are told of such URIs.
pub(super) fn template() -> Value {
    let template = ResourceTemplate::new(TEMPLATE, "operation_output")
        .with_title("Output of an operation")
        .with_description("All that an operation has written, as long as it is remembered; `offset` and `length` count bytes.")
        .with_mime_type("text/plain");
    serde_json::to_value(template).unwrap_or_default()
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

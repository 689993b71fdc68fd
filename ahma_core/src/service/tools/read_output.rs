//! `read_output`: reads a part of an operation's full output.

use std::io;
use std::time::Duration;

use rmcp::model::CallToolResult;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::built_in::{AnswerTool, Request};
use crate::output::{Output, PageRequest};
use crate::service::call_error::CallError;
use crate::service::caller_pattern;
use crate::service::respond;

/// How long a search may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);
const DEFAULT_LINES: u64 = 200;

/// The tool.
pub(super) struct ReadOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Which one.
    operation_id: String,
    /// First byte. Default: 0.
    #[schemars(range(min = 0))]
    offset: Option<u64>,
    /// At most this many bytes.
    #[schemars(range(min = 1))]
    length: Option<usize>,
    /// The last bytes instead.
    #[schemars(range(min = 1))]
    tail: Option<usize>,
    /// Regular expression: the lines that match instead.
    pattern: Option<String>,
    /// First line, counted from 1, instead of a byte.
    #[schemars(range(min = 1))]
    line: Option<u64>,
    /// At most this many lines; without `line` the last ones.
    #[schemars(range(min = 1))]
    lines: Option<u64>,
}

impl AnswerTool for ReadOutput {
    const NAME: &'static str = "read_output";
    const TITLE: &'static str = "Read output";
    const DESCRIPTION: &'static str = "Reads a part of an operation's full output: by bytes, by lines, the end, or the \
        lines that match a pattern.";
    type Args = Args;

    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        let id = &args.operation_id;
        let operation = request.context.operations().get(id);
        let operation = operation.ok_or_else(|| respond::no_operation(id))?;
        let text = match &args.pattern {
            Some(pattern) => search(operation.output(), pattern).await?,
            None if args.line.is_some() || args.lines.is_some() => {
                lines(operation.output(), &args).await?
            }
            None => page(operation.output(), &args).await?,
        };
        Ok(respond::text(text))
    }
}

async fn search(output: &Output, pattern: &str) -> Result<String, CallError> {
    let pattern = caller_pattern::pattern("pattern", pattern)?;
    let totals = output.totals();
    let searching = timeout(SEARCH_TIMEOUT, output.search(&pattern));
    let found = searching.await.map_err(|_| {
        let seconds = SEARCH_TIMEOUT.as_secs();
        CallError::new(format!("the search took more than {seconds} s"))
            .with_hint("use a simpler pattern, or read pages")
    })?;
    let (hits, count) = found.map_err(|error| unreadable(&error))?;
    let mut lines: Vec<String> = hits
        .iter()
        .map(|hit| format!("line {}, offset {}: {}", hit.line, hit.offset, hit.text))
        .collect();
    let (total, shown) = (totals.lines, hits.len());
    lines.push(format!(
        "[{count} of {total} lines match, {shown} are shown]"
    ));
    Ok(lines.join("\n"))
}

async fn lines(output: &Output, args: &Args) -> Result<String, CallError> {
    if args.offset.is_some() || args.length.is_some() || args.tail.is_some() {
        let why = "line and lines count lines; offset, length and tail count bytes";
        return Err(CallError::new(why).with_hint("use one or the other"));
    }
    let totals = output.totals();
    let count = args.lines.unwrap_or(DEFAULT_LINES);
    let from_the_end = totals.lines.saturating_sub(count) + 1;
    let first = args.line.unwrap_or(from_the_end).max(1);
    let reading = timeout(SEARCH_TIMEOUT, output.lines(first, count)).await;
    let late = |_| CallError::failed("the line could not be found in time").with_hint("read bytes");
    let found = reading.map_err(late)?.map_err(|error| unreadable(&error))?;
    let mut text = found.text;
    let ends_in_a_line = found.is_cut && !text.ends_with('\n');
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let shown = match found.count {
        0 => "no lines".to_owned(),
        count => format!("lines {first} to {}", first.saturating_add(count) - 1),
    };
    let next = first.saturating_add(found.count);
    let more = match () {
        () if ends_in_a_line => {
            "; this line is longer than can be shown, offsets read the rest".to_owned()
        }
        () if found.count > 0 && next <= totals.lines => format!("; more from line {next} on"),
        () => String::new(),
    };
    Ok(format!("{text}[{shown} of {}{more}]", totals.lines))
}

async fn page(output: &Output, args: &Args) -> Result<String, CallError> {
    let offset = args.offset.unwrap_or(0);
    let request = match (args.tail, args.length) {
        (Some(length), _) => PageRequest::Tail { length },
        (None, Some(length)) => PageRequest::From { offset, length },
        (None, None) => PageRequest::Usual { offset },
    };
    let totals = output.totals();
    let page = output.page(request).await;
    let page = page.map_err(|error| unreadable(&error))?;
    let lost = match page.lost_before {
        true => "; what comes before was not kept",
        false => "",
    };
    let more = match page.end < totals.bytes {
        true => format!("; more from offset {} on", page.end),
        false => String::new(),
    };
    Ok(format!(
        "{}\n[bytes {} to {} of {} in {} lines{lost}{more}]",
        page.text, page.offset, page.end, totals.bytes, totals.lines
    ))
}

fn unreadable(error: &io::Error) -> CallError {
    CallError::new(format!("the output cannot be read: {error}"))
}

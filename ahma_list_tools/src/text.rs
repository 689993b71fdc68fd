//! Tools for people: in groups, at most 80 columns wide.

use std::collections::BTreeMap;

use ahma_http_mcp_client::Tool;
use serde_json::{Map, Value};
use textwrap::{Options, fill};

const WIDTH: usize = 80;
/// A group has at least this many tools; others are listed together.
const GROUP: usize = 2;
const ALONE: &str = "single tools";

/// All tools as text.
pub(crate) fn listing(tools: &[Tool]) -> String {
    if tools.is_empty() {
        return "The server offers no tools.\n".to_owned();
    }
    let mut text = format!("{} tools\n", tools.len());
    for (name, members) in groups(tools) {
        text.push_str(&format!("\n{name} ({})\n", members.len()));
        for tool in members {
            text.push_str(&described(tool));
        }
    }
    text
}

/// Tools by what their names begin with, those that are alone first.
fn groups(tools: &[Tool]) -> Vec<(String, Vec<&Tool>)> {
    let mut by_beginning: BTreeMap<String, Vec<&Tool>> = BTreeMap::new();
    for tool in tools {
        let name = printable(&tool.name);
        let beginning = name.split('_').next().unwrap_or_default().to_owned();
        by_beginning.entry(beginning).or_default().push(tool);
    }
    let (groups, alone): (Vec<_>, Vec<_>) = by_beginning
        .into_iter()
        .partition(|(_, members)| members.len() >= GROUP);
    let alone: Vec<&Tool> = alone.into_iter().flat_map(|(_, members)| members).collect();
    let first = (!alone.is_empty()).then(|| (ALONE.to_owned(), alone));
    first.into_iter().chain(groups).collect()
}

fn described(tool: &Tool) -> String {
    let mut text = format!("  {}\n", printable(&tool.name));
    let description = printable(tool.description.as_deref().unwrap_or_default());
    if !description.is_empty() {
        text.push_str(&indented(&description));
    }
    let arguments = arguments(&tool.input_schema);
    if !arguments.is_empty() {
        text.push_str(&indented(&format!("arguments: {}", arguments.join(", "))));
    }
    text
}

fn indented(paragraph: &str) -> String {
    let options = Options::new(WIDTH)
        .initial_indent("      ")
        .subsequent_indent("      ");
    format!("{}\n", fill(paragraph, options))
}

/// Names and types; what must be given first, with a star.
fn arguments(schema: &Map<String, Value>) -> Vec<String> {
    let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut all: Vec<(bool, String)> = properties
        .into_iter()
        .flatten()
        .map(|(name, about)| {
            let is_required = required.contains(&name.as_str());
            let star = if is_required { "*" } else { "" };
            let kind = about.get("type").and_then(Value::as_str).unwrap_or("any");
            (
                !is_required,
                format!("{}{star} ({})", printable(name), printable(kind)),
            )
        })
        .collect();
    all.sort_by_key(|(is_optional, _)| *is_optional);
    all.into_iter().map(|(_, argument)| argument).collect()
}

/// A server's text cannot steer the terminal.
fn printable(text: &str) -> String {
    let words = text.split_whitespace();
    let joined = words.collect::<Vec<_>>().join(" ");
    joined
        .chars()
        .filter(|letter| !letter.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, schema: &Value) -> Tool {
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name.to_owned(), description.to_owned(), Arc::new(schema))
    }

    #[test]
    fn tools_are_grouped_and_no_line_is_too_long() {
        let long = "Does something that takes many words to describe, and then some more words, \
                    so that it does not fit into a line of eighty columns.";
        let tools = [
            tool(
                "git_log",
                long,
                &json!({ "properties": { "count": { "type": "integer" }, "path": { "type": "string" } }, "required": ["path"] }),
            ),
            tool("await", "Waits.", &json!({})),
            tool("git_add", "Adds.", &json!({})),
        ];
        let text = listing(&tools);
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        insta::assert_snapshot!(text, @r"
        3 tools

        single tools (1)
          await
              Waits.

        git (2)
          git_log
              Does something that takes many words to describe, and then some more
              words, so that it does not fit into a line of eighty columns.
              arguments: path* (string), count (integer)
          git_add
              Adds.
        ");
    }

    #[test]
    fn a_description_cannot_steer_the_terminal() {
        let text = listing(&[tool("x", "a\u{1b}[2Jb\r\nc\u{9b}d", &json!({}))]);
        assert!(
            text.chars()
                .all(|letter| letter == '\n' || !letter.is_control()),
            "{text:?}"
        );
    }
}

//! `find_tools`: searches the tools that are not listed.

use rmcp::model::{CallToolResult, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::built_in::{AnswerTool, Request};
use crate::service::call_error::CallError;
use crate::service::respond;

const DEFAULT_TOOLS: usize = 5;
const MAX_TOOLS: usize = 50;
/// Words of a query that are looked for.
const MAX_WORDS: usize = 20;

/// The tool.
pub(super) struct FindTools;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Words of names and descriptions. Without it, all names.
    query: Option<String>,
    /// At most this many.
    #[serde(default = "default_tools")]
    #[schemars(range(min = 1, max = MAX_TOOLS))]
    limit: usize,
}

fn default_tools() -> usize {
    DEFAULT_TOOLS
}

impl AnswerTool for FindTools {
    const NAME: &'static str = "find_tools";
    const TITLE: &'static str = "Find tools";
    const DESCRIPTION: &'static str =
        "Finds tools that are not listed here, with what they take. `call_tool` calls them.";
    type Args = Args;

    async fn answer(request: Request<'_>, args: Args) -> Result<CallToolResult, CallError> {
        let offered = request.context.registry.current();
        let query = args.query.filter(|query| !query.trim().is_empty());
        let Some(query) = query else {
            let names = offered.hidden().iter().map(|it| &*it.definition.name);
            return Ok(respond::text(names.collect::<Vec<_>>().join("\n")));
        };
        // How much there is to search, projects decide.
        let searching = spawn_blocking(move || {
            let tools = offered.hidden().iter().map(|it| &it.definition);
            let found = ranked(tools, &words(&query));
            let best = found.iter().take(args.limit);
            let best: Vec<Tool> = best.map(|(_, tool)| (*tool).clone()).collect();
            (best, found.len())
        });
        let stopped = |_| CallError::failed("the server stops");
        let (found, count) = searching.await.map_err(stopped)?;
        if found.is_empty() {
            let what = "no unlisted tool matches; `find_tools` without a query names all of them";
            return Ok(respond::text(what));
        }
        let mut lines: Vec<String> = found.iter().map(shown).collect();
        if count > found.len() {
            let more = count - found.len();
            lines.push(format!(
                "[{more} more match; use other words, or a larger `limit`]"
            ));
        }
        let mut result = respond::text(lines.join("\n\n"));
        result.structured_content = Some(json!({ "tools": found }));
        Ok(result)
    }
}

/// A tool as a model needs it to call it.
fn shown(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let mut properties = tool
        .input_schema
        .get("properties")
        .cloned()
        .unwrap_or_default();
    if let Value::Object(properties) = &mut properties {
        // Every tool takes these.
        properties.retain(|name, _| !crate::config::META_PARAMETERS.contains(&name.as_str()));
    }
    let required = tool.input_schema.get("required");
    let required = required.map(|it| format!("\n  required: {it}"));
    format!(
        "{}: {description}\n  arguments: {properties}{}",
        tool.name,
        required.unwrap_or_default()
    )
}

fn words(query: &str) -> Vec<String> {
    let words = query.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(MAX_WORDS);
    words.map(str::to_lowercase).collect()
}

/// The tools that answer a query, the best first; equal ones in the order of the files. A word that many tools share
/// says little, one of a name most.
fn ranked<'t>(tools: impl Iterator<Item = &'t Tool>, query: &[String]) -> Vec<(f64, &'t Tool)> {
    let matches: Vec<(&Tool, Vec<f64>)> = tools
        .map(|tool| (tool, query_matches(tool, query)))
        .collect();
    let count = matches.len().max(1);
    #[expect(clippy::cast_precision_loss, reason = "some hundred tools")]
    let rarity = |word: usize| {
        let with_it = matches
            .iter()
            .filter(|(_, found)| found[word] > 0.0)
            .count();
        (1.0 + count as f64 / with_it.max(1) as f64).ln()
    };
    let rarities: Vec<f64> = (0..query.len()).map(rarity).collect();
    let mut ranked: Vec<(f64, &Tool)> = matches
        .iter()
        .map(|(tool, found)| {
            let weighed = found
                .iter()
                .zip(&rarities)
                .map(|(match_, rare)| match_ * rare);
            (weighed.sum(), *tool)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    ranked
}

/// How well each word of a query is found in a tool.
fn query_matches(tool: &Tool, query: &[String]) -> Vec<f64> {
    let (name, text) = (words(&tool.name), words_of_text(tool));
    let near = |one: &str, other: &str, least: usize| {
        one.len().min(other.len()) >= least && (one.starts_with(other) || other.starts_with(one))
    };
    let of_word = |word: &String| match () {
        () if name.contains(word) => 4.0,
        () if name.iter().any(|it| near(it, word, 3)) => 3.0,
        () if text.contains(word) => 2.0,
        () if text.iter().any(|it| near(it, word, 4)) => 1.0,
        () => 0.0,
    };
    query.iter().map(of_word).collect()
}

fn words_of_text(tool: &Tool) -> Vec<String> {
    let description = tool.description.as_deref().unwrap_or_default();
    let title = tool.title.as_deref().unwrap_or_default();
    let text = format!("{title} {description}");
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

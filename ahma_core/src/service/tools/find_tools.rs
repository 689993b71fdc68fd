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
/// Tools that are listed anyway and answer a query: so many are named.
const MAX_LISTED: usize = 5;
/// A longer description is cut.
const MAX_DESCRIPTION_LEN: usize = 400;

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
            let hidden = offered.hidden().iter().map(|it| (&*it.definition, true));
            let listed = offered.listed().iter().map(|it| (&**it, false));
            found(hidden.chain(listed), &query, args.limit)
        });
        let stopped = |_| CallError::failed("the server stops");
        let found = searching.await.map_err(stopped)?;
        let mut lines: Vec<String> = found.tools.iter().map(shown).collect();
        if found.tools.is_empty() {
            let what = "no unlisted tool matches; `find_tools` without a query names all of them";
            lines.push(what.to_owned());
        }
        if found.more > 0 {
            let more = found.more;
            lines.push(format!(
                "[{more} more match; use other words, or a larger `limit`]"
            ));
        }
        if !found.listed.is_empty() {
            let names = found.listed.join(", ");
            lines.push(format!(
                "[listed already, to be called by their names: {names}]"
            ));
        }
        let mut result = respond::text(lines.join("\n\n"));
        if !found.tools.is_empty() {
            result.structured_content = Some(json!({ "tools": found.tools }));
        }
        Ok(result)
    }
}

/// What answers a query.
struct Found {
    /// The best of the tools that are not listed.
    tools: Vec<Tool>,
    /// How many more of them there are.
    more: usize,
    /// Names of tools that are listed and answer it as well as these.
    listed: Vec<String>,
}

/// Searches tools, each with whether it is hidden. Blocks for a moment.
fn found<'t>(tools: impl Iterator<Item = (&'t Tool, bool)>, query: &str, limit: usize) -> Found {
    let mut found = Found {
        tools: Vec::new(),
        more: 0,
        listed: Vec::new(),
    };
    for (tool, is_hidden) in ranked(tools, &words(query)) {
        let is_full = found.tools.len() >= limit;
        match is_hidden {
            true if is_full => found.more += 1,
            true => found.tools.push(tool.clone()),
            false if !is_full && found.listed.len() < MAX_LISTED => {
                found.listed.push(tool.name.to_string());
            }
            false => {}
        }
    }
    found
}

/// A text up to a length, cut behind a sentence, or behind a word where the last sentence would take too much with it.
fn cut(text: &str, length: usize) -> String {
    if text.len() <= length {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(length)];
    let blank = |(at, letter): (usize, char)| letter.is_whitespace().then_some(at);
    // The kept part may end with a word, whose end is then behind it.
    let mut ends = text[..text.ceil_char_boundary(kept.len() + 1)]
        .char_indices()
        .rev()
        .filter_map(blank);
    let sentence = ends
        .clone()
        .find(|at| kept[..*at].ends_with(['.', '!', '?']));
    let sentence = sentence.filter(|at| *at >= length / 2);
    let end = sentence.or_else(|| ends.next()).unwrap_or(kept.len());
    format!("{} …", kept[..end].trim_end())
}

/// A tool as a model needs it to call it.
fn shown(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let description = cut(description, MAX_DESCRIPTION_LEN);
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

/// The tools that answer a query, the best first; equal ones in the order of the files. One of just that name comes first. A
/// word that many tools share says little, one of a name most.
fn ranked<'t>(
    tools: impl Iterator<Item = (&'t Tool, bool)>,
    query: &[String],
) -> Vec<(&'t Tool, bool)> {
    let matches: Vec<((&Tool, bool), Vec<f64>)> =
        tools.map(|it| (it, query_matches(it.0, query))).collect();
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
    let score = |tool: &Tool, found: &[f64]| match words(&tool.name) == query {
        true => f64::INFINITY,
        false => found
            .iter()
            .zip(&rarities)
            .map(|(it, rare)| it * rare)
            .sum(),
    };
    let mut ranked: Vec<(f64, (&Tool, bool))> = matches
        .iter()
        .map(|(tool, found)| (score(tool.0, found), *tool))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    ranked.into_iter().map(|(_, tool)| tool).collect()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Map;

    use super::*;

    fn tool(name: &'static str, description: &'static str) -> Tool {
        Tool::new(name, description, Arc::new(Map::new()))
    }

    /// The names of hidden tools that are found, and of listed ones.
    fn names(tools: &[(Tool, bool)], query: &str, limit: usize) -> (Vec<String>, Vec<String>) {
        let tools = tools.iter().map(|(tool, is_hidden)| (tool, *is_hidden));
        let found = found(tools, query, limit);
        let hidden = found.tools.iter().map(|it| it.name.to_string());
        (hidden.collect(), found.listed)
    }

    #[test]
    fn a_name_comes_before_parts_of_names_and_these_before_descriptions() {
        let tools = [
            (tool("docs", "What make does."), true),
            (tool("maker", "M."), true),
            (tool("make_test", "T."), true),
            (tool("make", "M."), true),
            (tool("other", "O."), true),
        ];
        let expected = ["make", "make_test", "maker", "docs"].map(str::to_owned);
        assert_eq!(names(&tools, "make", 9), (expected.to_vec(), vec![]));
        let two = ["make_test", "make"].map(str::to_owned);
        assert_eq!(names(&tools, "make_test", 2), (two.to_vec(), vec![]));
    }

    #[test]
    fn listed_tools_that_answer_as_well_are_named() {
        let tools = [
            (tool("git_init", "Makes a repository."), true),
            (tool("git_clone", "Copies a repository."), true),
            (tool("git_status", "Shows what has changed."), false),
            (tool("status", "Lists operations."), false),
        ];
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let found = names(&tools, "git status", 9);
        let hidden = owned(&["git_init", "git_clone"]);
        assert_eq!(found, (hidden, owned(&["git_status", "status"])));
        // What is worse than the last that is shown is not worth a word.
        let found = names(&tools, "git init", 1);
        assert_eq!(found, (owned(&["git_init"]), vec![]));
        assert_eq!(
            names(&tools, "changed", 9),
            (vec![], owned(&["git_status"]))
        );
    }

    #[test]
    fn a_long_description_is_cut_behind_a_sentence_or_a_word() {
        for (text, expected) in [
            ("Short.", "Short."),
            ("Exactly twenty chars", "Exactly twenty chars"),
            ("One sentence. Another one.", "One sentence. …"),
            ("A. Then a very long sentence.", "A. Then a very long …"),
            ("Words up to the limit, and on", "Words up to the …"),
            ("Twenty letters, then more words", "Twenty letters, then …"),
            ("Straßenbahnhaltestellenschild", "Straßenbahnhalteste …"),
        ] {
            assert_eq!(cut(text, 20), expected);
        }
    }
}

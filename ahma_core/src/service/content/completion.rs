//! Values that can be proposed: those that a file lists, or that a confined command prints. Must not run a command for more than two
//! seconds, nor again within five.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompletionInfo, Reference};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::lists::{ContentKind, offered};
use crate::config::content::ResourcePlace;
use crate::config::{CompleteSpec, ToolSpec, nearest};
use crate::executor::CommandOutput;
use crate::service::context::ServiceContext;
use crate::service::respond::cut;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Values of one command.
const MAX_VALUES: usize = 5000;
/// Bytes of one value.
const MAX_VALUE_LEN: usize = 500;
/// Values that are named when a call has failed.
const NAMED: usize = 10;

/// All values that can be proposed.
async fn values(context: &ServiceContext, spec: &CompleteSpec) -> Arc<[String]> {
    match spec {
        CompleteSpec::Values(values) => values.as_slice().into(),
        CompleteSpec::Command(words) => {
            let printed = context.proposals.printed(words);
            let run = || async {
                let words = words.iter().map(OsString::from).collect();
                let ran = timeout(PATIENCE, context.internal.run_in_scope(words)).await;
                let output = ran.ok().flatten().filter(|it| it.code == 0);
                output.map(|it| lines(&it)).unwrap_or_default()
            };
            Arc::clone(printed.get_or_init(run).await)
        }
    }
}

/// The lines of what a command printed, each once. Half a line at the end of what was read is none.
fn lines(printed: &CommandOutput) -> Arc<[String]> {
    let length = match printed.is_whole {
        true => printed.output.len(),
        false => printed
            .output
            .iter()
            .rposition(|it| *it == b'\n')
            .unwrap_or(0),
    };
    let text = String::from_utf8_lossy(&printed.output[..length]);
    let mut known = std::collections::HashSet::new();
    let lines = text.lines().map(str::trim);
    let is_value = |it: &&str| {
        !it.is_empty() && it.len() <= MAX_VALUE_LEN && !it.chars().any(char::is_control)
    };
    let lines = lines.filter(is_value).filter(|it| known.insert(*it));
    lines.take(MAX_VALUES).map(str::to_owned).collect()
}

/// Answers a client that wants to propose something.
pub(crate) async fn complete(
    context: &ServiceContext,
    request: CompleteRequestParams,
) -> Result<CompletionInfo, ErrorData> {
    let (name, typed) = (request.argument.name, request.argument.value);
    let content = Arc::clone(&context.registry.content().borrow());
    let spec = match &request.r#ref {
        Reference::Prompt(prompt) => match content.prompt(&prompt.name) {
            Some(spec) => {
                let argument = spec.arguments.iter().find(|it| it.name == name);
                let argument = argument.ok_or_else(|| none("argument", &name))?;
                argument.complete.clone()
            }
            None => not_ours(context, ContentKind::Prompts, "name", &prompt.name).await?,
        },
        Reference::Resource(resource) => match content.family(&resource.uri) {
            Some(spec) => {
                let is_there =
                    matches!(&spec.place, ResourcePlace::Family(it) if it.names().contains(&name));
                if !is_there {
                    return Err(none("variable", &name));
                }
                let variable = spec.completions.iter().find(|(it, _)| *it == name);
                variable.map(|(_, spec)| spec.clone())
            }
            None => {
                not_ours(
                    context,
                    ContentKind::Templates,
                    "uriTemplate",
                    &resource.uri,
                )
                .await?
            }
        },
        _ => None,
    };
    let Some(spec) = spec else {
        return Ok(CompletionInfo::default());
    };
    let all = values(context, &spec).await;
    Ok(matching(&all, &typed))
}

/// What another server offers has no proposals of ours; what nobody offers is a mistake.
async fn not_ours(
    context: &ServiceContext,
    kind: ContentKind,
    key: &str,
    wanted: &str,
) -> Result<Option<CompleteSpec>, ErrorData> {
    let mut all = offered(context, kind).await.into_iter();
    match all.any(|it| it[key] == wanted) {
        true => Ok(None),
        false => Err(none(
            match kind {
                ContentKind::Prompts => "prompt",
                _ => "resource template",
            },
            wanted,
        )),
    }
}

fn none(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no {what} `{}`", cut(name)), None)
}

/// Values that begin with what was typed, then those that hold it.
fn matching(all: &[String], typed: &str) -> CompletionInfo {
    let typed = typed.to_lowercase();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for value in all {
        match value.to_lowercase().find(&typed) {
            Some(0) => first.push(value.clone()),
            Some(_) => second.push(value.clone()),
            None => {}
        }
    }
    first.append(&mut second);
    let total = first.len();
    first.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.has_more = Some(total > first.len());
    info.total = u32::try_from(total).ok();
    info.values = first;
    info
}

/// What a failed call may have meant: of each argument whose value is none of those that are likely.
pub(crate) async fn near(
    context: &ServiceContext,
    tool: &ToolSpec,
    given: &Map<String, Value>,
) -> Vec<String> {
    let mut told = Vec::new();
    for argument in &tool.arguments {
        let (Some(spec), Some(value)) = (&argument.complete, given.get(&argument.name)) else {
            continue;
        };
        let all = values(context, spec).await;
        if all.is_empty() {
            continue;
        }
        let given = match value {
            Value::Array(elements) => elements.as_slice(),
            value => std::slice::from_ref(value),
        };
        let unknown = given
            .iter()
            .filter_map(Value::as_str)
            .filter(|value| !all.iter().any(|it| it == value));
        told.extend(unknown.map(|value| unlike(&argument.name, cut(value), &all)));
    }
    told
}

/// What is said of a value that is none of those that are likely.
fn unlike(name: &str, value: &str, all: &[String]) -> String {
    if let Some(meant) = nearest(value, all.iter().map(String::as_str)) {
        return format!("{name}: `{value}` is not known here; did you mean `{meant}`?");
    }
    let known: Vec<&str> = all.iter().take(NAMED).map(String::as_str).collect();
    let more = match all.len() - known.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{name}: `{value}` is not known here; known: {}{more}",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_as_it_was_typed_comes_first() {
        let all = ["main", "Domain", "mail", "other"].map(str::to_owned);
        let found = matching(&all, "MAI");
        assert_eq!(found.values, ["main", "mail", "Domain"]);
        assert_eq!((found.total, found.has_more), (Some(3), Some(false)));
        let many: Vec<String> = (0..300).map(|it| format!("v{it}")).collect();
        let found = matching(&many, "");
        assert_eq!(found.values.len(), CompletionInfo::MAX_VALUES);
        assert_eq!((found.total, found.has_more), (Some(300), Some(true)));
    }

    #[test]
    fn lines_that_are_no_values_are_left_out() {
        let mut printed = CommandOutput {
            code: 0,
            output: b"one\n\n  two \none\n\x1b[1mthree\n\xff\nfo".to_vec(),
            is_whole: true,
        };
        let all = ["one", "two", "\u{fffd}", "fo"].map(str::to_owned);
        assert_eq!(*lines(&printed), all);
        printed.is_whole = false;
        assert_eq!(*lines(&printed), all[..3]);
    }
}

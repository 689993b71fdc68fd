//! What the owner reads of servers behind this one: lists, differences, line by line. Must not start or change anything.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::config::downstream::{DownstreamConfig, ServerSpec, StartMode};
use crate::downstream::{Difference, FieldChange, Inspected, Known, differences};

/// Lines that are shown around those that changed.
const CONTEXT: usize = 3;

/// The servers of a file, each with what is known of it, as a document.
pub(super) fn document(config: &DownstreamConfig, known: &[Known]) -> Value {
    let servers = config.servers.iter().zip(known).map(|(spec, known)| {
        json!({
            "name": spec.name,
            "type": spec.transport.kind(),
            "start": start(spec),
            "pin": spec.pin,
            "sandbox": spec.sandbox,
            "tools": known.tools,
            "held": known.held,
        })
    });
    let servers: Vec<Value> = servers.collect();
    json!({ "file": config.path, "servers": servers, "disabled": config.disabled })
}

/// The same for people.
pub(super) fn list(config: &DownstreamConfig, known: &[Known]) -> String {
    let mut text = format!("{}\n", config.path.display());
    for (spec, known) in config.servers.iter().zip(known) {
        let (name, kind, start) = (&spec.name, spec.transport.kind(), start(spec));
        let _ = write!(text, "{name}: {kind}, {start}");
        if spec.sandbox {
            text.push_str(", confined");
        }
        let _ = match known.tools {
            Some(tools) => write!(text, ", {tools} tools known"),
            None => write!(text, ", never asked"),
        };
        if !known.held.is_empty() {
            let held: Vec<String> = known.held.iter().map(|it| visible(it)).collect();
            let _ = write!(text, ", held: {}", held.join(", "));
        }
        text.push('\n');
    }
    for name in &config.disabled {
        let _ = writeln!(text, "{name}: disabled");
    }
    text
}

/// What there is to say where no file names servers.
pub(super) fn no_file(path: &Path) -> String {
    format!(
        "no servers: there is no {}; `ahma_mcp downstream import` can make one\n",
        path.display()
    )
}

fn start(spec: &ServerSpec) -> &'static str {
    match spec.start {
        StartMode::Lazy => "lazy",
        StartMode::Eager => "eager",
    }
}

/// How a server was found, and what can be done.
pub(super) fn state(spec: &ServerSpec, inspected: &Result<Inspected, String>) -> String {
    let name = &spec.name;
    let inspected = match inspected {
        Err(why) => return format!("{name}: cannot be reached: {}\n", visible(why)),
        Ok(inspected) => inspected,
    };
    let mut text = match &inspected.approved {
        None => format!(
            "{name}: new: nothing of it is approved yet, {} tools\n",
            inspected.now.len()
        ),
        Some(approved) => {
            let found = differences(approved, &inspected.now);
            let parts = [
                named("changed", &found, changed),
                named("new", &found, |it| {
                    matches!(it, Difference::New { .. }).then(|| visible(it.tool()))
                }),
                named("gone", &found, |it| {
                    matches!(it, Difference::Gone { .. }).then(|| visible(it.tool()))
                }),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            match parts.is_empty() {
                true => format!("{name}: ok, {} tools\n", approved.len()),
                false => format!("{name}: {}\n", parts.join("; ")),
            }
        }
    };
    if let Some(cut) = &inspected.cut {
        let _ = writeln!(text, "  {cut}");
    }
    text
}

fn named(
    word: &str,
    found: &[Difference],
    part: impl Fn(&Difference) -> Option<String>,
) -> Option<String> {
    let parts: Vec<String> = found.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("{word}: {}", parts.join(", ")))
}

fn changed(difference: &Difference) -> Option<String> {
    let Difference::Changed { tool, fields } = difference else {
        return None;
    };
    let fields: Vec<String> = fields.iter().map(|it| visible(&it.field)).collect();
    Some(format!("{} ({})", visible(tool), fields.join(", ")))
}

/// Differences in full: approved lines with `-`, those of now with `+`.
pub(super) fn in_full<'d>(found: impl IntoIterator<Item = &'d Difference>) -> String {
    let mut text = String::new();
    for difference in found {
        let tool = visible(difference.tool());
        match difference {
            Difference::Changed { fields, .. } => {
                let _ = writeln!(text, "changed: {tool}");
                for change in fields {
                    let _ = writeln!(text, "  {}:", visible(&change.field));
                    text.push_str(&field(change));
                }
            }
            Difference::New { definition, .. } => {
                let _ = writeln!(text, "new: {tool}");
                marked(&mut text, '+', &lines(Some(definition)));
            }
            Difference::Gone { .. } => {
                let _ = writeln!(text, "gone: {tool}");
            }
        }
    }
    text
}

/// A field before and after, with some lines around what changed.
fn field(change: &FieldChange) -> String {
    let (before, after) = (lines(change.approved.as_ref()), lines(change.now.as_ref()));
    let pairs = || before.iter().zip(&after);
    let same_first = pairs().take_while(|(one, other)| one == other).count();
    let (before_rest, after_rest) = (&before[same_first..], &after[same_first..]);
    let from_end = before_rest.iter().rev().zip(after_rest.iter().rev());
    let same_last = from_end.take_while(|(one, other)| one == other).count();
    let mut text = String::new();
    let first = same_first.saturating_sub(CONTEXT);
    marked(&mut text, ' ', &before[first..same_first]);
    marked(
        &mut text,
        '-',
        &before_rest[..before_rest.len() - same_last],
    );
    marked(&mut text, '+', &after_rest[..after_rest.len() - same_last]);
    let last = &before[before.len() - same_last..];
    marked(&mut text, ' ', &last[..last.len().min(CONTEXT)]);
    text
}

fn marked(text: &mut String, mark: char, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "  {mark} {line}");
    }
}

/// A value, a line for each part of it; none where there is no value.
fn lines(value: Option<&Value>) -> Vec<String> {
    let text = value.map(|it| format!("{:#}", sorted(it)));
    let text = text.unwrap_or_default();
    text.lines().map(visible).collect()
}

/// A value with its fields in one order: only what they hold is compared.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(object) => {
            let mut fields: Vec<(&String, &Value)> = object.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A text of somebody else in which nothing is hidden: letters that terminals obey, or do not show, are spelled out.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() || is_unseen(letter) {
            true => shown.extend(letter.escape_unicode()),
            false => shown.push(letter),
        }
    }
    shown
}

/// Letters that take no room, or turn the direction of others: a model reads them, a person does not.
fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C25.
    #[test]
    fn nothing_of_a_definition_is_hidden_from_its_reader() {
        let change = FieldChange {
            field: "inputSchema".to_owned(),
            approved: Some(json!({ "b": 1, "a": [1, 2], "c": 3, "d": 4, "e": 5, "f": 6 })),
            now: Some(
                json!({ "a": [1, 2], "b": "x\u{200b}\u{9b}", "c": 3, "d": 4, "e": 5, "f": 6 }),
            ),
        };
        let expected = [
            "        1,",
            "        2",
            "      ],",
            "  -   \"b\": 1,",
            "  +   \"b\": \"x\\u{200b}\\u{9b}\",",
            "      \"c\": 3,",
            "      \"d\": 4,",
            "      \"e\": 5,",
        ];
        assert_eq!(field(&change).lines().collect::<Vec<_>>(), expected);
        let gone = FieldChange {
            field: "title".to_owned(),
            approved: Some(json!("t")),
            now: None,
        };
        assert_eq!(field(&gone), "  - \"t\"\n");
    }
}

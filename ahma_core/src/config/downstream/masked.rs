//! The text of an `mcp.json` as it may be shown: every value that could be a secret is replaced by asterisks.
//!
//! Decides by the place of a value, and hides what it does not know. Keeps every byte offset, so that faults can still be
//! shown where they are.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;

use super::raw::LISTS;

/// Fields of an entry whose values are no secrets.
const SHOWN: [&str; 13] = [
    "type",
    "cwd",
    "disabled",
    "start",
    "idle_minutes",
    "prefix",
    "tools",
    "pin",
    "timeout_seconds",
    "sandbox",
    "network",
    "per_session",
    "protocol_version",
];

/// Masks a text that was parsed.
pub(super) fn mask(text: &str, tree: &Value<'_>) -> String {
    let mut hidden = Vec::new();
    match tree {
        Value::Object(root) => {
            for member in &root.properties {
                match (member.name.as_str(), &member.value) {
                    ("$schema", _) => {}
                    (list, Value::Object(servers)) if LISTS.contains(&list) => {
                        for server in &servers.properties {
                            hide_in_entry(&server.value, text, &mut hidden);
                        }
                    }
                    (_, value) => hide(value, &mut hidden),
                }
            }
        }
        other => hide(other, &mut hidden),
    }
    let mut bytes = text.as_bytes().to_vec();
    for byte in hidden.into_iter().flatten() {
        if let Some(byte) = bytes.get_mut(byte) {
            *byte = b'*';
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn hide_in_entry(entry: &Value<'_>, text: &str, hidden: &mut Vec<Range<usize>>) {
    let Value::Object(entry) = entry else {
        return hide(entry, hidden);
    };
    for field in &entry.properties {
        match (field.name.as_str(), &field.value) {
            (name, _) if SHOWN.contains(&name) => {}
            ("url", Value::StringLit(url)) => {
                // The scheme is what is most often wrong; the rest may hold a key.
                let (start, end) = (url.start(), url.end().saturating_sub(1));
                let is_scheme =
                    |it: &&str| it.len() < 6 && it.bytes().all(|it| it.is_ascii_alphabetic());
                let scheme = text
                    .get(start + 1..end)
                    .and_then(|it| it.split_once("://"))
                    .map(|(scheme, _)| scheme)
                    .filter(is_scheme);
                let shown = scheme.map_or(0, |it| it.len() + "://".len());
                hidden.push(start + 1 + shown..end);
            }
            ("command", Value::StringLit(command)) if is_one_word(&command.value) => {}
            (_, value) => hide(value, hidden),
        }
    }
}

/// Whether a command is no more than a program: who writes variables in front of it writes their values too.
fn is_one_word(command: &str) -> bool {
    !command.contains(|letter: char| letter.is_whitespace() || letter == '=')
}

/// Hides all texts and numbers of a value; its structure and the names in it stay.
fn hide(value: &Value<'_>, hidden: &mut Vec<Range<usize>>) {
    match value {
        Value::StringLit(text) => hidden.push(text.start() + 1..text.end().saturating_sub(1)),
        Value::NumberLit(number) => hidden.push(number.start()..number.end()),
        Value::BooleanLit(_) | Value::NullKeyword(_) => {}
        Value::Array(array) => {
            for element in &array.elements {
                hide(element, hidden);
            }
        }
        Value::Object(object) => {
            for member in &object.properties {
                hide(&member.value, hidden);
            }
        }
    }
}

/// Masks a text that could not be parsed. Nobody can tell where its values are, so only the punctuation of JSON and names
/// of fields between two quotes are left.
pub(super) fn mask_unparsed(text: &str) -> String {
    let known = |part: &&str| {
        SHOWN.contains(part)
            || LISTS.contains(part)
            || ["args", "command", "env", "headers", "oauth", "url"].contains(part)
    };
    let parts: Vec<String> = text
        .split('"')
        .map(|part| match known(&part) {
            true => part.to_owned(),
            false => part.chars().map(mask_letter).collect(),
        })
        .collect();
    parts.join("\"")
}

fn mask_letter(letter: char) -> String {
    match letter {
        '{' | '}' | '[' | ']' | ':' | ',' | '\'' | '/' => letter.to_string(),
        letter if letter.is_ascii_whitespace() => letter.to_string(),
        other => "*".repeat(other.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::mask_unparsed;

    #[test]
    fn of_a_broken_text_only_punctuation_and_names_of_fields_are_left() {
        let text = r#"{"servers": {"a": {"env": {"T": "hunter2", "ü"#;
        let masked = mask_unparsed(text);
        let expected = r#"{"servers": {"*": {"env": {"*": "*******", "**"#;
        assert_eq!(masked, expected);
        assert_eq!(masked.len(), text.len());
    }
}

//! Entries as they are shown before they are added: everything but what could be a secret.

use serde_json::{Map, Value, json};

/// What stands in the place of a value.
const HIDDEN: &str = "***";
/// Names of what is not shown.
const SECRET: [&str; 9] = [
    "secret",
    "token",
    "passw",
    "key",
    "auth",
    "credential",
    "bearer",
    "header",
    "cookie",
];
/// How well-known tokens begin.
const TOKENS: [&str; 8] = [
    "ghp_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
];
/// A longer word of letters and digits may be a token.
const LONG: usize = 20;

/// Entries without values that could be secrets.
pub(super) fn shown(entries: &Map<String, Value>) -> Value {
    let mut entries = entries.clone();
    for entry in entries.values_mut() {
        let Value::Object(entry) = entry else {
            continue;
        };
        for field in ["env", "headers"] {
            if let Some(Value::Object(values)) = entry.get_mut(field) {
                values.values_mut().for_each(hide_value);
            }
        }
        if let Some(Value::Array(args)) = entry.get_mut("args") {
            hide_words(args);
        }
        if let Some(Value::String(command)) = entry.get_mut("command")
            && command.contains(|it: char| it.is_whitespace() || it == '=')
        {
            *command = HIDDEN.to_owned();
        }
        if let Some(Value::String(url)) = entry.get_mut("url") {
            *url = hidden_url(url);
        }
    }
    json!({ "servers": entries })
}

/// A value that is one reference is shown: it says where the value is.
fn hide_value(value: &mut Value) {
    let is_reference = value.as_str().is_some_and(|it| {
        let of_token = it.strip_prefix("Bearer ").unwrap_or(it);
        let inner = of_token.strip_prefix("${env:");
        let inner = inner.and_then(|it| it.strip_suffix('}'));
        inner.is_some_and(|it| !it.contains(['{', '}']))
    });
    if !is_reference {
        *value = json!(HIDDEN);
    }
}

pub(super) fn hide_words(words: &mut [Value]) {
    let mut is_value = false;
    for word in words {
        let Some(text) = word.as_str() else {
            *word = json!(HIDDEN);
            continue;
        };
        let is_flag = text.starts_with('-');
        let hidden = match text.split_once('=') {
            _ if is_value && !is_flag => HIDDEN.to_owned(),
            Some((name, _)) if names_secret(name) => format!("{name}={HIDDEN}"),
            _ if is_flag && text.len() < LONG => text.to_owned(),
            _ if text.contains("://") => hidden_url(text),
            _ if looks_secret(text) => HIDDEN.to_owned(),
            _ => text.to_owned(),
        };
        // `--token X`, `-H X`.
        is_value = is_flag && !text.contains('=') && (names_secret(text) || text == "-H");
        *word = json!(hidden);
    }
}

pub(super) fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|it| name.contains(it))
}

fn looks_secret(word: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "@/._:,~+-=".contains(it);
    let has = |is: fn(&char) -> bool| word.chars().any(|it| is(&it));
    let is_mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let is_long = word.split(['/', ':', '@']).any(|it| it.len() >= LONG);
    names_secret(word)
        || !word.chars().all(is_plain)
        || TOKENS.iter().any(|it| word.contains(it))
        || is_long && is_mixed
}

/// The scheme of a URL; the rest may hold a key.
fn hidden_url(url: &str) -> String {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |it: &&str| it.len() < 12 && it.bytes().all(|it| it.is_ascii_alphanumeric());
    match scheme.filter(is_scheme) {
        Some(scheme) => format!("{scheme}://{HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        let mut words: Vec<Value> = words.iter().map(|it| json!(it)).collect();
        hide_words(&mut words);
        let words = words.iter().map(|it| it.as_str().unwrap().to_owned());
        words.collect()
    }

    /// Proves: C54.
    #[test]
    fn of_arguments_only_what_looks_like_a_secret_is_hidden() {
        let usual = [
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/home/ada/work",
            "--port=8080",
            "run",
            "-i",
            "--rm",
            "mcp/postgres:1.2",
        ];
        assert_eq!(words(&usual), usual);
        let secret = [
            "--api-key",
            "hunter2",
            "--token=hunter2",
            "-H",
            "X: hunter2",
            "postgresql://u:hunter2@h/db",
            "ghp_abc",
            "0123456789abcdef0123456789abcdef",
            "sh hunter2",
            "my-password-is-hunter2",
            "GITHUB_TOKEN=hunter2",
        ];
        let shown = [
            "--api-key",
            "***",
            "--token=***",
            "-H",
            "***",
            "postgresql://***",
            "***",
            "***",
            "***",
            "***",
            "GITHUB_TOKEN=***",
        ];
        assert_eq!(words(&secret), shown);
    }

    /// Proves: C54.
    #[test]
    fn values_are_hidden_unless_they_only_say_where_the_value_is() {
        let entries = json!({ "a": {
            "command": "x", "url": "https://h/hunter2",
            "env": { "A": "hunter2", "B": "${env:B}", "C": "${env:C} hunter2", "D": 7 },
            "headers": { "Authorization": "Bearer ${env:T}", "X": "hunter2 ${env:T}" }
        } });
        let shown = shown(entries.as_object().unwrap());
        let expected = json!({
            "command": "x", "url": "https://***",
            "env": { "A": "***", "B": "${env:B}", "C": "***", "D": "***" },
            "headers": { "Authorization": "Bearer ${env:T}", "X": "***" }
        });
        assert_eq!(shown["servers"]["a"], expected);
    }
}

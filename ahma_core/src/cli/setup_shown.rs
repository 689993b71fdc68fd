//! Differences as they are shown: everything but what could be a secret of another entry. Must not change what is written.

use std::collections::BTreeSet;

use ahma_setup::Language;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use super::downstream_report::visible;
use super::import_shown::{hide_words, names_secret};

const HIDDEN: &str = "***";
/// What holds values that nobody else should read.
const PRIVATE: [&str; 3] = ["env", "headers", "http_headers"];
/// What a line of several may be recognised by.
const TELLING: usize = 4;

/// A difference without the secrets of either text.
pub(super) fn shown(diff: &str, language: Language, texts: &[Option<&[u8]>]) -> String {
    let mut secrets = BTreeSet::new();
    for text in texts.iter().flatten() {
        let text = String::from_utf8_lossy(text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let value = match language {
            Language::Json => {
                parse_to_serde_value::<Option<Value>>(text, &ParseOptions::default()).ok()
            }
            Language::Toml => toml::from_str(text).ok(),
        };
        if let Some(value) = value.flatten() {
            collect(&value, false, &mut secrets);
        }
    }
    let lines = diff.lines().map(|line| {
        let mut line = line.to_owned();
        for secret in &secrets {
            let quoted = Value::from(secret.as_str()).to_string();
            line = line.replace(&quoted, &format!("\"{HIDDEN}\""));
            line = line.replace(&format!("'{secret}'"), &format!("'{HIDDEN}'"));
            // In other quotes, with other escapes, or one of many lines.
            for part in secret.lines().filter(|it| it.len() > TELLING) {
                line = line.replace(part, HIDDEN);
            }
        }
        let parts: Vec<String> = line.split('\t').map(visible).collect();
        parts.join("\t")
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

fn collect(value: &Value, is_private: bool, secrets: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_private && !text.is_empty() => {
            secrets.insert(text.clone());
        }
        Value::Array(items) => {
            let mut words = items.clone();
            if items.iter().all(Value::is_string) {
                hide_words(&mut words);
            }
            for (item, word) in items.iter().zip(&words) {
                let is_hidden = item != word;
                match (item, word) {
                    // `--token=X` is shown up to the equals sign.
                    (Value::String(item), Value::String(word)) if is_hidden => {
                        let known = word.strip_suffix(HIDDEN).unwrap_or_default();
                        secrets.extend(item.strip_prefix(known).map(str::to_owned));
                    }
                    _ => collect(item, is_private, secrets),
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_text = value.is_string() && names_secret(name);
                let is_private = is_private || is_text || PRIVATE.contains(&name.as_str());
                collect(value, is_private, secrets);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: P57.
    #[test]
    fn secrets_of_other_entries_are_not_shown() {
        let text = r#"{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "docs", "--api-key", "hunter2"],
            "env": { "A": "hunter3", "DEBUG": "1" }, "headers": { "X": "hunter\"4" } } }, "apiKey": "hunter5", "theme": "dark" }"#;
        let shown = shown(text, Language::Json, &[Some(text.as_bytes()), None]);
        assert!(!shown.contains("hunter"), "{shown}");
        for part in [
            "\"docs\"",
            "\"dark\"",
            "\"DEBUG\": \"***\"",
            "\"--api-key\", \"***\"",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let text = "token = 'hunter1'\n[mcp_servers.a]\nargs = ['--token=hunter2']\nenv = { A = \"\"\"\nhunter3\nhunter4\"\"\" }\n";
        let shown = super::shown(text, Language::Toml, &[None, Some(text.as_bytes())]);
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("'--token=***'"), "{shown}");
    }
}

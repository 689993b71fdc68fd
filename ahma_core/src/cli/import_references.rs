//! What other clients fill in, `${…}`: as references of ours where there is one, and a clear word where there is none. Must not
//! repeat a value.

use serde_json::{Map, Value};

use super::downstream_args::ImportFrom;

/// Turns what a client fills in into references of ours; says why that cannot be.
pub(super) fn translate(entry: &mut Map<String, Value>, from: ImportFrom) -> Result<(), String> {
    for field in ["command", "args", "cwd", "url"] {
        let value = entry.get(field);
        let list = value.and_then(Value::as_array);
        let texts = list.map_or_else(|| value.into_iter().collect(), |it| it.iter().collect());
        let texts: Vec<&Value> = texts;
        let mut texts = texts.into_iter().filter_map(Value::as_str);
        if let Some(inner) = texts.find_map(first_reference) {
            let shown = shown(inner);
            return Err(format!(
                "`{field}` has `{shown}`, which the client fills in and we do not; write what is meant instead of it"
            ));
        }
    }
    for field in ["env", "headers"] {
        let Some(Value::Object(values)) = entry.get_mut(field) else {
            continue;
        };
        for (name, value) in values {
            if let Value::String(text) = value {
                let place = (field, name.as_str());
                *text = translated(text, place, from)?;
            }
        }
    }
    Ok(())
}

/// What stands between the braces of the first reference of a text.
fn first_reference(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("${")?;
    rest.split_once('}').map(|(inner, _)| inner)
}

fn translated(text: &str, place: (&str, &str), from: ImportFrom) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        done.push_str(before);
        let Some((inner, after)) = after.split_once('}') else {
            // It is nobody's reference.
            done.push_str("$${");
            rest = after;
            continue;
        };
        done.push_str(&reference(inner, place, from)?);
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

/// The reference of ours that means the same.
fn reference(inner: &str, place: (&str, &str), from: ImportFrom) -> Result<String, String> {
    let (field, name) = place;
    let (kind, id) = inner.split_once(':').unwrap_or(("", inner));
    let shown = shown(inner);
    match (kind, from) {
        ("env", _) | ("", ImportFrom::Claude) if is_name(id) => Ok(format!("${{env:{id}}}")),
        ("input", _) => {
            let variable = as_name(match field {
                "env" => name,
                _ => id,
            });
            Err(format!(
                "`{field}`: `{name}` has `{shown}`, which the client asks for; write `${{env:{variable}}}` instead of it and set that \
                 variable, or `${{file:PATH}}`"
            ))
        }
        ("command", _) => Err(format!(
            "`{field}`: `{name}` has `{shown}`, and no command of another client is run; write `${{env:NAME}}` or `${{file:PATH}}` \
             instead of it"
        )),
        _ => Err(format!(
            "`{field}`: `{name}` has `{shown}`, which the client fills in and we do not; write what is meant, `${{env:NAME}}` or \
             `${{file:PATH}}` instead of it"
        )),
    }
}

/// A reference without what may be a value: a default, or words of a command.
fn shown(inner: &str) -> String {
    match inner.split_once(':') {
        Some((kind @ ("env" | "input"), id)) if is_name(id) => format!("${{{kind}:{id}}}"),
        Some((kind, _)) if is_name(kind) => format!("${{{kind}:…}}"),
        None if is_name(inner) => format!("${{{inner}}}"),
        _ => "${…}".to_owned(),
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_letter)
}

/// The name of a variable that could hold it.
fn as_name(text: &str) -> String {
    let text = text.to_ascii_uppercase();
    text.replace(|it: char| !it.is_ascii_alphanumeric(), "_")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str, from: ImportFrom) -> Result<String, String> {
        let entry = json!({ "env": { "KEY": text } });
        let mut entry = entry.as_object().unwrap().clone();
        translate(&mut entry, from)?;
        Ok(entry["env"]["KEY"].as_str().unwrap().to_owned())
    }

    /// Proves: C54.
    #[test]
    fn what_a_client_fills_in_becomes_a_reference_or_is_named_without_its_default() {
        let claude = |text: &str| of(text, ImportFrom::Claude);
        assert_eq!(claude("a ${KEY}, ${B}").unwrap(), "a ${env:KEY}, ${env:B}");
        assert_eq!(claude("50 ${ off").unwrap(), "50 $${ off");
        let cursor = |text: &str| of(text, ImportFrom::Cursor);
        assert_eq!(cursor("${env:KEY}").unwrap(), "${env:KEY}");
        let why = claude("${KEY:-hunter2}").unwrap_err();
        assert!(why.contains("`${KEY:…}`"), "{why}");
        let why = cursor("${command:echo hunter2}").unwrap_err();
        assert!(why.contains("no command of another client is run"), "{why}");
        let why = of("${input:my-key}", ImportFrom::Vscode).unwrap_err();
        assert!(why.contains("write `${env:KEY}` instead"), "{why}");
        for text in ["${KEY:-hunter2}", "${command:echo hunter2}", "${hunter2 x}"] {
            assert!(!claude(text).unwrap_err().contains("hunter2"), "{text}");
        }
        let why = cursor("${workspaceFolder}/x").unwrap_err();
        assert!(why.contains("`${workspaceFolder}`"), "{why}");
        let entry = json!({ "args": ["x", "${workspaceFolder}"] });
        let mut entry = entry.as_object().unwrap().clone();
        let why = translate(&mut entry, ImportFrom::Vscode).unwrap_err();
        assert!(why.starts_with("`args` has `${workspaceFolder}`"), "{why}");
    }
}

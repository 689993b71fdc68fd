//! Servers of Codex: tables of its `config.toml`, as entries of ours. Must not show what an entry holds.

use serde_json::{Map, Value, json};

/// Fields that are carried over, under whichever name.
const TAKEN: [&str; 13] = [
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "url",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "enabled",
    "enabled_tools",
    "disabled_tools",
    "tool_timeout_sec",
];

/// The servers of a document, and fields of each that are left out; none where it is not TOML.
pub(super) fn entries(text: &str) -> Option<Vec<(String, Value, Vec<String>)>> {
    let document: Value = toml::from_str(text).ok()?;
    let servers = document.get("mcp_servers").and_then(Value::as_object);
    let servers = servers.into_iter().flatten();
    let entries = servers.map(|(name, theirs)| {
        let empty = Map::new();
        let theirs = theirs.as_object().unwrap_or(&empty);
        let left_out = theirs.keys().filter(|it| !TAKEN.contains(&it.as_str()));
        let left_out = left_out.cloned().collect();
        (name.clone(), entry(theirs), left_out)
    });
    Some(entries.collect())
}

/// An entry of ours that means the same.
fn entry(theirs: &Map<String, Value>) -> Value {
    let mut ours = Map::new();
    for field in ["command", "args", "cwd", "url"] {
        if let Some(value) = theirs.get(field) {
            ours.insert(field.to_owned(), value.clone());
        }
    }
    let mut env = literal(theirs.get("env"));
    for name in names(theirs.get("env_vars")) {
        env.entry(name).or_insert(json!(variable(name)));
    }
    let mut headers = literal(theirs.get("http_headers"));
    let of_variables = theirs.get("env_http_headers").and_then(Value::as_object);
    for (header, name) in of_variables.into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        headers.insert(header.clone(), json!(variable(name)));
    }
    if let Some(name) = theirs.get("bearer_token_env_var").and_then(Value::as_str) {
        let token = format!("Bearer {}", variable(name));
        headers.insert("Authorization".to_owned(), json!(token));
    }
    for (field, values) in [("env", env), ("headers", headers)] {
        if !values.is_empty() {
            ours.insert(field.to_owned(), Value::Object(values));
        }
    }
    if theirs.get("enabled") == Some(&json!(false)) {
        ours.insert("disabled".to_owned(), json!(true));
    }
    if let Some(seconds) = theirs.get("tool_timeout_sec").and_then(Value::as_f64) {
        // Whole ones, and at least as long.
        ours.insert("timeout_seconds".to_owned(), json!(seconds.ceil() as u64));
    }
    if let Some(tools) = tools(theirs) {
        ours.insert("tools".to_owned(), tools);
    }
    Value::Object(ours)
}

/// Which tools are offered: of those that are switched on, those that are not switched off.
fn tools(theirs: &Map<String, Value>) -> Option<Value> {
    let off: Vec<&str> = names(theirs.get("disabled_tools")).collect();
    match theirs.get("enabled_tools") {
        Some(on) => {
            let on = names(Some(on)).filter(|it| !off.contains(it));
            Some(json!({ "allow": on.collect::<Vec<_>>() }))
        }
        None if off.is_empty() => None,
        None => Some(json!({ "deny": off })),
    }
}

/// Values that are taken as they are: Codex fills nothing in.
fn literal(values: Option<&Value>) -> Map<String, Value> {
    let mut values = values
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for value in values.values_mut() {
        if let Value::String(text) = value {
            *text = text.replace("${", "$${");
        }
    }
    values
}

/// A reference to a variable; to nothing, which is a fault, where that is no name of one: it could end the reference.
fn variable(name: &str) -> String {
    let is_name = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let name = if is_name { name } else { "" };
    format!("${{env:{name}}}")
}

/// Names of a list, which may be objects that have one.
fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Value::as_array);
    let names = list.into_iter().flatten();
    names.filter_map(|it| it.as_str().or_else(|| it["name"].as_str()))
}

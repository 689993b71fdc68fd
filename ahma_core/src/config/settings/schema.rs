//! The JSON Schema of `ahma.toml`, for editors that check TOML by one.

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kind, OF_PROFILES, OF_SERVERS};

/// The schema as a JSON document.
pub fn settings_file_schema() -> Value {
    let table = |keys: &mut dyn Iterator<Item = &Key>, more: &[(&str, Value)]| {
        let described = keys.map(|key| (key.name.to_owned(), of(key)));
        let mut properties: Map<String, Value> = described.collect();
        for (name, value) in more {
            properties.insert((*name).to_owned(), value.clone());
        }
        json!({ "type": "object", "additionalProperties": false, "properties": properties })
    };
    let described = |mut table: Value, text: &str| {
        table["description"] = json!(text);
        table
    };
    let about = json!({ "type": "string", "description": "What the profile is for." });
    let server = table(&mut KEYS.iter(), &[]);
    let scope = table(
        &mut KEYS.iter().filter(|it| !OF_SERVERS.contains(&it.name)),
        &[],
    );
    let profile = table(
        &mut KEYS.iter().filter(|it| OF_PROFILES.contains(&it.name)),
        &[("description", about)],
    );
    let scopes = json!({
        "type": "object", "additionalProperties": scope,
        "description": "Settings for single projects, by their paths; they come before those of `server`."
    });
    let profiles = json!({
        "type": "object", "additionalProperties": profile,
        "description": "Profiles of your own, by their names; they come before those of the program."
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of ahma_mcp",
        "description": "Settings are named as the flags of `ahma_mcp`; a flag comes before a variable, a variable before this file.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "server": described(server, "Settings of every server."),
            "scope": scopes,
            "profile": profiles,
        }
    })
}

/// The schema as text, with a line feed at the end, exactly as committed.
pub fn settings_file_schema_text() -> String {
    format!("{:#}\n", settings_file_schema())
}

fn of(key: &Key) -> Value {
    let mut value = match key.kind {
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Text | Kind::Path => json!({ "type": "string", "minLength": 1 }),
        Kind::Texts | Kind::Paths | Kind::PathsOfProject => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        Kind::Number(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Choice(all) => json!({ "enum": all }),
        Kind::Choices(all) => json!({ "type": "array", "items": { "enum": all } }),
    };
    value["description"] = json!(key.meaning);
    value
}

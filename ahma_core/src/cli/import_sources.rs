//! Files in which other clients name their servers: where they are, and what an entry of theirs is in ours.
//! Must not write, or show what an entry holds.

use std::path::{Path, PathBuf};

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value, json};

use super::downstream_args::ImportFrom;
use super::import_codex;
use super::import_references::translate;

/// Fields that mean the same to us. Others are of the client.
const TAKEN: [&str; 8] = [
    "type", "command", "args", "env", "cwd", "url", "headers", "disabled",
];
/// What this program is called.
const OWN_NAME: &str = "ahma_mcp";
/// Files that are longer are none of a client.
const MAX_LEN: u64 = 64 << 20;

/// Where a client has its files.
pub(super) fn usual_files(from: ImportFrom, home: &Path) -> Vec<PathBuf> {
    let settings = match cfg!(target_os = "macos") {
        true => "Library/Application Support",
        false => ".config",
    };
    let settings = home.join(settings);
    match from {
        ImportFrom::Claude => vec![
            home.join(".claude.json"),
            settings.join("Claude/claude_desktop_config.json"),
        ],
        ImportFrom::Cursor => vec![home.join(".cursor/mcp.json")],
        ImportFrom::Vscode => vec![settings.join("Code/User/mcp.json")],
        ImportFrom::Codex => vec![home.join(".codex/config.toml")],
    }
}

/// An entry of a client, as it would be ours.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) entry: Value,
    /// Fields that were left out.
    pub(super) left_out: Vec<String>,
    /// Whether it is this program.
    pub(super) is_own: bool,
    /// Why it means nothing here.
    pub(super) refused: Option<String>,
}

/// The entries of a client's file. May block. What is wrong with the file is said without its content.
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
pub(super) fn entries(path: &Path, from: ImportFrom) -> Result<Vec<Found>, String> {
    let place = path.display();
    let cannot = |error: std::io::Error| format!("{place} cannot be read: {error}");
    let about = std::fs::metadata(path).map_err(cannot)?;
    if !about.is_file() || about.len() > MAX_LEN {
        return Err(format!("{place} is not a file of a client"));
    }
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    if from == ImportFrom::Codex {
        let entries = import_codex::entries(&text).ok_or_else(|| format!("{place} is not TOML"))?;
        let entries = entries.into_iter();
        let found = entries.map(|(name, entry, left_out)| Found {
            left_out,
            ..found(&name, &entry, from)
        });
        return Ok(found.collect());
    }
    // Editors allow comments.
    let document = parse_to_serde_value::<Option<Value>>(&text, &ParseOptions::default());
    let document = document.map_err(|_| format!("{place} is not JSON"))?;
    let document = document.unwrap_or_default();
    let lists = ["mcpServers", "servers"].into_iter();
    let lists = lists.filter_map(|it| document.get(it)?.as_object());
    let entries = lists
        .flatten()
        .map(|(name, entry)| found(name, entry, from));
    Ok(entries.collect())
}

fn found(name: &str, entry: &Value, from: ImportFrom) -> Found {
    let empty = Map::new();
    let theirs = entry.as_object().unwrap_or(&empty);
    // What is made of TOML is ours already.
    let is_ours = from == ImportFrom::Codex;
    let is_taken = |field: &&String| is_ours || TAKEN.contains(&field.as_str());
    let mut ours: Map<String, Value> = theirs.clone();
    ours.retain(|field, value| is_taken(&field) && !value.is_null());
    if ours.contains_key("command") {
        ours.insert("sandbox".to_owned(), json!(true));
    }
    let refused = match is_ours {
        true => None,
        false => translate(&mut ours, from).err(),
    };
    let left_out = theirs.keys().filter(|it| !is_taken(it));
    Found {
        name: name.to_owned(),
        is_own: is_own(&ours),
        entry: Value::Object(ours),
        left_out: left_out.cloned().collect(),
        refused,
    }
}

/// Whether an entry starts this program, by itself or through another one: it would stand behind itself.
fn is_own(entry: &Map<String, Value>) -> bool {
    let args = entry.get("args").and_then(Value::as_array);
    let words = entry
        .get("command")
        .into_iter()
        .chain(args.into_iter().flatten());
    let mut words = words
        .filter_map(Value::as_str)
        .flat_map(str::split_whitespace);
    words.any(|it| Path::new(it).file_name().is_some_and(|it| it == OWN_NAME))
}

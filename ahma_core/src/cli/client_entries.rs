//! Entries of this program in the files of clients, as far as those can be read. Must not write.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ahma_setup::{Client, Level, PROGRAM};
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use super::setup_command::machine;

/// Files that are longer are none of a client.
const MAX_LEN: u64 = 64 << 20;
/// What the entry is called that `setup` writes.
const NAME: &str = "Ahama";
/// What lists of servers are called.
const LISTS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];

/// An entry that starts this program.
pub(super) struct ClientEntry {
    pub(super) client: Client,
    pub(super) file: PathBuf,
    /// Its name there.
    pub(super) name: String,
    /// What is started.
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// What was found of this program in the files of clients.
#[derive(Default)]
pub(super) struct ClientEntries {
    pub(super) entries: Vec<ClientEntry>,
    /// Files that are there and cannot be read as what they should be.
    pub(super) unreadable: Vec<(Client, PathBuf)>,
}

/// Those of all clients of this user, and of the project that this is started in.
pub(super) fn ours(environment: &BTreeMap<OsString, OsString>) -> ClientEntries {
    let mut found = ClientEntries::default();
    let Ok(machine) = machine(environment) else {
        return found;
    };
    for client in Client::ALL {
        for level in [Level::User, Level::Project] {
            let place = machine.entries(client, level);
            let Some(file) = place.map(|it| it.path).filter(|it| it.exists()) else {
                continue;
            };
            let Some(read) = document(&file) else {
                found.unreadable.push((client, file));
                continue;
            };
            let lists = LISTS.iter().filter_map(|it| read.get(it)?.as_object());
            for (name, entry) in lists.flatten() {
                let command = entry["command"].as_str().unwrap_or_default();
                let is_program = Path::new(command)
                    .file_name()
                    .is_some_and(|it| it == PROGRAM);
                if is_program || name == NAME {
                    let args = entry["args"].as_array().into_iter().flatten();
                    let args = args.filter_map(Value::as_str).map(str::to_owned);
                    found.entries.push(ClientEntry {
                        client,
                        file: file.clone(),
                        name: name.clone(),
                        command: command.to_owned(),
                        args: args.collect(),
                    });
                }
            }
        }
    }
    found
}

/// The content of a file, TOML or JSON with comments.
#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
fn document(path: &Path) -> Option<Value> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MAX_LEN {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim_start_matches('\u{feff}');
    match path.extension().is_some_and(|it| it == "toml") {
        true => toml::from_str(text).ok(),
        false => parse_to_serde_value(text, &ParseOptions::default())
            .ok()
            .flatten(),
    }
}

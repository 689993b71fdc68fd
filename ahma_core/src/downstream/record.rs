//! What a server offered, kept for the next time, and what of it is approved. May block.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A longer file is none of ours.
const MAX_LEN: u64 = 64 << 20;

/// What is known of a server without asking it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The definitions that are offered: the approved ones, where they have to be approved. In the order of the server.
    pub(super) tools: Vec<Value>,
    /// Its prompts, as it offered them last. They are read by people and models before anything is done with them, and
    /// need no approval.
    #[serde(default)]
    pub(super) prompts: Vec<Value>,
    /// Its resources, likewise.
    #[serde(default)]
    pub(super) resources: Vec<Value>,
    /// The kinds of its resources, likewise.
    #[serde(default)]
    pub(super) resource_templates: Vec<Value>,
}

/// Tools that are held, by name.
#[derive(Serialize, Deserialize)]
struct Held {
    held: Vec<String>,
}

/// What the definitions of a server amount to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Compared {
    /// Tools whose definition is another one than was approved, and what of it changed.
    pub(super) changed: BTreeMap<String, String>,
    /// Tools that were not there when the others were approved.
    pub(super) new: Vec<String>,
    /// Tools that are not there any more.
    pub(super) gone: Vec<String>,
}

impl Record {
    /// One that knows of tools only.
    pub(super) fn of_tools(tools: Vec<Value>) -> Self {
        Record {
            tools,
            ..Record::default()
        }
    }

    /// Compares what is approved with what a server offers now.
    pub(super) fn compare(&self, now: &[Value]) -> Compared {
        let name = |tool: &Value| tool["name"].as_str().map(ToOwned::to_owned);
        let find = |tools: &[Value], wanted: &str| {
            let mut tools = tools.iter();
            tools.find(|it| it["name"] == wanted).cloned()
        };
        let mut compared = Compared::default();
        for tool in &self.tools {
            let Some(name) = name(tool) else { continue };
            match find(now, &name) {
                None => compared.gone.push(name),
                Some(other) if other != *tool => {
                    drop(compared.changed.insert(name, difference(tool, &other)));
                }
                Some(_) => {}
            }
        }
        let new = now.iter().filter_map(name);
        compared.new = new.filter(|it| find(&self.tools, it).is_none()).collect();
        compared
    }
}

/// Which fields of a definition changed, in words.
fn difference(approved: &Value, now: &Value) -> String {
    changed_fields(approved, now).join(", ")
}

/// Which fields of a definition changed.
pub(super) fn changed_fields<'d>(approved: &'d Value, now: &'d Value) -> Vec<&'d str> {
    let keys = |tool: &'d Value| tool.as_object().into_iter().flat_map(|it| it.keys());
    let mut fields: Vec<&str> = keys(approved)
        .chain(keys(now))
        .filter(|key| approved.get(*key) != now.get(*key))
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Where the record of a server is.
pub(super) fn file(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{server}.json"))
}

/// Where it is noted which tools of a server are held. Apart from the record: a server of ours that still runs notes what it
/// sees, and must not put back what was approved before.
pub(super) fn held_file(directory: &Path, server: &str) -> PathBuf {
    // No server has a dot in its name.
    directory.join(format!("{server}.held.json"))
}

/// Reads which tools of a server are held, as far as anybody has seen.
pub(super) fn read_held(path: &Path) -> Vec<String> {
    let read = read_json::<Held>(path);
    read.map(|it| it.held).unwrap_or_default()
}

/// Notes which tools of a server are held.
pub(super) fn write_held(path: &Path, compared: &Compared) -> io::Result<()> {
    let held: Vec<String> = compared.changed.keys().cloned().collect();
    if held == read_held(path) {
        return Ok(());
    }
    write_json(path, &Held { held })
}

/// Reads the record of a server; none where there is none that can be used.
pub(super) fn read(path: &Path) -> Option<Record> {
    read_json(path)
}

#[expect(clippy::disallowed_methods, reason = "beside the runtime")]
fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MAX_LEN {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Puts a record in the place of the one before, whole or not at all.
pub(super) fn write(path: &Path, record: &Record) -> io::Result<()> {
    write_json(path, record)
}

#[expect(clippy::disallowed_methods, reason = "beside the runtime")]
fn write_json(path: &Path, content: &impl Serialize) -> io::Result<()> {
    use std::io::Write as _;
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::Builder::new()
        .prefix(".ahma-")
        .tempfile_in(directory)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Proves: C17.
    #[test]
    fn what_changed_is_named_whatever_the_order_of_fields() {
        let approved = Record {
            tools: vec![
                json!({ "name": "a", "description": "x", "inputSchema": {} }),
                json!({ "name": "b" }),
                json!({ "name": "c" }),
            ],
            ..Record::default()
        };
        let now = [
            json!({ "inputSchema": {}, "description": "y", "name": "a", "vendor": 1 }),
            json!({ "name": "c" }),
            json!({ "name": "d" }),
        ];
        let compared = approved.compare(&now);
        assert_eq!(compared.changed["a"], "description, vendor");
        assert_eq!(
            (compared.new, compared.gone),
            (vec!["d".to_owned()], vec!["b".to_owned()])
        );
        let same = [
            json!({ "inputSchema": {}, "description": "x", "name": "a" }),
            json!({ "name": "b" }),
            json!({ "name": "c" }),
        ];
        assert_eq!(approved.compare(&same), Compared::default());
    }
}

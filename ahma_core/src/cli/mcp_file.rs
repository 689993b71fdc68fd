//! The user's `mcp.json`, changed by us: entries are added, and what was there before is kept beside it. Must not change or
//! show an entry that is there.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::audit::timestamp;

/// The keys that hold servers; the first is used where there is none.
const LISTS: [&str; 2] = ["servers", "mcpServers"];

/// The file as it was found.
pub(super) struct McpFile {
    path: PathBuf,
    /// None where there is no file yet.
    before: Option<Vec<u8>>,
    document: Map<String, Value>,
}

impl McpFile {
    /// Reads the file. May block.
    #[expect(clippy::disallowed_methods, reason = "no runtime runs")]
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        // A link stays one: what it leads to is changed.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = match std::fs::read(&path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        let document = match &before {
            None => Map::new(),
            Some(bytes) => serde_json::from_slice(bytes)
                .map_err(|_| format!("{} is not an object of JSON", path.display()))?,
        };
        Ok(McpFile {
            path,
            before,
            document,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is an entry of this name, whatever it holds.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut lists = LISTS.iter().filter_map(|it| self.document.get(*it));
        lists.any(|it| it.get(name).is_some())
    }

    /// The document with these entries added.
    pub(super) fn with(&self, entries: &Map<String, Value>) -> Value {
        let mut document = self.document.clone();
        let list = LISTS.into_iter().find(|it| document.contains_key(*it));
        let list = document
            .entry(list.unwrap_or(LISTS[0]))
            .or_insert(json!({}));
        if let Value::Object(list) = list {
            list.extend(entries.clone());
        }
        Value::Object(document)
    }

    /// Adds entries, and writes the file for its owner only. What was there is copied first; where to.
    pub(super) fn add(self, entries: &Map<String, Value>) -> io::Result<Option<PathBuf>> {
        let document = self.with(entries);
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
        let backup = match &self.before {
            None => None,
            Some(bytes) => Some(self.back_up(bytes)?),
        };
        // For its owner only from the beginning, and there whole or not at all.
        let mut file = tempfile::Builder::new()
            .prefix(".ahma-")
            .tempfile_in(directory)?;
        writeln!(file, "{document:#}")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(backup)
    }

    fn back_up(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let now = timestamp(SystemTime::now()).replace(':', "");
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".bak-{now}"));
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(path)
    }
}

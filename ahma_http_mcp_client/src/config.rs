//! Servers as an `mcp.json` names them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::authorization::Authorization;
use crate::error::ConfigError;

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEntry {
    /// It is started, and spoken to over its stdin and stdout.
    Command(CommandEntry),
    /// It runs already.
    Url(UrlEntry),
}

/// How to start a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beside those of this process.
    pub env: BTreeMap<String, String>,
    /// Where it runs; here, when nothing else is said.
    pub cwd: Option<PathBuf>,
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlEntry {
    url: String,
    headers: BTreeMap<String, String>,
    socket: Option<PathBuf>,
    authorization: Option<Authorizing>,
}

/// Who gives the requests to a server their tokens. One is equal to itself only.
#[derive(Clone)]
struct Authorizing(Arc<dyn Authorization>);

impl PartialEq for Authorizing {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Authorizing {}

impl UrlEntry {
    /// Of a server at this URL, which may hold a key, with headers that every request carries.
    pub fn new(url: impl Into<String>, headers: BTreeMap<String, String>) -> Self {
        let url = url.into();
        UrlEntry {
            url,
            headers,
            socket: None,
            authorization: None,
        }
    }

    /// Of the same server, reached through a Unix socket.
    pub fn through(self, socket: Option<PathBuf>) -> Self {
        UrlEntry { socket, ..self }
    }

    /// Of the same server, whose requests carry tokens, in place of an `Authorization` that was configured.
    pub fn authorized_by(self, authorization: Arc<dyn Authorization>) -> Self {
        let authorization = Some(Authorizing(authorization));
        UrlEntry {
            authorization,
            ..self
        }
    }

    pub(crate) fn authorization(&self) -> Option<Arc<dyn Authorization>> {
        self.authorization.as_ref().map(|it| Arc::clone(&it.0))
    }

    pub(crate) fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The whole URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The URL without what may be secret.
    pub(crate) fn place(&self) -> &str {
        let end = self.url.find(['?', '#']);
        &self.url[..end.unwrap_or(self.url.len())]
    }

    pub(crate) fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }
}

/// Keys and headers are secrets.
impl fmt::Debug for UrlEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "UrlEntry({})", self.place())
    }
}

/// The servers of one file.
#[derive(Debug)]
pub struct McpConfig {
    path: PathBuf,
    servers: BTreeMap<String, Value>,
}

/// What other programs put into such files is none of our business, so unknown fields are passed over.
#[derive(Debug, Deserialize)]
struct RawConfig {
    #[serde(default)]
    servers: BTreeMap<String, Value>,
    #[serde(default, rename = "mcpServers")]
    mcp_servers: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct RawServer {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl McpConfig {
    /// Reads a file.
    pub async fn read(path: &Path) -> Result<Self, ConfigError> {
        let bytes = tokio::fs::read(path)
            .await
            .map_err(|error| ConfigError::Read {
                path: path.to_owned(),
                error,
            })?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ConfigError> {
        let raw: RawConfig = serde_json::from_slice(bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let place = format!(" at line {line} column {column}");
            ConfigError::Content {
                path: path.to_owned(),
                line,
                column,
                what: error.to_string().replace(&place, ""),
            }
        })?;
        let mut servers = raw.servers;
        servers.extend(raw.mcp_servers);
        Ok(McpConfig {
            path: path.to_owned(),
            servers,
        })
    }

    /// The server of that name. It runs in the project of the file unless it says otherwise.
    pub fn server(&self, name: &str) -> Result<ServerEntry, ConfigError> {
        let Some(raw) = self.servers.get(name).cloned() else {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            return Err(ConfigError::Unknown {
                path: self.path.clone(),
                name: name.to_owned(),
                known: match names.as_slice() {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                },
            });
        };
        let raw: RawServer = serde_json::from_value(raw).map_err(|error| ConfigError::Entry {
            path: self.path.clone(),
            name: name.to_owned(),
            what: error.to_string(),
        })?;
        let here = self.workspace();
        let filled = |text: String| text.replace("${workspaceFolder}", &here);
        let all = |texts: BTreeMap<String, String>| {
            let texts = texts.into_iter();
            texts.map(|(name, value)| (name, filled(value))).collect()
        };
        match (raw.command, raw.url) {
            (Some(command), _) => {
                let cwd = Path::new(&here).join(filled(raw.cwd.unwrap_or_default()));
                Ok(ServerEntry::Command(CommandEntry {
                    command: filled(command),
                    args: raw.args.into_iter().map(filled).collect(),
                    env: all(raw.env),
                    cwd: Some(cwd).filter(|cwd| !cwd.as_os_str().is_empty()),
                }))
            }
            (None, Some(url)) => {
                let entry = UrlEntry::new(filled(url), all(raw.headers));
                Ok(ServerEntry::Url(entry))
            }
            (None, None) => Err(ConfigError::Entry {
                path: self.path.clone(),
                name: name.to_owned(),
                what: "it has neither a `command` nor a `url`".to_owned(),
            }),
        }
    }

    /// The project that editors mean by `${workspaceFolder}`: where the file is, or above the hidden directory that it is in,
    /// such as `.vscode` or `.cursor`.
    fn workspace(&self) -> String {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let directory = path.parent().unwrap_or(Path::new("/"));
        let name = directory.file_name().unwrap_or_default();
        let is_of_program = name.as_encoded_bytes().starts_with(b".");
        let above = directory.parent().filter(|_| is_of_program);
        above.unwrap_or(directory).to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(config: &McpConfig, name: &str) -> CommandEntry {
        match config.server(name).unwrap() {
            ServerEntry::Command(entry) => entry,
            ServerEntry::Url(entry) => panic!("{entry:?}"),
        }
    }

    fn config(text: &str) -> Result<McpConfig, ConfigError> {
        McpConfig::parse(Path::new("/p/mcp.json"), text.as_bytes())
    }

    #[test]
    fn both_names_of_the_list_are_read() {
        for list in ["servers", "mcpServers"] {
            let text = format!(
                r#"{{"{list}": {{"a": {{"type": "stdio", "command": "x", "args": ["1"], "env": {{"K": "v"}}, "disabled": false}}}}, "inputs": []}}"#
            );
            let entry = command(&config(&text).unwrap(), "a");
            assert_eq!(
                (entry.command.as_str(), entry.args),
                ("x", vec!["1".to_owned()])
            );
            assert_eq!(entry.env["K"], "v");
            assert_eq!(entry.cwd.as_deref(), Some(Path::new("/p")));
        }
    }

    #[test]
    fn a_directory_is_meant_from_where_the_file_is() {
        let text = r#"{"servers": {"a": {"command": "x", "cwd": "sub"}, "b": {"command": "x", "cwd": "/abs"}}}"#;
        let config = config(text).unwrap();
        let cwd = |name: &str| command(&config, name).cwd.unwrap();
        assert_eq!(cwd("a"), Path::new("/p/sub"));
        assert_eq!(cwd("b"), Path::new("/abs"));
    }

    /// Proves: P26.
    #[test]
    fn a_server_of_an_editor_runs_in_the_project() {
        let text =
            r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "cwd": "sub"}}}"#;
        for file in ["/p/.cursor/mcp.json", "/p/.vscode/mcp.json", "/p/mcp.json"] {
            let config = McpConfig::parse(Path::new(file), text.as_bytes()).unwrap();
            assert_eq!(
                command(&config, "a").cwd.as_deref(),
                Some(Path::new("/p")),
                "{file}"
            );
            assert_eq!(
                command(&config, "b").cwd.as_deref(),
                Some(Path::new("/p/sub")),
                "{file}"
            );
        }
    }

    #[test]
    fn the_workspace_of_an_editor_is_filled_in() {
        let text = r#"{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}/y"], "cwd": "${workspaceFolder}"}}}"#;
        for (file, workspace) in [("/p/.vscode/mcp.json", "/p"), ("/p/mcp.json", "/p")] {
            let config = McpConfig::parse(Path::new(file), text.as_bytes()).unwrap();
            let entry = command(&config, "a");
            assert_eq!(entry.args, [format!("{workspace}/y")]);
            assert_eq!(entry.cwd.as_deref(), Some(Path::new(workspace)));
        }
    }

    #[test]
    fn an_odd_entry_does_not_spoil_the_others() {
        let text = r#"{"servers": {"a": {"command": "x"}, "odd": {"command": "x", "env": {"PORT": 4242}}}}"#;
        let config = config(text).unwrap();
        assert!(config.server("a").is_ok());
        let odd = config.server("odd").unwrap_err().to_string();
        assert!(odd.contains("the server `odd` of /p/mcp.json"), "{odd}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let broken = config("{\n  \"servers\": 7\n}").unwrap_err().to_string();
        assert!(broken.starts_with("/p/mcp.json:2:"), "{broken}");
        let text = r#"{"servers": {"a": {"command": "x"}, "web": {"type": "http"}}}"#;
        let unknown = config(text).unwrap().server("b").unwrap_err().to_string();
        assert!(
            unknown.contains("no server `b`; it has a, web"),
            "{unknown}"
        );
        let neither = config(text).unwrap().server("web").unwrap_err().to_string();
        assert!(
            neither.contains("neither a `command` nor a `url`"),
            "{neither}"
        );
        let empty = config("{}").unwrap().server("b").unwrap_err().to_string();
        assert!(empty.contains("it has none"), "{empty}");
    }

    #[test]
    fn a_server_that_runs_is_reached_by_its_url_and_its_key_is_not_shown() {
        let text = r#"{"mcpServers": {"a": {"type": "http", "url": "http://127.0.0.1:1/mcp?key=secret", "headers": {"x-key": "secret"}}}}"#;
        let entry = config(text).unwrap().server("a").unwrap();
        let ServerEntry::Url(by_url) = &entry else {
            panic!("{entry:?}");
        };
        assert_eq!(by_url.url(), "http://127.0.0.1:1/mcp?key=secret");
        assert_eq!(by_url.headers()["x-key"], "secret");
        assert_eq!(
            format!("{entry:?}"),
            "Url(UrlEntry(http://127.0.0.1:1/mcp))"
        );
    }
}

//! Servers as an `mcp.json` names them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::ConfigError;

/// How to start a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beside those of this process.
    pub env: BTreeMap<String, String>,
    /// Where it runs; here, when nothing else is said.
    pub cwd: Option<PathBuf>,
}

/// The servers of one file.
#[derive(Debug)]
pub struct McpConfig {
    path: PathBuf,
    servers: BTreeMap<String, RawServer>,
}

/// What other programs put into such files is none of our business, so unknown fields are passed over.
#[derive(Debug, Deserialize)]
struct RawConfig {
    #[serde(default)]
    servers: BTreeMap<String, RawServer>,
    #[serde(default, rename = "mcpServers")]
    mcp_servers: BTreeMap<String, RawServer>,
}

#[derive(Debug, Clone, Deserialize)]
struct RawServer {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
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

    /// The server of that name. It runs in the directory of the file unless it says otherwise.
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
        let Some(command) = raw.command else {
            return Err(ConfigError::ByUrl {
                path: self.path.clone(),
                name: name.to_owned(),
            });
        };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let cwd = directory.join(raw.cwd.unwrap_or_default());
        Ok(ServerEntry {
            command,
            args: raw.args,
            env: raw.env,
            cwd: Some(cwd).filter(|cwd| !cwd.as_os_str().is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<McpConfig, ConfigError> {
        McpConfig::parse(Path::new("/p/mcp.json"), text.as_bytes())
    }

    #[test]
    fn both_names_of_the_list_are_read() {
        for list in ["servers", "mcpServers"] {
            let text = format!(
                r#"{{"{list}": {{"a": {{"type": "stdio", "command": "x", "args": ["1"], "env": {{"K": "v"}}, "disabled": false}}}}, "inputs": []}}"#
            );
            let entry = config(&text).unwrap().server("a").unwrap();
            assert_eq!(
                (entry.command.as_str(), entry.args),
                ("x", vec!["1".to_owned()])
            );
            assert_eq!(entry.env["K"], "v");
            assert_eq!(entry.cwd.as_deref(), Some(Path::new("/p/")));
        }
    }

    #[test]
    fn a_directory_is_meant_from_where_the_file_is() {
        let text = r#"{"servers": {"a": {"command": "x", "cwd": "sub"}, "b": {"command": "x", "cwd": "/abs"}}}"#;
        let config = config(text).unwrap();
        let cwd = |name: &str| config.server(name).unwrap().cwd.unwrap();
        assert_eq!(cwd("a"), Path::new("/p/sub"));
        assert_eq!(cwd("b"), Path::new("/abs"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let broken = config("{\n  \"servers\": 7\n}").unwrap_err().to_string();
        assert!(broken.starts_with("/p/mcp.json:2:"), "{broken}");
        let text = r#"{"servers": {"a": {"command": "x"}, "web": {"url": "http://x"}}}"#;
        let unknown = config(text).unwrap().server("b").unwrap_err().to_string();
        assert!(
            unknown.contains("no server `b`; it has a, web"),
            "{unknown}"
        );
        let by_url = config(text).unwrap().server("web").unwrap_err().to_string();
        assert!(by_url.contains("reached by a URL"), "{by_url}");
        let empty = config("{}").unwrap().server("b").unwrap_err().to_string();
        assert!(empty.contains("it has none"), "{empty}");
    }
}

//! The state file: how other programs find the server of a project.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ServerAddress;

/// Where a server leaves the file, below the directory it serves.
pub const STATE_FILE: &str = ".ahma/.mcp_server_state.json";

/// The version of the format.
pub const STATE_VERSION: &str = "1.0.0";

/// What the file holds.
///
/// It lies where commands may write, so a reader believes nothing in it: a server has to
/// [prove](crate::Token::proof) that it knows the token before it is shown the token. Where the server is, which process
/// it is and what it serves has to be there; the rest may be missing in files of other versions.
///
/// ```
/// use ahma_contract::{ServerAddress, ServerState};
///
/// let address = ServerAddress::Port("127.0.0.1:4242".parse().unwrap());
/// let state = ServerState::new("http", &address, "demo", "/srv/demo".as_ref());
/// assert_eq!(state.url, "http://127.0.0.1:4242/mcp");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    /// The version of the format.
    #[serde(default)]
    pub version: String,
    /// `http` or `dual`.
    #[serde(default)]
    pub transport: String,
    /// The port the server listens on; 0 when it listens at a socket.
    #[serde(default)]
    pub port: u16,
    /// The address the server listens on; always a loopback address.
    #[serde(default = "loopback")]
    pub host: IpAddr,
    /// The path of the MCP endpoint.
    #[serde(default)]
    pub path: String,
    /// Where clients connect, without a key.
    pub url: String,
    /// The Unix socket through which clients connect, when there is no port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// The process id of the server.
    pub pid: u32,
    /// When the server started, in RFC 3339.
    #[serde(default)]
    pub started_at: String,
    /// What it serves.
    pub project: ProjectReference,
    /// The file that holds the token; none when the server was given a token, or wants none.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
}

/// The project that a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectReference {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its directory.
    pub root: PathBuf,
}

fn loopback() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

impl ServerState {
    /// The state of this process, which serves a project at an address.
    pub fn new(transport: &str, address: &ServerAddress, project: &str, root: &Path) -> Self {
        ServerState {
            version: STATE_VERSION.to_owned(),
            transport: transport.to_owned(),
            port: address.port().map_or(0, |it| it.port()),
            host: address.port().map_or_else(loopback, |it| it.ip()),
            path: "/mcp".to_owned(),
            url: address.url("/mcp"),
            socket: address.socket().map(Path::to_owned),
            pid: std::process::id(),
            started_at: String::new(),
            project: ProjectReference {
                name: project.to_owned(),
                root: root.to_owned(),
            },
            token_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_names_and_their_order_are_those_that_clients_read() {
        let mut state = ServerState::new(
            "dual",
            &ServerAddress::Port("127.0.0.1:4242".parse().unwrap()),
            "p",
            Path::new("/p"),
        );
        state.started_at = "2026-01-01T00:00:00.000Z".to_owned();
        state.token_file = Some("/token".into());
        let text = serde_json::to_string(&state).unwrap();
        let expected = json!({
            "version": "1.0.0", "transport": "dual", "port": 4242, "host": "127.0.0.1", "path": "/mcp",
            "url": "http://127.0.0.1:4242/mcp", "pid": std::process::id(),
            "started_at": "2026-01-01T00:00:00.000Z",
            "project": { "name": "p", "root": "/p" }, "token_file": "/token"
        });
        assert_eq!(text, expected.to_string());
        assert_eq!(serde_json::from_str::<ServerState>(&text).unwrap(), state);
    }

    #[test]
    fn a_socket_is_named_where_there_is_no_port() {
        let socket = ServerAddress::Socket("/run/ahma.sock".into());
        let state = ServerState::new("http", &socket, "p", Path::new("/p"));
        let told = serde_json::to_value(&state).unwrap();
        assert_eq!(told["socket"], "/run/ahma.sock");
        assert_eq!(
            (&told["url"], &told["port"]),
            (&json!("http://localhost/mcp"), &json!(0))
        );
        assert_eq!(serde_json::from_value::<ServerState>(told).unwrap(), state);
    }
}

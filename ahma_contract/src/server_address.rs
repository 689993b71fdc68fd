//! Where a server listens: at a port of this machine, or at a socket in the file system.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where a server listens.
///
/// ```
/// use ahma_contract::ServerAddress;
///
/// let port = ServerAddress::from("127.0.0.1:4242".parse::<std::net::SocketAddr>().unwrap());
/// assert_eq!(port.url("/mcp"), "http://127.0.0.1:4242/mcp");
/// let socket = ServerAddress::Socket("/run/user/1000/ahma.sock".into());
/// assert_eq!(socket.url("/mcp"), "http://localhost/mcp");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// A port of a loopback address.
    Port(SocketAddr),
    /// A Unix socket.
    Socket(PathBuf),
}

impl ServerAddress {
    /// The URL of a path. That of a socket has to be sent through the socket, which it does not name.
    pub fn url(&self, path: &str) -> String {
        match self {
            ServerAddress::Port(address) => format!("http://{address}{path}"),
            ServerAddress::Socket(_) => format!("http://localhost{path}"),
        }
    }

    /// The address and port, where it has one.
    pub fn port(&self) -> Option<SocketAddr> {
        match self {
            ServerAddress::Port(address) => Some(*address),
            ServerAddress::Socket(_) => None,
        }
    }

    /// The socket, where it is one.
    pub fn socket(&self) -> Option<&Path> {
        match self {
            ServerAddress::Port(_) => None,
            ServerAddress::Socket(path) => Some(path),
        }
    }
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> Self {
        ServerAddress::Port(address)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Port(address) => address.fmt(formatter),
            ServerAddress::Socket(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

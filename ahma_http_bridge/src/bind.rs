//! The place of the server: a port, taken by binding it and on both loopback addresses, or a Unix socket.
//!
//! Clients that write `localhost` may come to either address. Whoever could take the other one, such as a confined command
//! with a network, would be shown their token.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use ahma_contract::ServerAddress;

use crate::listener::BoundListener;
use crate::socket_file::{self, SocketError, SocketFile};

/// The first port that is tried.
pub const FIRST_PORT: u16 = 4242;
/// The last one.
pub const LAST_PORT: u16 = 5242;

/// Why there is no place to listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The port that was asked for cannot be used.
    #[error("port {port} of {host} cannot be used: {error}")]
    Port {
        /// The address.
        host: IpAddr,
        /// The port.
        port: u16,
        /// What the system said.
        error: io::Error,
    },
    /// Every port of the range is taken.
    #[error("no port from {first} to {last} of {host} is free: {error}")]
    NoneFree {
        /// The address.
        host: IpAddr,
        /// The first port that was tried.
        first: u16,
        /// The last one.
        last: u16,
        /// What the last one said.
        error: io::Error,
    },
    /// The address is not one of this machine alone.
    #[error("{0} is not a loopback address; others could reach the server")]
    NotLoopback(IpAddr),
    /// There cannot be a socket at that path.
    #[error("the socket {path} cannot be used: {error}")]
    Socket {
        /// The path.
        path: PathBuf,
        /// Why not.
        error: SocketError,
    },
}

/// A place that was taken.
#[derive(Debug)]
pub struct Bound {
    /// Where clients connect.
    pub(crate) address: ServerAddress,
    /// At the address that was asked for, and at the other loopback address where it could be had.
    pub(crate) listeners: Vec<BoundListener>,
    /// Whether nobody else can be at that port of either address, so that `localhost` means this server.
    pub(crate) is_localhost: bool,
    /// Of a socket.
    pub(crate) file: Option<SocketFile>,
}

impl Bound {
    /// For whoever knows that nobody takes the other address.
    pub fn alone(listener: TcpListener) -> io::Result<Self> {
        Ok(Bound {
            address: listener.local_addr()?.into(),
            listeners: vec![BoundListener::Tcp(listener)],
            is_localhost: true,
            file: None,
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }
}

/// Listens at a Unix socket that only this user can open.
pub fn bind_socket(path: &Path) -> Result<Bound, BindError> {
    let (listener, file) = socket_file::listen(path).map_err(|error| BindError::Socket {
        path: path.to_owned(),
        error,
    })?;
    Ok(Bound {
        address: ServerAddress::Socket(path.to_owned()),
        listeners: vec![BoundListener::Unix(listener)],
        is_localhost: true,
        file: Some(file),
    })
}

/// Takes a port of a loopback address: the one asked for, else the first that is free. A port is tried by taking
/// it, because a look beforehand would be out of date by the time it is taken.
pub fn bind(host: IpAddr, port: Option<u16>) -> Result<Bound, BindError> {
    if !host.is_loopback() {
        return Err(BindError::NotLoopback(host));
    }
    let listener = match port {
        Some(port) => listen(host, port).map_err(|error| BindError::Port { host, port, error })?,
        None => first_free(host, FIRST_PORT, LAST_PORT)?,
    };
    Ok(listener)
}

fn first_free(host: IpAddr, first: u16, last: u16) -> Result<Bound, BindError> {
    let mut why = io::Error::from(io::ErrorKind::AddrInUse);
    for port in first..=last {
        match listen(host, port) {
            // A port whose other half is somebody else's is not free.
            Ok(bound) if !bound.is_localhost && is_usual(host) => {}
            Ok(bound) => return Ok(bound),
            Err(error) => why = error,
        }
    }
    Err(BindError::NoneFree {
        host,
        first,
        last,
        error: why,
    })
}

const FOUR: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SIX: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Whether `localhost` can mean this address.
fn is_usual(host: IpAddr) -> bool {
    [FOUR, SIX].contains(&host)
}

fn listen(host: IpAddr, port: u16) -> io::Result<Bound> {
    let listener = TcpListener::bind(SocketAddr::new(host, port))?;
    let address = listener.local_addr()?;
    let (other, is_localhost) = match is_usual(host) {
        false => (None, false),
        true => hold(if host == FOUR { SIX } else { FOUR }, address.port()),
    };
    let listeners = [Some(listener), other].into_iter().flatten();
    Ok(Bound {
        address: address.into(),
        listeners: listeners.map(BoundListener::Tcp).collect(),
        is_localhost,
        file: None,
    })
}

/// The port of the other address, and whether nobody else has it.
fn hold(other: IpAddr, port: u16) -> (Option<TcpListener>, bool) {
    match TcpListener::bind(SocketAddr::new(other, port)) {
        Ok(listener) => (Some(listener), true),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => (None, false),
        // The machine does not have it, so nobody can be there.
        Err(_) => (None, true),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn port(bound: &Bound) -> u16 {
        bound.address.port().unwrap().port()
    }

    /// Proves: H22.
    #[test]
    fn nobody_else_gets_the_port_of_the_other_address() {
        let bound = bind(HERE, None).unwrap();
        assert!(bound.is_localhost);
        let other = TcpListener::bind((Ipv6Addr::LOCALHOST, port(&bound)));
        assert!(other.is_err(), "taken, or not to be had on this machine");
        // Where somebody has it already, another port is taken; one that was asked for is not `localhost`.
        let Ok(squatter) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
            return;
        };
        let taken = squatter.local_addr().unwrap().port();
        assert!(!bind(HERE, Some(taken)).unwrap().is_localhost);
        let said = first_free(HERE, taken, taken).unwrap_err();
        assert!(matches!(said, BindError::NoneFree { .. }));
    }

    /// Proves: D2.
    #[test]
    fn the_next_port_is_taken_when_one_is_not_free() {
        let one = bind(HERE, None).unwrap();
        let two = bind(HERE, None).unwrap();
        assert_ne!(port(&one), port(&two));
        assert!((FIRST_PORT..=LAST_PORT).contains(&port(&one)));
        assert!((FIRST_PORT..=LAST_PORT).contains(&port(&two)));
    }

    #[test]
    fn a_port_that_was_asked_for_is_that_port_or_none() {
        let free = bind(HERE, Some(0)).unwrap();
        let taken = bind(HERE, Some(port(&free))).unwrap_err();
        assert!(matches!(taken, BindError::Port { .. }));
        let said = taken.to_string();
        assert!(said.contains(&port(&free).to_string()), "{said}");
    }

    #[test]
    fn an_exhausted_range_is_named() {
        let taken = bind(HERE, Some(0)).unwrap();
        let port = port(&taken);
        let said = first_free(HERE, port, port).unwrap_err().to_string();
        assert!(said.contains(&format!("from {port} to {port}")), "{said}");
    }

    /// Proves: H7.
    #[test]
    fn only_this_machine_is_served() {
        for host in ["0.0.0.0", "192.168.1.5", "::"] {
            let refused = bind(host.parse().unwrap(), None).unwrap_err();
            assert!(matches!(refused, BindError::NotLoopback(_)), "{host}");
        }
        let other: IpAddr = "127.0.0.9".parse().unwrap();
        assert_eq!(
            bind(other, Some(0)).unwrap().address.port().unwrap().ip(),
            other
        );
    }
}

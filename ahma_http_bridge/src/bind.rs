//! The port of the server: taken by binding it, never by looking first.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

/// The first port that is tried.
pub const FIRST_PORT: u16 = 4242;
/// The last one.
pub const LAST_PORT: u16 = 5242;

/// Why there is no port.
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
}

/// Takes a port of a loopback address: the one asked for, else the first that is free. A port is tried by taking
/// it, because a look beforehand would be out of date by the time it is taken.
pub fn bind(host: IpAddr, port: Option<u16>) -> Result<TcpListener, BindError> {
    if !host.is_loopback() {
        return Err(BindError::NotLoopback(host));
    }
    let listener = match port {
        Some(port) => listen(host, port).map_err(|error| BindError::Port { host, port, error })?,
        None => first_free(host, FIRST_PORT, LAST_PORT)?,
    };
    Ok(listener)
}

fn first_free(host: IpAddr, first: u16, last: u16) -> Result<TcpListener, BindError> {
    let mut why = io::Error::from(io::ErrorKind::AddrInUse);
    for port in first..=last {
        match listen(host, port) {
            Ok(listener) => return Ok(listener),
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

fn listen(host: IpAddr, port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(SocketAddr::new(host, port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn port(listener: &TcpListener) -> u16 {
        listener.local_addr().unwrap().port()
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
            bind(other, Some(0)).unwrap().local_addr().unwrap().ip(),
            other
        );
    }
}

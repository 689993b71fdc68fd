//! Whether the port that servers take over HTTP is free.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use super::finding::Finding;

const AREA: &str = "http";

/// Looks at a port that settings name, or at those that are tried.
pub(super) fn check(wanted: Option<u16>) -> Finding {
    match wanted {
        Some(port) if is_free(port) => Finding::ok(AREA, format!("port {port} is free")),
        Some(port) => Finding::fix(
            AREA,
            format!("port {port}, which your settings name, is taken by another program"),
            "name another one with --http-port, or leave it out; `ss -ltnp` shows who has it",
        ),
        None => match (4242..=5242).find(|port| is_free(*port)) {
            Some(port) => Finding::ok(AREA, format!("the next server over HTTP gets port {port}")),
            None => Finding::fix(
                AREA,
                "every port from 4242 to 5242 is taken",
                "stop what has them (`ss -ltnp` shows it), or name one with --http-port",
            ),
        },
    }
}

/// On both loopback addresses, as a server wants it.
fn is_free(port: u16) -> bool {
    let fourth = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let sixth = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port)));
    // A machine may have no addresses of the sixth version.
    let is_taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
    fourth.is_ok() && !sixth.is_err_and(|error| is_taken(&error))
}

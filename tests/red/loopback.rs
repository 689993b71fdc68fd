//! A port is the server's on both loopback addresses.

use std::net::{Ipv6Addr, TcpListener};

use ahma_tests::http::Request;

use ahma_tests::served::over_http::Served;

/// Proves: H22.
#[test]
fn a_command_cannot_stand_at_the_other_address_and_take_keys() {
    let served = Served::new();
    let port = served.process.address.port();
    let client = served.connect();
    let script = format!(
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET6); s.bind((\"::1\", {port})); print(\"TAKEN\")'"
    );
    let squatting = client.sync(&script);
    assert!(
        squatting.is_error && !squatting.text.contains("TAKEN"),
        "{}",
        squatting.text
    );
    let free = client.sync(&script.replace(&port.to_string(), "0"));
    // Where the machine has no such address, nobody can be there.
    let has_six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    assert_eq!(free.text.contains("TAKEN"), has_six, "{}", free.text);
    if has_six {
        let health = Request::new("GET", "/health").send((Ipv6Addr::LOCALHOST, port).into());
        assert_eq!(health.status, 200, "it is the same server");
    }
}

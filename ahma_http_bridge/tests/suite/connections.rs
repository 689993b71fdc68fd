//! Connections: bounded in number, and in how long they may say nothing.

use ahma_tests::until;
use std::time::Duration;

use ahma_http_bridge::Limits;
use ahma_tests::http::{Connection, Request};
use serde_json::json;

use super::Served;

#[test]
fn one_connection_serves_many_requests() {
    let served = Served::new();
    let client = served.connect();
    let mut connection = Connection::to(served.address);
    for number in 0..20 {
        let request = client.calling("echo", &json!({ "text": number.to_string() }));
        let (reply, same) = connection.request(&request);
        assert_eq!(
            reply.answer()["result"]["content"][0]["text"],
            number.to_string()
        );
        connection = same;
    }
}

/// Proves: H11.
#[test]
fn more_connections_than_there_may_be_are_refused_and_room_comes_back() {
    let served = Served::limited(Limits {
        connections: 3,
        ..Limits::default()
    });
    let health = Request::new("GET", "/health");
    let mut open = Vec::new();
    for _ in 0..3 {
        let (reply, connection) = Connection::to(served.address).request(&health);
        assert_eq!(reply.status, 200);
        open.push(connection);
    }
    let mut refused = Connection::to(served.address);
    let reply = refused.answer();
    assert_eq!(reply.status, 503);
    assert!(reply.why().contains("connections"));
    assert!(refused.is_closed());
    open.pop();
    until(|| Connection::to(served.address).status_of(&health) == Some(200));
}

/// Proves: H11.
#[test]
fn a_connection_that_says_nothing_or_only_half_is_closed() {
    let served = Served::limited(Limits {
        head_timeout: Duration::from_millis(100),
        connections: 4,
        ..Limits::default()
    });
    let mut silent = Connection::to(served.address);
    let mut half = Connection::to(served.address);
    half.write(b"GET /health HTTP/1.1\r\nhost: ");
    let (reply, mut idle) = Connection::to(served.address).request(&Request::new("GET", "/health"));
    assert_eq!(reply.status, 200);
    for connection in [&mut silent, &mut half, &mut idle] {
        assert!(connection.is_closed());
    }
    let again = Request::new("GET", "/health");
    until(|| Connection::to(served.address).status_of(&again) == Some(200));
}

/// Proves: H11.
#[test]
fn an_answer_that_nobody_reads_does_not_hold_its_connection_for_ever() {
    let served = Served::limited(Limits {
        write_timeout: Duration::from_millis(200),
        connections: 2,
        body: 64 * 1024 * 1024,
        ..Limits::default()
    });
    let client = served.connect();
    let big = client.calling("big", &json!({ "bytes": 30_000_000 }));
    let _unread = [big.open(served.address), big.open(served.address)];
    let health = Request::new("GET", "/health");
    until(|| Connection::to(served.address).status_of(&health) == Some(200));
}

#[test]
fn what_is_not_http_is_refused_and_closed() {
    let served = Served::new();
    for rubbish in [
        &b"\x16\x03\x01\x00\xa5\x01\x00"[..],
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        &[0; 100],
    ] {
        let mut connection = Connection::to(served.address);
        connection.write(rubbish);
        connection.write(b"\r\n\r\n");
        let (status, is_closed) = (connection.status(), connection.is_closed());
        assert!(status.is_none_or(|status| status == 400), "{status:?}");
        assert!(is_closed);
    }
    assert_eq!(
        served.connect().call("echo", &json!({ "text": "hi" })).text,
        "hi"
    );
}

//! Who has the token gets in, however many stand before the door without it.

use std::net::TcpStream;

use ahma_tests::http::Request;
use serde_json::json;

use super::Served;

/// Proves: H21.
#[test]
fn connections_without_the_token_keep_nobody_out_who_has_it() {
    let served = Served::new();
    let client = served.connect();
    let running = client.start("sleep 600");
    let address = served.process.address;
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..2500 {
        idle.push(TcpStream::connect(address).unwrap());
    }
    assert!(client.sync("echo in").text.starts_with("in\n"));
    let cancelled = client.call("cancel", &json!({ "operation_id": running }));
    assert!(!cancelled.is_error, "{}", cancelled.text);
    let health = Request::new("GET", "/health").send(address);
    assert_eq!(health.status, 200);
    assert!(served.connect().sync("echo new").text.starts_with("new\n"));
    assert_eq!(client.delete().status, 204);
    drop(idle);
}

/// Proves: H21.
#[test]
fn the_question_whether_the_server_is_well_is_limited_for_those_without_the_token() {
    let served = Served::new();
    let client = served.connect();
    let ask = || {
        Request::new("GET", "/health")
            .send(served.process.address)
            .status
    };
    let answers: Vec<u16> = (0..400).map(|_| ask()).collect();
    assert!(answers.contains(&429), "{answers:?}");
    assert!(
        answers.iter().filter(|it| **it == 200).count() >= 200,
        "{answers:?}"
    );
    assert!(client.sync("echo fine").text.starts_with("fine\n"));
}

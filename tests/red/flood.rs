//! Who has the token gets in, however many stand before the door without it.

use std::net::TcpStream;

use ahma_tests::http::Request;
use ahma_tests::served::over_http::Served;
use rustix::process::{Resource, getrlimit};
use serde_json::json;

/// Proves: H21.
#[test]
fn connections_without_the_token_keep_nobody_out_who_has_it() {
    let served = Served::new();
    let client = served.connect();
    let running = client.start("sleep 600");
    let address = served.process.address;
    ahma_sandbox::allow_many_descriptors();
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Other tests want some too.
    let count = (limit / 2).min(2500);
    let connections = (0..count).map(|_| TcpStream::connect(address).unwrap());
    let idle: Vec<TcpStream> = connections.collect();
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

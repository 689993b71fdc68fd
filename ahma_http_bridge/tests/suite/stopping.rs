//! How a server stops: nothing new is taken, and what is in work is answered.

use ahma_tests::until;
use std::thread;
use std::time::Duration;

use ahma_tests::http::{Connection, Request, initialize};
use serde_json::json;

use super::Served;

/// Proves: D6.
#[test]
fn what_is_in_work_is_answered_and_nothing_new_is_taken() {
    let mut served = Served::new();
    let (client, address) = (served.connect(), served.address);
    let mut stream = client.stream();
    let request = client.calling("hold", &json!({ "name": "a" }));
    let call = thread::spawn(move || request.send(address).answer());
    until(|| served.seen.has("began a"));
    let (_, open) = Connection::to(address).request(&Request::new("GET", "/health"));
    let server = served.server.take().unwrap();
    server.stop_taking();
    let (late, _) = open.request(&Request::message(&initialize("2025-06-18")));
    assert_eq!(late.status, 503);
    assert!(late.why().contains("is stopping"));
    let seen = std::sync::Arc::clone(&served.seen);
    let releasing = thread::spawn(move || {
        assert!(stream.event().is_none(), "its stream ends first");
        seen.release("a");
    });
    served
        .runtime
        .block_on(server.finish(Duration::from_secs(20)));
    assert_eq!(call.join().unwrap()["result"]["content"][0]["text"], "a");
    releasing.join().unwrap();
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "the port is free"
    );
}

/// Proves: D6.
#[test]
fn what_does_not_end_is_ended() {
    let mut served = Served::new();
    let (client, address) = (served.connect(), served.address);
    let request = client.calling("hold", &json!({ "name": "a" }));
    let call = thread::spawn(move || request.send(address));
    until(|| served.seen.has("began a"));
    let server = served.server.take().unwrap();
    served
        .runtime
        .block_on(server.finish(Duration::from_millis(50)));
    until(|| served.seen.has("over a"));
    assert_eq!(
        call.join().unwrap().events(),
        Vec::<serde_json::Value>::new()
    );
}

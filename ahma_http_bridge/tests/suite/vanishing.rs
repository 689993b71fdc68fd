//! Clients that go without a word.

use ahma_tests::until;
use std::time::Duration;

use ahma_http_bridge::Limits;
use ahma_tests::http::{Client, Connection};
use serde_json::json;

use super::Served;

/// Sends a request and goes before the answer.
fn send_and_go(served: &Served, client: &Client, name: &str) {
    let request = client.calling("hold", &json!({ "name": name }));
    let mut connection = Connection::to(served.address);
    connection.write(&request.bytes(served.address));
    until(|| served.seen.has(&format!("began {name}")));
    drop(connection);
}

#[test]
fn a_call_without_a_session_is_cancelled_when_its_client_goes() {
    let served = Served::new();
    send_and_go(&served, &served.stateless(), "a");
    until(|| served.seen.has("cancelled a"));
}

#[test]
fn a_call_of_a_session_goes_on_and_its_answer_can_be_fetched() {
    let served = Served::new();
    let client = Client::connect_with(served.address, None, "2025-11-25");
    let request = client.calling("hold", &json!({ "name": "a" }));
    let mut opened = request.open(served.address);
    let begun = opened.event().unwrap();
    drop(opened);
    served.seen.release("a");
    until(|| served.seen.has("released a"));
    assert!(!served.seen.has("cancelled a"));
    let rest = client.stream_after(&begun.id.unwrap()).rest();
    assert_eq!(
        rest.answer()["result"]["content"][0]["text"],
        "a",
        "{rest:?}"
    );
}

/// Proves: H13.
#[test]
fn an_answer_that_was_sent_into_a_broken_connection_outlives_a_few_others() {
    let served = Served::new();
    let client = Client::connect_with(served.address, None, "2025-11-25");
    let request = client.calling("hold", &json!({ "name": "a" }));
    let mut opened = request.open(served.address);
    let begun = opened.event().unwrap().id.unwrap();
    served.seen.release("a");
    assert_eq!(opened.rest().answer()["result"]["content"][0]["text"], "a");
    for _ in 0..3 {
        client.call("echo", &json!({ "text": "another" }));
    }
    let again = client.stream_after(&begun).rest().answer();
    assert_eq!(again["result"]["content"][0]["text"], "a");
}

/// Proves: H13.
#[test]
fn a_stream_that_breaks_goes_on_where_it_was() {
    let served = Served::new();
    let client = served.connect();
    let mut stream = client.stream();
    client.call("news", &json!({ "count": 2 }));
    let first = stream.event().unwrap();
    assert_eq!(first.data["params"]["number"], 0);
    drop(stream);
    let mut again = client.stream_after(&first.id.unwrap());
    assert_eq!(again.event().unwrap().data["params"]["number"], 1);
    client.call("news", &json!({ "count": 1 }));
    assert_eq!(
        again.event().unwrap().data["params"]["number"],
        0,
        "and goes on"
    );
}

/// Proves: H12.
#[test]
fn a_client_that_never_says_it_is_ready_does_not_keep_its_session() {
    let served = Served::limited(Limits {
        unready: Duration::from_millis(100),
        ..Limits::default()
    });
    let ready = served.connect();
    Client::begun(served.address, None, "2025-06-18");
    assert_eq!(served.sessions(), 2);
    until(|| served.sessions() == 1);
    assert_eq!(ready.call("echo", &json!({ "text": "hi" })).text, "hi");
}

/// Proves: H12.
#[test]
fn a_client_that_calls_without_saying_that_it_is_ready_is_ready() {
    let served = Served::limited(Limits {
        unready: Duration::from_millis(100),
        ..Limits::default()
    });
    let client = Client::begun(served.address, None, "2025-06-18");
    let silent = Client::begun(served.address, None, "2025-06-18");
    let request = client.calling("hold", &json!({ "name": "a" }));
    let address = served.address;
    let call = std::thread::spawn(move || request.send(address).answer());
    until(|| served.seen.has("began a"));
    until(|| served.sessions() == 1);
    assert_eq!(silent.delete().status, 404, "the other one has ended");
    served.seen.release("a");
    assert_eq!(call.join().unwrap()["result"]["content"][0]["text"], "a");
}

/// Proves: H13.
#[test]
fn a_client_that_goes_in_the_middle_of_its_request_leaves_nothing() {
    let served = Served::new();
    for part in [
        "P",
        "POST /mcp HTTP/1.1\r\nhost: ",
        "POST /mcp HTTP/1.1\r\ncontent-length: 50\r\n\r\n{",
    ] {
        let mut connection = Connection::to(served.address);
        connection.write(part.as_bytes());
    }
    assert_eq!(
        served.connect().call("echo", &json!({ "text": "hi" })).text,
        "hi"
    );
    assert_eq!(served.sessions(), 1);
}

//! What a session is told beside its answers.

use ahma_tests::http::Client;
use ahma_tests::until;
use serde_json::{Value, json};

use super::Served;

fn numbers(stream: &mut ahma_tests::http::Opened, count: usize) -> Vec<Value> {
    (0..count)
        .map(|_| stream.event().unwrap().data["params"]["number"].clone())
        .collect()
}

/// Proves: H14.
#[test]
fn what_was_told_while_nobody_listened_is_told_once_and_not_again() {
    let served = Served::new();
    let client = served.connect();
    client.call("news", &json!({ "count": 3 }));
    let mut stream = client.stream();
    assert_eq!(numbers(&mut stream, 3), [0, 1, 2].map(|it| json!(it)));
    drop(stream);
    let mut again = client.stream();
    client.call("news", &json!({ "count": 1 }));
    assert_eq!(numbers(&mut again, 1), [json!(0)], "nothing twice");
}

#[test]
fn of_two_streams_the_newer_is_told_and_the_older_stays_open() {
    let served = Served::new();
    let client = served.connect();
    let mut older = client.stream();
    let mut newer = client.stream();
    client.call("news", &json!({ "count": 1 }));
    assert_eq!(numbers(&mut newer, 1), [json!(0)]);
    // The server notices when it next has something to say.
    drop(newer);
    until(|| {
        client.call("news", &json!({ "count": 1 }));
        older.is_ready()
    });
    older.message("notifications/test");
}

/// Proves: H14.
#[test]
fn a_slow_reader_holds_up_nobody_and_loses_news_before_answers() {
    let served = Served::new();
    let client = served.connect();
    let _unread = client.stream();
    let big = client.calling("big", &json!({ "bytes": 3_000_000 }));
    let slow: Vec<_> = (0..10).map(|_| big.open(served.address)).collect();
    for _ in 0..50 {
        client.call("news", &json!({ "count": 40 }));
    }
    assert_eq!(client.call("echo", &json!({ "text": "hi" })).text, "hi");
    for opened in slow {
        let answer = opened.rest().answer();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 3_000_000, "nothing is lost");
    }
}

#[test]
fn only_clients_that_know_it_are_told_first_where_to_come_back_to() {
    let served = Served::new();
    for (version, is_told) in [("2025-11-25", true), ("2025-06-18", false)] {
        let client = Client::connect_with(served.address, None, version);
        let request = client.calling("echo", &json!({ "text": "hi" }));
        let first = request.open(served.address).event().unwrap();
        assert_eq!(first.data.is_null(), is_told, "{version}: {first:?}");
        assert!(first.id.is_some());
    }
}

/// Proves: H1.
#[test]
fn progress_comes_on_the_stream_of_its_call_and_other_news_on_the_common_one() {
    let served = Served::new();
    let client = served.connect();
    let mut stream = client.stream();
    let call = json!({
        "name": "news", "arguments": { "count": 2 }, "_meta": { "progressToken": "t" }
    });
    let reply = client
        .message(&json!(1), "tools/call", &call)
        .send(served.address);
    let methods: Vec<_> = reply
        .events()
        .iter()
        .map(|it| it["method"].clone())
        .collect();
    let progress = json!("notifications/progress");
    assert_eq!(methods, [progress.clone(), progress, Value::Null]);
    assert_eq!(numbers(&mut stream, 2), [json!(0), json!(1)]);
}

//! Sessions: how they end, and what keeps them.

use ahma_tests::until;
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use ahma_http_bridge::Limits;
use serde_json::json;

use super::Served;

fn short_lived() -> Served {
    Served::limited(Limits {
        idle: Duration::from_millis(200),
        ..Limits::default()
    })
}

/// Proves: H12.
#[test]
fn a_session_that_nobody_uses_ends() {
    let served = short_lived();
    let client = served.connect();
    until(|| served.sessions() == 0);
    let late = client.message(&json!(1), "ping", &json!({}));
    assert_eq!(late.send(served.address).status, 404);
}

/// Proves: H12.
#[test]
fn an_open_stream_keeps_a_session() {
    let served = short_lived();
    let (quiet, listening) = (served.connect(), served.connect());
    let stream = listening.stream();
    until(|| served.sessions() == 1);
    assert_eq!(listening.call("echo", &json!({ "text": "hi" })).text, "hi");
    drop(stream);
    until(|| served.sessions() == 0);
    assert_eq!(quiet.delete().status, 404);
}

/// Proves: H12.
#[test]
fn a_call_that_takes_long_keeps_its_session() {
    let served = short_lived();
    let (quiet, busy) = (served.connect(), served.connect());
    let request = busy.calling("hold", &json!({ "name": "a" }));
    let address = served.address;
    let call = thread::spawn(move || request.send(address).answer());
    until(|| served.seen.has("began a"));
    until(|| served.sessions() == 1);
    assert_eq!(quiet.delete().status, 404, "the other has ended");
    served.seen.release("a");
    assert_eq!(call.join().unwrap()["result"]["content"][0]["text"], "a");
}

/// Proves: H12.
#[test]
fn what_runs_for_a_session_keeps_it_and_then_lets_it_go() {
    let served = short_lived();
    let (quiet, busy) = (served.connect(), served.connect());
    busy.call("lease", &json!({ "name": "a" }));
    until(|| served.sessions() == 1);
    assert_eq!(quiet.delete().status, 404);
    assert_eq!(busy.call("echo", &json!({ "text": "hi" })).text, "hi");
    served.seen.release("a");
    until(|| served.sessions() == 0);
}

/// Proves: H12.
#[test]
fn deleting_a_session_ends_at_once_what_runs_for_it() {
    let served = Served::new();
    let client = served.connect();
    let mut stream = client.stream();
    client.call("lease", &json!({ "name": "leased" }));
    let request = client.calling("hold", &json!({ "name": "held" }));
    let address = served.address;
    let call = thread::spawn(move || request.send(address).answer());
    until(|| served.seen.has("began held"));
    assert_eq!(client.delete().status, 204);
    assert_eq!(served.sessions(), 0);
    until(|| served.seen.has("over held") && served.seen.has("over leased"));
    let answer = call.join().unwrap();
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(why.contains("session has ended"), "{answer}");
    assert!(stream.event().is_none(), "its stream ends too");
}

/// Proves: I2.
#[test]
fn every_session_has_a_name_of_its_own_that_cannot_be_guessed() {
    let served = Served::new();
    let names: HashSet<String> = (0..20).map(|_| served.connect().session.unwrap()).collect();
    assert_eq!(names.len(), 20);
    for name in names {
        assert_eq!(uuid_version(&name), Some('4'), "{name}");
    }
}

/// The version in the text of a UUID.
fn uuid_version(name: &str) -> Option<char> {
    let is_uuid = name.len() == 36 && name.split('-').count() == 5;
    is_uuid.then(|| name.chars().nth(14)).flatten()
}

/// Proves: H16.
#[test]
fn five_hundred_sessions_have_a_call_each_at_the_same_time() {
    let served = Served::new();
    let clients: Vec<_> = (0..500).map(|_| served.connect()).collect();
    assert_eq!(served.sessions(), 500);
    let calls: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(number, client)| {
            let request = client.calling("hold", &json!({ "name": number.to_string() }));
            let address = served.address;
            let small = thread::Builder::new().stack_size(256 * 1024);
            small.spawn(move || request.send(address).answer()).unwrap()
        })
        .collect();
    for number in 0..500 {
        until(|| served.seen.has(&format!("began {number}")));
    }
    for number in 0..500 {
        served.seen.release(&number.to_string());
    }
    for (number, call) in calls.into_iter().enumerate() {
        let answer = call.join().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], number.to_string());
    }
    for client in clients {
        assert_eq!(client.delete().status, 204);
    }
    assert_eq!(served.sessions(), 0);
}

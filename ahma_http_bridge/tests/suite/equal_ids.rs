//! Requests that are called the same get each their own answer.

use ahma_tests::until;
use std::thread;

use ahma_tests::http::Client;
use serde_json::{Value, json};

use super::Served;

fn hold(client: &Client, id: &Value, name: &str) -> thread::JoinHandle<Value> {
    let params = json!({ "name": "hold", "arguments": { "name": name } });
    let request = client.message(id, "tools/call", &params);
    let address = client.address;
    thread::spawn(move || request.send(address).answer())
}

/// Proves: H2.
#[test]
fn equal_ids_of_one_session_do_not_cross() {
    let served = Served::new();
    let client = served.connect();
    let ids = [json!(1), json!("1"), json!(1), json!(1), json!("1")];
    let names: Vec<String> = (0..ids.len())
        .map(|number| format!("call {number}"))
        .collect();
    let calls: Vec<_> = ids
        .iter()
        .zip(&names)
        .map(|(id, name)| hold(&client, id, name))
        .collect();
    for name in &names {
        until(|| served.seen.has(&format!("began {name}")));
    }
    // The last comes first.
    for name in names.iter().rev() {
        served.seen.release(name);
    }
    for ((call, id), name) in calls.into_iter().zip(&ids).zip(&names) {
        let answer = call.join().unwrap();
        assert_eq!(answer["id"], *id);
        assert_eq!(answer["result"]["content"][0]["text"], *name);
    }
}

/// Proves: H2.
#[test]
fn equal_ids_of_many_sessions_and_of_none_do_not_cross() {
    let served = Served::new();
    let clients: Vec<Client> = (0..4).flat_map(|_| served.clients()).collect();
    let calls: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(number, client)| hold(client, &json!(7), &number.to_string()))
        .collect();
    for number in 0..calls.len() {
        until(|| served.seen.has(&format!("began {number}")));
    }
    for number in (0..calls.len()).rev() {
        served.seen.release(&number.to_string());
    }
    for (number, call) in calls.into_iter().enumerate() {
        let answer = call.join().unwrap();
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["result"]["content"][0]["text"], number.to_string());
    }
}

/// Proves: H2.
#[test]
fn equal_tokens_of_one_session_reach_each_their_own_caller() {
    let served = Served::new();
    let client = served.connect();
    let first = json!({
        "name": "hold", "arguments": { "name": "first" }, "_meta": { "progressToken": 5 }
    });
    let second = json!({
        "name": "news", "arguments": { "count": 2 }, "_meta": { "progressToken": 5 }
    });
    let request = client.message(&json!(1), "tools/call", &first);
    let address = served.address;
    let waiting = thread::spawn(move || request.send(address));
    until(|| served.seen.has("began first"));
    let reply = client
        .message(&json!(1), "tools/call", &second)
        .send(address);
    let told = reply.events();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0]["params"]["progressToken"], 5, "{told:?}");
    served.seen.release("first");
    let other = waiting.join().unwrap().events();
    assert_eq!(other.len(), 1, "nothing of the other call: {other:?}");
}

/// Proves: H2.
#[test]
fn a_cancelled_id_cancels_what_has_it_and_nothing_else() {
    let served = Served::new();
    let client = served.connect();
    let first = hold_quietly(&client, &json!(1), "first");
    let other = hold(&client, &json!("1"), "other");
    until(|| served.seen.has("began first") && served.seen.has("began other"));
    client.notify("notifications/cancelled", &json!({ "requestId": 1 }));
    until(|| served.seen.has("cancelled first"));
    assert_eq!(
        first.join().unwrap(),
        Vec::<Value>::new(),
        "no answer follows"
    );
    served.seen.release("other");
    assert_eq!(
        other.join().unwrap()["result"]["content"][0]["text"],
        "other"
    );
    assert!(!served.seen.has("cancelled other"));
}

/// Proves: H2.
#[test]
fn of_equal_ids_the_newest_is_cancelled() {
    let served = Served::new();
    let client = served.connect();
    let older = hold(&client, &json!(1), "older");
    until(|| served.seen.has("began older"));
    let newer = hold_quietly(&client, &json!(1), "newer");
    until(|| served.seen.has("began newer"));
    client.notify("notifications/cancelled", &json!({ "requestId": 1 }));
    until(|| served.seen.has("cancelled newer"));
    assert_eq!(newer.join().unwrap(), Vec::<Value>::new());
    served.seen.release("older");
    assert_eq!(
        older.join().unwrap()["result"]["content"][0]["text"],
        "older"
    );
    assert!(!served.seen.has("cancelled older"));
}

#[test]
fn a_caller_of_one_document_is_told_that_its_request_was_cancelled() {
    let served = Served::new();
    let client = served.connect();
    let params = json!({ "name": "hold", "arguments": { "name": "a" } });
    let request = client.message(&json!("mine"), "tools/call", &params);
    let request = request
        .without("accept")
        .header("accept", "application/json");
    let address = served.address;
    let call = thread::spawn(move || request.send(address));
    until(|| served.seen.has("began a"));
    client.notify("notifications/cancelled", &json!({ "requestId": "mine" }));
    let reply = call.join().unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["id"], "mine");
    assert!(reply.why().contains("cancelled"), "{reply:?}");
}

/// Proves: H2.
#[test]
fn many_equal_tokens_keep_the_name_that_their_client_gave_them() {
    let served = Served::new();
    let client = served.connect();
    let call = |name: &str, arguments: Value| {
        let params =
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": "T" } });
        client.message(&json!(1), "tools/call", &params)
    };
    let held: Vec<_> = (0..100)
        .map(|number| {
            let request = call("hold", json!({ "name": number.to_string(), "tells": true }));
            let address = served.address;
            thread::spawn(move || request.send(address).events())
        })
        .collect();
    for number in 0..100 {
        until(|| served.seen.has(&format!("began {number}")));
    }
    for number in 0..100 {
        served.seen.release(&number.to_string());
    }
    for (number, call) in held.into_iter().enumerate() {
        let events = call.join().unwrap();
        assert_eq!(events.len(), 2, "{events:?}");
        assert_eq!(events[0]["params"]["progressToken"], "T", "{events:?}");
        assert_eq!(
            events[1]["result"]["content"][0]["text"],
            number.to_string()
        );
    }
}

fn hold_quietly(client: &Client, id: &Value, name: &str) -> thread::JoinHandle<Vec<Value>> {
    let params = json!({ "name": "hold", "arguments": { "name": name } });
    let request = client.message(id, "tools/call", &params);
    let address = client.address;
    thread::spawn(move || request.send(address).events())
}

//! A handler that panics.

use ahma_tests::until;
use std::thread;

use ahma_tests::http::Client;
use serde_json::{Value, json};

use super::Served;

fn ask(client: &Client, accept: &str, method: &str, params: &Value) -> Value {
    let request = client.message(&json!(5), method, params);
    let request = request.without("accept").header("accept", accept);
    let address = client.address;
    let asking = thread::spawn(move || request.send(address).answer());
    // An answer that never comes would be waited for as long as the stream shows that it is open.
    until(|| asking.is_finished());
    asking.join().unwrap()
}

/// Proves: H15.
#[test]
fn a_panic_is_answered_to_that_request_and_nothing_else_notices() {
    let served = Served::new();
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" }
    });
    for client in served.clients() {
        let hold = client.message(
            &json!(4),
            "tools/call",
            &json!({ "name": "hold", "arguments": { "name": "beside" } }),
        );
        let address = client.address;
        let beside = thread::spawn(move || hold.send(address).answer());
        until(|| served.seen.has("began beside"));
        for accept in ["application/json", "text/event-stream"] {
            for (method, params) in [
                ("tools/call", &json!({ "name": "mistake" })),
                ("completion/complete", &completion),
            ] {
                let mistake = ask(&client, accept, method, params);
                assert_eq!(mistake["id"], 5, "{mistake}");
                assert_eq!(mistake["error"]["code"], -32603, "{mistake}");
                let why = mistake["error"]["message"].as_str().unwrap();
                assert!(why.contains("its log has the details"), "{why}");
            }
        }
        served.seen.release("beside");
        let beside = beside.join().unwrap();
        assert_eq!(beside["result"]["content"][0]["text"], "beside");
        let echo = json!({ "name": "echo", "arguments": { "text": "after" } });
        let after = ask(&client, "application/json", "tools/call", &echo);
        assert_eq!(after["result"]["content"][0]["text"], "after");
        served.seen.forget();
    }
}

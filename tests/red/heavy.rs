//! What one caller has the server hold in memory: bounded, with a message, and given back.

use std::thread;

use ahma_tests::served::over_http::Served;
use ahma_tests::until;
use serde_json::json;

/// About the most that one request can carry.
const LARGE: usize = 3_500_000;

/// Proves: H25.
#[test]
fn operations_that_wait_hold_so_many_bytes_and_no_more() {
    let served = Served::with(&["--rate-limit", "0", "--max-operations", "1"]);
    let client = served.connect();
    let first = client.start("sleep 600");
    let large = json!({ "command": "wc -c", "stdin": "x".repeat(LARGE) });
    let taken = |_: &usize| !client.call("sandboxed_shell", &large).is_error;
    let count = (0..40).take_while(taken).count();
    assert_eq!(count, (64 << 20) / LARGE);
    let refused = client.call("sandboxed_shell", &large);
    assert!(
        refused.text.contains("too much memory already"),
        "{}",
        refused.text
    );
    // Small ones are taken, and room comes back when operations end.
    client.start("true");
    let cancelled = client.call("cancel", &json!({ "operation_id": first }));
    assert!(!cancelled.is_error, "{}", cancelled.text);
    until(|| !client.call("sandboxed_shell", &large).is_error);
}

/// Proves: H25.
#[test]
fn requests_in_progress_hold_so_many_bytes_and_no_more() {
    let served = Served::with(&["--rate-limit", "0"]);
    let client = served.connect();
    let large = json!({
        "command": "until [ -e go ]; do sleep 0.1; done; wc -c", "execution_mode": "sync", "stdin": "x".repeat(LARGE)
    });
    let most = (32 << 20) / LARGE;
    let waiting: Vec<_> = (0..most)
        .map(|_| {
            let (request, address) = (client.calling("sandboxed_shell", &large), client.address);
            thread::spawn(move || request.send(address).status)
        })
        .collect();
    let request = client.calling("sandboxed_shell", &large);
    // They come in one after another.
    until(|| {
        client
            .call("status", &json!({}))
            .text
            .matches("running")
            .count()
            >= most
    });
    let refused = request.send(client.address);
    assert_eq!(refused.status, 429);
    assert!(
        refused.why().contains("have 32 MiB together already"),
        "{}",
        refused.why()
    );
    assert!(
        served
            .connect()
            .sync("echo other")
            .text
            .starts_with("other\n")
    );
    assert!(client.sync("touch go").text.contains("completed"));
    for one in waiting {
        assert_eq!(one.join().unwrap(), 200);
    }
    assert_eq!(request.send(client.address).status, 200);
}

/// Proves: H25.
#[test]
fn names_of_megabytes_are_refused_and_not_repeated() {
    let served = Served::new();
    let client = served.connect();
    let long = json!("x".repeat(LARGE));
    let id = client.message(&long, "ping", &json!({}));
    let token = json!({ "_meta": { "progressToken": long } });
    let token = client.message(&json!(1), "ping", &token);
    let name = client.message(&json!(1), "tools/call", &json!({ "name": long }));
    for request in [id, token, name] {
        let refused = request.send(client.address);
        assert_eq!(refused.status, 400);
        assert!(
            refused.why().contains("at most 4096 bytes"),
            "{}",
            refused.why()
        );
    }
}

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

/// Proves: H25.
#[test]
fn what_is_kept_after_a_request_is_small() {
    let served = Served::with(&["--rate-limit", "0"]);
    let client = served.connect();
    let long = "x".repeat(LARGE);
    let before = resident_kb(served.process.pid());
    for _ in 0..20 {
        let id = client.start("sleep 600");
        let ended = client.call("cancel", &json!({ "operation_id": id, "reason": long }));
        assert!(ended.text.contains("cancelled"), "{}", ended.text.len());
        let unknown = client.call("status", &json!({ "operation_id": long }));
        assert!(unknown.is_error && unknown.text.len() < 1000);
    }
    let many: Vec<String> = (0..2000).map(|it| format!("op_{it}")).collect();
    let refused = client.call("await", &json!({ "operation_id": many }));
    assert!(
        refused.text.contains("at most 1000"),
        "{}",
        refused.text.len()
    );
    let some = client.call("await", &json!({ "operation_id": many[..500] }));
    assert!(some.text.contains("480 others"), "{}", some.text);
    let info = json!({ "x": { "a": vec![json!({ "k": 0 }); 15_000] } });
    let sessions: Vec<_> = (0..20)
        .map(|_| {
            let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": { "experimental": info },
                "clientInfo": { "name": "t", "version": "1", "title": long }
            } });
            let mut new = client.clone();
            new.session = None;
            new.connected(&begin)
        })
        .collect();
    let grown = resident_kb(served.process.pid()).saturating_sub(before);
    assert!(
        grown < 100_000,
        "{grown} kB for {} sessions",
        sessions.len()
    );
}

/// Memory of a process, in kB.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let mut words = line.unwrap().split_whitespace();
    words.nth(1).unwrap().parse().unwrap()
}

//! Whoever has the key of one workspace takes nothing from those who have another.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ahma_tests::http::{Client, Request};
use ahma_tests::served::over_http::Served;
use ahma_tests::{Workspace, until};
use rustix::process::{Resource, getrlimit};
use serde_json::json;

/// A server with a workspace, and the key of that.
fn served() -> (Served, String, Workspace) {
    let other = Workspace::new();
    let workspace = format!("other={}", other.path().display());
    let served = Served::with(&["--workspace", &workspace]);
    let key = served.process.tokens["/mcp/w/other"].clone();
    (served, key, other)
}

/// Sends the head of a request, and what comes after it.
fn send(address: SocketAddr, key: &str, line: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n{headers}\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Proves: H27.
#[test]
fn streams_of_one_workspace_do_not_use_up_the_bytes_of_others() {
    let (served, key, _other) = served();
    let address = served.process.address;
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": { "toolsListChanged": true }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } })
    .to_string();
    let headers = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                   mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n\
                   transfer-encoding: chunked\r\n";
    let body = format!("{:x}\r\n{listen}\r\n0\r\n\r\n", listen.len());
    let streams: Vec<TcpStream> = (0..70)
        .map(|_| {
            let mut stream = send(address, &key, "POST /mcp/w/other", headers, &body);
            let mut status = [0; 15];
            stream.read_exact(&mut status).unwrap();
            assert_eq!(&status, b"HTTP/1.1 200 OK", "it is open");
            stream
        })
        .collect();
    let client = served.connect();
    let padded = format!("echo fine # {}", "x".repeat(20_000));
    assert!(client.sync(&padded).text.starts_with("fine\n"));
    drop(streams);
}

/// Proves: H27.
#[test]
fn connections_with_the_key_of_one_workspace_keep_nobody_else_out() {
    let (served, key, _other) = served();
    let address = served.process.address;
    let client = served.connect();
    let running = client.start("sleep 600");
    ahma_sandbox::allow_many_descriptors();
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = (limit / 2).min(2600);
    let known: Vec<TcpStream> = (0..count)
        .map(|_| {
            send(
                address,
                &key,
                "PUT /mcp/w/other",
                "content-length: 0\r\n",
                "",
            )
        })
        .collect();
    assert!(client.sync("echo in").text.starts_with("in\n"));
    let cancelled = client.call("cancel", &json!({ "operation_id": running }));
    assert!(!cancelled.is_error, "{}", cancelled.text);
    assert_eq!(Request::new("GET", "/health").send(address).status, 200);
    assert!(served.connect().sync("echo new").text.starts_with("new\n"));
    assert_eq!(client.delete().status, 204);
    drop(known);
}

/// Proves: H27.
#[test]
fn requests_of_one_workspace_do_not_use_up_the_rate_of_others() {
    let (served, key, _other) = served();
    let is_over = Arc::new(AtomicBool::new(false));
    let refused = Arc::new(AtomicUsize::new(0));
    let (address, over) = (served.process.address, Arc::clone(&is_over));
    let counting = Arc::clone(&refused);
    let flooding = thread::spawn(move || {
        let flood = Client::stateless(address, Some(&key)).at("/mcp/w/other");
        let request = flood.prepared(Request::new("POST", "/mcp/w/other").json("{}"));
        while !over.load(Ordering::SeqCst) {
            let is_refused = request.send(address).status == 429;
            counting.fetch_add(usize::from(is_refused), Ordering::SeqCst);
        }
    });
    // Its own are refused by now.
    until(|| refused.load(Ordering::SeqCst) > 10);
    for _ in 0..20 {
        let client = served.connect();
        assert_eq!(client.delete().status, 204);
    }
    is_over.store(true, Ordering::SeqCst);
    flooding.join().unwrap();
}

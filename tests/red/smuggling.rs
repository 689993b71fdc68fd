//! Requests whose beginning or end two programs could see differently: one answer each, and nothing of the second one
//! happens.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ahma_tests::served::over_http::Served;
use serde_json::json;

/// Proves: H26.
#[test]
fn no_second_request_comes_out_of_one() {
    let served = Served::with(&["--rate-limit", "0"]);
    let address = served.process.address;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "sandboxed_shell", "arguments": { "command": "touch smuggled", "execution_mode": "sync" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } })
    .to_string();
    let key = served.process.token.clone().unwrap();
    let second = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\naccept: application/json\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: sandboxed_shell\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{call}",
        call.len()
    );
    let size = second.len();
    let first =
        format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    let with = |headers: String, body: &str| format!("{first}{headers}\r\n\r\n{body}{second}");
    let get = format!("GET /mcp HTTP/1.1\r\nhost: {address}\r\n");
    let forms = [
        with(
            format!("content-length: {size}\r\ntransfer-encoding: chunked"),
            "0\r\n\r\n",
        ),
        with(
            "transfer-encoding: chunked\r\ncontent-length: 4".to_owned(),
            "0\r\n\r\n",
        ),
        with(format!("content-length: 0\r\ncontent-length: {size}"), ""),
        with(format!("content-length: 0, {size}"), ""),
        with("content-length: +0".to_owned(), ""),
        with("transfer-encoding: xchunked".to_owned(), "0\r\n\r\n"),
        with(
            "transfer-encoding: chunked, identity".to_owned(),
            "0\r\n\r\n",
        ),
        with("transfer-encoding : chunked".to_owned(), "0\r\n\r\n"),
        format!(
            "{get}content-length: {size}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{second}"
        ),
        format!(
            "{get}upgrade: h2c\r\nconnection: upgrade\r\ncontent-length: {size}\r\n\r\n{second}"
        ),
        format!(
            "CONNECT {address} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {size}\r\n\r\n{second}"
        ),
    ];
    let ask = |form: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        stream.write_all(form.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // One that is refused may be cut off.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let smuggled = served.project.path().join("smuggled");
    for form in forms {
        let answer = ask(&form);
        let start = &form[..form.find("\r\n\r\n").unwrap()];
        assert!(!smuggled.exists(), "{start}: {answer}");
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{start}: {answer}");
    }
    let own = ask(&second);
    assert!(own.contains("op_"), "with the key it is a call: {own}");
    assert!(fs::exists(smuggled).unwrap());
}

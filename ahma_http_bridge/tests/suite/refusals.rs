//! Every refusal has its status, and JSON with a sentence that says what to do.

use ahma_tests::until;
use std::time::Duration;

use ahma_contract::Token;
use ahma_http_bridge::{BridgeConfig, Limits, RateLimit};
use ahma_tests::http::{Client, Connection, Reply, Request, initialize};
use serde_json::{Value, json};

use super::{SECRET, Served};

fn refused(reply: &Reply, status: u16, word: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let why = reply.why();
    assert!(why.contains(word), "{why}");
}

/// Proves: H9.
#[test]
fn a_request_without_its_session_is_400_and_says_how_to_get_one() {
    let served = Served::new();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    refused(
        &Request::message(&list).send(served.address),
        400,
        "initialize",
    );
    let stream = Request::new("GET", "/mcp").header("accept", "text/event-stream");
    refused(&stream.send(served.address), 400, "initialize");
    refused(
        &Request::new("DELETE", "/mcp").send(served.address),
        400,
        "initialize",
    );
    let twice = Request::message(&list)
        .header("mcp-session-id", "a")
        .header("mcp-session-id", "b");
    refused(&twice.send(served.address), 400, "one Mcp-Session-Id");
}

/// Proves: H9.
#[test]
fn content_that_is_no_message_is_400_with_the_code_of_what_is_wrong() {
    let served = Served::new();
    let client = served.connect();
    for (content, code, id) in [
        ("{bad", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("\u{feff}[", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("17", -32600, Value::Null),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}",
            -32600,
            json!(5),
        ),
        ("{\"id\":5,\"method\":\"ping\"}", -32600, json!(5)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            -32600,
            Value::Null,
        ),
    ] {
        let request = client.prepared(Request::new("POST", "/mcp").json(content));
        let reply = request.send(served.address);
        assert_eq!(reply.status, 400, "{content}: {reply:?}");
        assert_eq!(reply.json()["error"]["code"], code, "{content}");
        assert_eq!(reply.json()["id"], id, "{content}");
    }
    let deep = format!("{}{}", "[".repeat(40_000), "]".repeat(40_000));
    let reply = client
        .prepared(Request::new("POST", "/mcp").json(deep))
        .send(served.address);
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (400, &json!(-32700))
    );
    assert_eq!(
        client.call("echo", &json!({ "text": "still here" })).text,
        "still here"
    );
}

/// Proves: H11.
#[test]
fn very_many_values_are_refused_before_they_are_read() {
    let served = Served::new();
    let client = served.connect();
    let many = format!("[{}1]", "1,".repeat(300_000));
    let call = json!({ "name": "echo", "arguments": { "text": "@" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let body = message.to_string().replace("\"@\"", &many);
    for session in [client.session.clone(), None] {
        let mut request = Request::new("POST", "/mcp").json(body.clone());
        if let Some(session) = session {
            request = request.header("mcp-session-id", &session);
        }
        refused(&request.send(served.address), 400, "50000 values");
    }
}

/// Proves: H9.
#[test]
fn small_liberties_are_taken_as_meant() {
    let served = Served::new();
    let client = served.connect();
    let call = client.calling("echo", &json!({ "text": "hi" }));
    let shouted = call.clone().without("content-type");
    let shouted = shouted.header("content-type", "Application/JSON; charset=utf-8");
    let text = |reply: &Reply| reply.answer()["result"]["content"][0]["text"].clone();
    assert_eq!(text(&shouted.send(served.address)), "hi");
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "echo", "arguments": { "text": "hi" } }
    });
    let marked = client.prepared(Request::new("POST", "/mcp").json(format!("\u{feff}{message}")));
    assert_eq!(text(&marked.send(served.address)), "hi");
}

/// Proves: H9.
#[test]
fn headers_that_contradict_the_beginning_of_a_session_are_400() {
    let served = Served::new();
    let first = Request::message(&initialize("2025-06-18"));
    let other = first.clone().header("mcp-protocol-version", "2025-11-25");
    refused(&other.send(served.address), 400, "2025-11-25");
    let method = first.clone().header("mcp-method", "tools/list");
    let reply = method.send(served.address);
    refused(&reply, 400, "tools/list");
    assert_eq!(reply.json()["error"]["code"], -32020);
    let right = first
        .header("mcp-protocol-version", "2025-06-18")
        .header("mcp-method", "initialize");
    assert_eq!(right.send(served.address).status, 200);
    assert_eq!(served.sessions(), 1);
}

/// Proves: H9.
#[test]
fn a_client_that_sends_everything_before_it_reads_sees_why_it_was_refused() {
    let served = Served::with_token();
    let large = Request::new("POST", "/mcp").json("x".repeat(12_000_000));
    let mut connection = Connection::to(served.address);
    connection.write(&large.bytes(served.address));
    refused(&connection.answer(), 401, "token");
    let known = large.header("authorization", &format!("Bearer {SECRET}"));
    let mut connection = Connection::to(served.address);
    connection.write(&known.bytes(served.address));
    refused(&connection.answer(), 413, "4096 KiB");
}

/// Proves: I6.
#[test]
fn without_the_token_it_is_401_and_with_it_it_is_served() {
    let served = Served::with_token();
    let first = Request::message(&initialize("2025-06-18"));
    refused(&first.send(served.address), 401, "Bearer");
    assert_eq!(
        first.send(served.address).header("www-authenticate"),
        Some("Bearer")
    );
    for wrong in [
        "Bearer 0123456789abcdeg",
        "Bearer",
        "Basic 0123456789abcdef",
        "",
    ] {
        let reply = first
            .clone()
            .header("authorization", wrong)
            .send(served.address);
        refused(&reply, 401, "token");
    }
    for path in ["/tools", "/resources", "/prompts", "/mcp", "/mcp/"] {
        refused(
            &Request::new("GET", path).send(served.address),
            401,
            "token",
        );
    }
    let by_header = first
        .clone()
        .header("authorization", &format!("Bearer {SECRET}"));
    assert_eq!(by_header.send(served.address).status, 200);
    let body = initialize("2025-06-18").to_string();
    let by_url = Request::new("POST", &format!("/mcp?key={SECRET}")).json(body.clone());
    assert_eq!(by_url.send(served.address).status, 200);
    let by_wrong_url = Request::new("POST", "/mcp?key=nothing").json(body);
    refused(&by_wrong_url.send(served.address), 401, "token");
    assert_eq!(
        Request::new("GET", "/health").send(served.address).status,
        200
    );
}

/// Proves: H9.
#[test]
fn a_session_that_is_not_there_is_404() {
    let served = Served::new();
    let client = Client {
        session: Some("00000000-0000-0000-0000-000000000000".to_owned()),
        ..served.stateless()
    };
    let list = client.message(&json!(1), "tools/list", &json!({}));
    refused(&list.send(served.address), 404, "initialize");
    let stream = Request::new("GET", "/mcp").header("accept", "text/event-stream");
    refused(
        &client.prepared(stream).send(served.address),
        404,
        "initialize",
    );
    refused(&client.delete(), 404, "initialize");
}

/// Proves: H9.
#[test]
fn what_is_nowhere_is_404_and_names_what_there_is() {
    let served = Served::with_token();
    for path in [
        "/",
        "/sse",
        "/mcp/x",
        "/.well-known/oauth-protected-resource",
    ] {
        refused(
            &Request::new("GET", path).send(served.address),
            404,
            "/health",
        );
    }
}

/// Proves: H9.
#[test]
fn other_methods_are_405_and_name_those_that_are_taken() {
    let served = Served::new();
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        let reply = Request::new(method, "/mcp").send(served.address);
        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(reply.header("allow"), Some("GET, POST, DELETE"));
    }
    let reply = Request::new("POST", "/tools").send(served.address);
    refused(&reply, 405, "GET");
    let newer = Request::new("GET", "/mcp")
        .header("accept", "text/event-stream")
        .header("mcp-protocol-version", "2026-07-28");
    let reply = newer.send(served.address);
    refused(&reply, 405, "no sessions");
    assert_eq!(reply.header("allow"), Some("POST"));
}

/// Proves: H9.
#[test]
fn content_that_is_too_large_is_413_whether_or_not_it_says_so() {
    let limits = Limits {
        body: 64 * 1024,
        ..Limits::default()
    };
    let served = Served::limited(limits);
    let client = served.connect();
    let fits = client.calling("echo", &json!({ "text": "x".repeat(60 * 1024) }));
    assert_eq!(fits.send(served.address).status, 200);
    let large = client.calling("echo", &json!({ "text": "x".repeat(64 * 1024) }));
    refused(&large.send(served.address), 413, "64 KiB");
    let mut chunked = Connection::to(served.address);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        served.address
    );
    chunked.write(head.as_bytes());
    for _ in 0..3 {
        chunked.write(format!("8000\r\n{}\r\n", "x".repeat(0x8000)).as_bytes());
    }
    refused(&chunked.answer(), 413, "64 KiB");
    assert_eq!(client.call("echo", &json!({ "text": "hi" })).text, "hi");
}

/// Proves: H9.
#[test]
fn content_that_is_not_json_is_415() {
    let served = Served::new();
    let body = initialize("2025-06-18").to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let request = Request::new("POST", "/mcp").header("content-type", kind);
        refused(
            &request.body(body.clone()).send(served.address),
            415,
            "application/json",
        );
    }
    let unsaid = Request::new("POST", "/mcp").body(body);
    refused(&unsaid.send(served.address), 415, "application/json");
}

/// Proves: H9.
#[test]
fn content_that_does_not_come_is_408() {
    let served = Served::limited(Limits {
        body_timeout: Duration::from_millis(50),
        ..Limits::default()
    });
    let mut connection = Connection::to(served.address);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{{",
        served.address
    );
    connection.write(head.as_bytes());
    refused(&connection.answer(), 408, "too long");
}

fn rated() -> Limits {
    Limits {
        rate: RateLimit::of(1, 5),
        ..Limits::default()
    }
}

/// Proves: H10.
#[test]
fn too_many_requests_are_429_for_each_session_on_its_own() {
    let served = Served::limited(rated());
    let (one, two) = (served.connect(), served.connect());
    let ping = |client: &Client| {
        let request = client.message(&json!(1), "ping", &json!({}));
        request.send(served.address)
    };
    let statuses: Vec<u16> = (0..8).map(|_| ping(&one).status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(statuses[0], 200, "{statuses:?}");
    let reply = ping(&one);
    refused(&reply, 429, "the operator can raise the limit");
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=5).contains(&seconds), "{seconds}");
    assert_eq!(ping(&two).status, 200, "another session");
}

/// Proves: H10.
#[test]
fn strangers_do_not_use_up_what_those_with_the_token_may_do() {
    let served = Served::with(BridgeConfig {
        token: Some(Token::new(SECRET).unwrap()),
        limits: rated(),
        ..BridgeConfig::default()
    });
    let strangers: Vec<u16> = (0..8)
        .map(|_| Request::new("GET", "/tools").send(served.address).status)
        .collect();
    assert!(
        strangers.contains(&401) && strangers.contains(&429),
        "{strangers:?}"
    );
    let foreign = Request::new("GET", "/health").header("origin", "https://evil.example");
    assert_eq!(
        foreign.send(served.address).status,
        429,
        "web pages are strangers"
    );
    let health = Request::new("GET", "/health").send(served.address);
    assert_eq!(health.status, 200, "whoever looks for the server finds it");
    let known = served
        .stateless()
        .message(&json!(1), "tools/list", &json!({}));
    let known: Vec<u16> = (0..8).map(|_| known.send(served.address).status).collect();
    assert!(known.contains(&200) && known.contains(&429), "{known:?}");
}

/// Proves: H11.
#[test]
fn more_sessions_than_there_may_be_are_503_until_one_ends() {
    let served = Served::limited(Limits {
        sessions: 2,
        ..Limits::default()
    });
    let first = served.connect();
    let _second = served.connect();
    let third = Request::message(&initialize("2025-06-18"));
    let reply = third.send(served.address);
    refused(&reply, 503, "the operator to allow more");
    let newer = Request::message(&initialize("2026-07-28"));
    let newer = newer.header("mcp-protocol-version", "2026-07-28");
    refused(
        &newer.send(served.address),
        503,
        "the operator to allow more",
    );
    assert!(reply.header("retry-after").is_some());
    let stateless = served.stateless().call("echo", &json!({ "text": "hi" }));
    assert_eq!(stateless.text, "hi", "what needs no session is served");
    assert_eq!(first.delete().status, 204);
    assert_eq!(third.send(served.address).status, 200);
}

/// Proves: H11.
#[test]
fn more_requests_in_work_than_a_session_may_have_are_429() {
    let served = Served::limited(Limits {
        requests: 1,
        ..Limits::default()
    });
    let client = served.connect();
    let held = client.calling("hold", &json!({ "name": "a" }));
    let address = served.address;
    let holding = std::thread::spawn(move || held.send(address));
    until(|| served.seen.has("began a"));
    let second = client.calling("echo", &json!({ "text": "hi" }));
    refused(&second.send(address), 429, "in progress");
    let other = served.connect().call("echo", &json!({ "text": "hi" }));
    assert_eq!(other.text, "hi", "another session");
    served.seen.release("a");
    assert_eq!(holding.join().unwrap().status, 200);
    assert_eq!(second.send(address).status, 200);
}

/// Proves: H9.
#[test]
fn an_unknown_protocol_version_is_named_with_those_that_are_known() {
    let served = Served::new();
    let request = Request::new("GET", "/mcp").header("accept", "text/event-stream");
    let reply = request
        .header("mcp-protocol-version", "1999-01-01")
        .send(served.address);
    assert_eq!(reply.status, 400);
    let why = reply.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        why.contains("1999-01-01") && why.contains("2026-07-28"),
        "{why}"
    );
}

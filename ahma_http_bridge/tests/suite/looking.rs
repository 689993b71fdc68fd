//! What people with curl see.

use ahma_contract::Token;
use ahma_http_bridge::{Backend, BridgeConfig};
use ahma_tests::http::{Request, initialize};
use ahma_transport::{Direction, MessageTrace};
use axum::Router;
use axum::routing::get;
use rmcp::model::Tool;
use serde_json::json;
use std::sync::{Arc, Mutex};

use super::{SECRET, Served};

/// Proves: H6.
#[test]
fn health_needs_no_token_and_tells_nothing_secret() {
    let served = Served::with_token();
    let reply = Request::new("GET", "/health").send(served.address);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["status"], "ok");
    assert_eq!(reply.json()["sessions"], 0);
    served.connect();
    let reply = Request::new("GET", "/health").send(served.address);
    assert_eq!(reply.json()["sessions"], 1);
    assert!(!reply.body.contains(SECRET));
}

#[test]
fn a_server_can_prove_that_it_knows_the_token_without_telling_it() {
    let served = Served::with_token();
    let ask = |challenge: &str| {
        let target = format!("/health?challenge={challenge}");
        Request::new("GET", &target).send(served.address).json()
    };
    let token = Token::new(SECRET).unwrap();
    let proof = token.proof(&served.address.into(), "abc").unwrap();
    assert_eq!(ask("abc")["proof"], proof);
    assert_eq!(ask("")["proof"], json!(null));
    assert_eq!(ask(&"x".repeat(101))["proof"], json!(null));
    let open = Served::new();
    let reply = Request::new("GET", "/health?challenge=abc").send(open.address);
    assert_eq!(
        reply.json()["proof"],
        json!(null),
        "there is nothing to prove"
    );
}

/// Proves: H6.
#[test]
fn lists_can_be_looked_at() {
    let served = Served::with_token();
    for name in ["tools", "resources", "prompts"] {
        let target = format!("/{name}?key={SECRET}");
        let reply = Request::new("GET", &target).send(served.address);
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json(), json!({ name: [] }));
    }
}

/// Proves: P11.
#[test]
fn every_answer_has_a_name_that_no_caller_chooses() {
    let served = Served::new();
    let request = Request::new("GET", "/health").header("x-request-id", "mine");
    let names = [
        request.send(served.address),
        Request::new("GET", "/none").send(served.address),
    ];
    let names = names.map(|reply| reply.header("x-request-id").unwrap().to_owned());
    assert_ne!(names[0], names[1]);
    assert!(!names.contains(&"mine".to_owned()));
}

/// Proves: H5.
#[test]
fn messages_are_shown_in_both_directions_and_the_token_is_not() {
    let shown = Arc::new(Mutex::new(String::new()));
    let writer = Arc::clone(&shown);
    let echo = MessageTrace::new(false, move |text| writer.lock().unwrap().push_str(text));
    let served = Served::with(BridgeConfig {
        token: Some(Token::new(SECRET).unwrap()),
        trace: Some(echo.clone()),
        ..BridgeConfig::default()
    });
    let target = format!("/mcp?key={SECRET}");
    let body = initialize("2025-06-18").to_string();
    Request::new("POST", &target)
        .json(body)
        .send(served.address);
    let client = served.connect();
    client.call("echo", &json!({ "text": "hello" }));
    echo.show(Direction::Error, b"no such file");
    let shown = shown.lock().unwrap().clone();
    assert!(
        shown.contains("→ STDIN:\n{\n  \"jsonrpc\": \"2.0\","),
        "{shown}"
    );
    assert!(
        shown.contains("← STDOUT:\n{\n  \"jsonrpc\": \"2.0\","),
        "{shown}"
    );
    assert!(shown.contains("        \"text\": \"hello\""), "{shown}");
    assert!(shown.contains("⚠ STDERR:\nno such file\n"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
}

/// A program that offers one tool.
struct OneTool;

impl Backend for OneTool {
    fn tools(&self) -> Vec<Tool> {
        let schema = Arc::new(serde_json::Map::new());
        vec![Tool::new("only", "The only one.", schema)]
    }
}

/// Proves: H6.
#[test]
fn lists_are_those_of_the_program_behind_the_bridge() {
    let served = Served::with(BridgeConfig {
        backend: Arc::new(OneTool),
        ..BridgeConfig::default()
    });
    let reply = Request::new("GET", "/tools").send(served.address);
    assert_eq!(reply.json()["tools"][0]["name"], "only");
    let refused = Request::new("DELETE", "/tools").send(served.address);
    assert_eq!(refused.status, 405);
    assert_eq!(refused.header("allow"), Some("GET"));
}

/// Proves: H18.
#[test]
fn routes_of_the_program_are_behind_the_same_checks() {
    let routes = Router::new().route("/console", get(|| async { "hello" }));
    let served = Served::with(BridgeConfig {
        token: Some(Token::new(SECRET).unwrap()),
        routes,
        ..BridgeConfig::default()
    });
    let allowed = Request::new("GET", &format!("/console?key={SECRET}")).send(served.address);
    assert_eq!((allowed.status, allowed.body.as_str()), (200, "hello"));
    let stranger = Request::new("GET", "/console").send(served.address);
    assert_eq!(stranger.status, 401);
    let request = Request::new("GET", &format!("/console?key={SECRET}"));
    let foreign = request.without("host").header("host", "evil.example:80");
    assert_eq!(foreign.send(served.address).status, 403);
    let page = Request::new("GET", &format!("/console?key={SECRET}"));
    let page = page.header("origin", "http://evil.example");
    assert_eq!(page.send(served.address).status, 403);
}

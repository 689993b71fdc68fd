//! What a web page can and cannot do.

use ahma_http_bridge::{BridgeConfig, Origin};
use ahma_tests::http::{Request, initialize};

use super::Served;

fn allowing(origin: &str) -> Served {
    Served::with(BridgeConfig {
        origins: vec![Origin::new(origin).unwrap()],
        ..BridgeConfig::default()
    })
}

/// Proves: H8.
#[test]
fn a_name_that_leads_here_is_foreign_still() {
    let served = Served::new();
    let port = served.address.port();
    let health = |host: &str| {
        let request = Request::new("GET", "/health").without_host();
        request.header("host", host).send(served.address)
    };
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        assert_eq!(health(&format!("{host}:{port}")).status, 200, "{host}");
    }
    for host in [
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost:{port}.evil.example"),
        format!("localhost:1{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("0.0.0.0:{port}"),
        "localhost".to_owned(),
        String::new(),
    ] {
        let reply = health(&host);
        assert_eq!(reply.status, 403, "{host}: {reply:?}");
    }
    let foreign = health(&format!("evil.example:{port}"));
    assert!(foreign.why().contains("evil.example"), "{foreign:?}");
    let none = Request::new("GET", "/health")
        .without_host()
        .send(served.address);
    assert_eq!(none.status, 403, "{none:?}");
    let twice = Request::new("GET", "/health").header("host", "evil.example");
    assert_eq!(twice.send(served.address).status, 403);
    let elsewhere = Request::new("GET", "http://evil.example/health");
    assert_eq!(elsewhere.send(served.address).status, 403);
}

/// Proves: H8.
#[test]
fn pages_of_other_origins_are_refused_everywhere() {
    let served = allowing("https://app.example");
    let port = served.address.port();
    let from = |origin: &str, request: Request| {
        request.header("origin", origin).send(served.address).status
    };
    let first = || Request::message(&initialize("2025-06-18"));
    for origin in [
        "https://app.example",
        &format!("http://localhost:{port}"),
        &format!("http://127.0.0.1:{port}"),
    ] {
        assert_eq!(from(origin, first()), 200, "{origin}");
    }
    for origin in [
        "null",
        "https://evil.example",
        "https://app.example.evil.example",
        "http://localhost",
        "http://app.example",
    ] {
        for request in [
            first(),
            Request::new("GET", "/mcp"),
            Request::new("DELETE", "/mcp"),
            Request::new("OPTIONS", "/mcp"),
            Request::new("GET", "/health"),
            Request::new("GET", "/tools"),
        ] {
            assert_eq!(from(origin, request), 403, "{origin}");
        }
    }
    let twice = first().header("origin", "https://app.example");
    assert_eq!(from("https://evil.example", twice), 403);
}

/// Proves: H8.
#[test]
fn browsers_are_told_that_an_allowed_origin_may_call() {
    let served = allowing("https://app.example");
    let asked = Request::new("OPTIONS", "/mcp")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,mcp-session-id",
        );
    let reply = asked.send(served.address);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let headers = reply.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("mcp-session-id"), "{headers}");
    let called =
        Request::message(&initialize("2025-06-18")).header("origin", "https://app.example");
    let reply = called.send(served.address);
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let seen = reply.header("access-control-expose-headers").unwrap();
    assert!(seen.contains("mcp-session-id"), "{seen}");
}

/// Proves: H8.
#[test]
fn without_allowed_origins_browsers_are_told_nothing() {
    let served = Served::new();
    let reply = Request::message(&initialize("2025-06-18")).send(served.address);
    assert_eq!(reply.header("access-control-allow-origin"), None);
}

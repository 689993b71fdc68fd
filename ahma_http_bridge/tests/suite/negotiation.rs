//! R8.2: callers choose the form of their answers.

use ahma_tests::http::{Client, Request, initialize};
use serde_json::json;

use super::Served;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// What is accepted, and what comes back; none is refused.
const FORMS: [(&[&str], Option<&str>); 9] = [
    (&[], Some(JSON)),
    (&["*/*"], Some(JSON)),
    (&["application/json"], Some(JSON)),
    (&["application/json;q=0.9, */*;q=0.1"], Some(JSON)),
    (&["text/event-stream"], Some(EVENTS)),
    (&["application/json, text/event-stream"], Some(EVENTS)),
    (&["text/event-stream", "application/json"], Some(EVENTS)),
    (&["text/event-stream;q=0, application/json"], Some(JSON)),
    (&["text/html"], None),
];

/// A request of a client, with other ideas of what it accepts.
fn accepting(
    client: &Client,
    accept: &[&str],
    method: &str,
    params: &serde_json::Value,
) -> Request {
    let message = client.message(&json!(7), method, params);
    let mut request = message.without("accept");
    for value in accept {
        request = request.header("accept", value);
    }
    request
}

/// Proves: H4.
#[test]
fn each_lifecycle_answers_in_the_form_that_is_accepted() {
    let served = Served::new();
    let call = json!({ "name": "echo", "arguments": { "text": "hi" } });
    for client in served.clients() {
        for (accept, form) in FORMS {
            let reply = accepting(&client, accept, "tools/call", &call).send(served.address);
            let Some(form) = form else {
                assert_eq!(reply.status, 406, "{accept:?}");
                assert!(reply.why().contains("application/json"));
                continue;
            };
            assert_eq!(reply.header("content-type"), Some(form), "{accept:?}");
            let answer = reply.answer();
            assert_eq!(answer["id"], 7);
            assert_eq!(answer["result"]["content"][0]["text"], "hi", "{accept:?}");
        }
    }
}

/// Proves: H4, I2.
#[test]
fn the_handshake_follows_the_same_rule() {
    let served = Served::new();
    for (accept, form) in FORMS {
        let mut request = Request::new("POST", "/mcp").json(initialize("2025-11-25").to_string());
        for value in accept {
            request = request.header("accept", value);
        }
        let reply = request.send(served.address);
        assert_eq!(
            reply.header("content-type"),
            Some(form.unwrap_or(JSON)),
            "{accept:?}"
        );
        assert_eq!(reply.header("mcp-session-id").is_some(), form.is_some());
    }
}

/// Proves: H4.
#[test]
fn one_document_holds_the_answer_and_no_news() {
    let served = Served::new();
    let call = json!({
        "name": "news", "arguments": { "count": 3 }, "_meta": { "progressToken": "t" }
    });
    for client in served.clients() {
        let reply = accepting(&client, &[JSON], "tools/call", &call).send(served.address);
        assert_eq!(reply.answer()["result"]["content"][0]["text"], "told");
        let reply = accepting(&client, &[EVENTS], "tools/call", &call).send(served.address);
        let methods: Vec<_> = reply
            .events()
            .iter()
            .map(|it| it["method"].clone())
            .collect();
        let progress = json!("notifications/progress");
        assert_eq!(
            methods.iter().filter(|it| **it == progress).count(),
            3,
            "{reply:?}"
        );
        assert!(methods.last().unwrap().is_null(), "the answer comes last");
    }
}

/// Proves: H4.
#[test]
fn an_error_of_the_protocol_is_a_document_too() {
    let served = Served::new();
    for client in served.clients() {
        let wrong = json!({ "name": "nothing" });
        let reply = accepting(&client, &[JSON], "tools/call", &wrong).send(served.address);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["error"]["code"], -32602);
        assert_eq!(reply.json()["id"], 7);
    }
    let unknown = accepting(&served.stateless(), &[JSON], "no/method", &json!({}));
    let reply = unknown.send(served.address);
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (404, &json!(-32601))
    );
}

/// Proves: H4.
#[test]
fn what_never_ends_needs_events() {
    let served = Served::new();
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let request = accepting(
        &served.stateless(),
        &[JSON],
        "subscriptions/listen",
        &listen,
    );
    let reply = request.send(served.address);
    assert_eq!(reply.status, 406);
    assert!(reply.why().contains("text/event-stream"));
    let get = Request::new("GET", "/mcp").header("accept", JSON);
    assert_eq!(
        served.connect().prepared(get).send(served.address).status,
        406
    );
}

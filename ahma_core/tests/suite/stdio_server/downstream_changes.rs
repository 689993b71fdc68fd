//! Changes of what servers of 2026-07-28 offer, which they tell only to whoever listens.

use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::behind::{Behind, entry, names};

/// An entry of a server without sessions, over stdio or HTTP.
fn stateless(options: &[&str], over_http: bool) -> Value {
    let mut options = options.to_vec();
    options.push("--revision=stateless");
    if over_http {
        options.push("--http=${PORT}");
    }
    let mut entry = entry(&options);
    entry["pin"] = json!(false);
    if over_http {
        entry["type"] = json!("managed_http");
    }
    entry
}

/// Waits for the notification after which there is one tool more. The first one may be about all of them.
fn until_grown(client: &mut McpProcess) {
    while !names(client).contains(&"up_t0".to_owned()) {
        client.notification("notifications/tools/list_changed");
    }
}

/// Proves: C38.
#[test]
fn a_server_without_sessions_is_listened_to() {
    for over_http in [false, true] {
        let behind = Behind::new(&json!({ "up": stateless(&["--grows"], over_http) }));
        let mut client = behind.start();
        assert!(!names(&mut client).contains(&"up_t0".to_owned()));
        let grown = client.call("up_grow", &json!({}));
        assert!(grown.text.starts_with("grown"), "{grown:?}");
        until_grown(&mut client);
    }
}

/// Proves: C38.
#[test]
fn a_subscription_that_ends_is_made_anew_and_what_was_missed_is_looked_up() {
    for over_http in [false, true] {
        let behind = Behind::new(&json!({}));
        let log = format!("--log={}", behind.log().display());
        behind.name(&json!({ "up": stateless(&["--hang-up", &log], over_http) }));
        let mut client = behind.start();
        names(&mut client);
        until_grown(&mut client);
        assert!(behind.count("listen") >= 2);
    }
}

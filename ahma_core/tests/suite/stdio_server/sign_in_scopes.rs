//! A server that wants more of whoever is signed in than was granted, and one that refuses for another reason.

use ahma_tests::mcp::CallResult;
use ahma_tests::until;
use serde_json::{Value, json};

use super::behind::{info, names};
use super::sign_in_world::{World, open, url_in};

const BOTH: &str = "authorize right notes:read notes:write";

/// Somebody is signed in, and may read.
fn reading() -> World {
    let world = World::behaving(3600, &["--write-scope"]);
    world.login();
    assert_eq!(world.behind.count("authorize right notes:read"), 1);
    world
}

fn scopes(world: &World) -> Value {
    let status = world.auth(&["status", "--format", "json"]).stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    status["servers"][0]["scopes"].clone()
}

/// Proves: C62, C69.
#[test]
fn a_call_that_needs_more_asks_its_client_for_both_and_goes_on() {
    let world = reading();
    let mut client = world.start_asked(Some(&json!({ "url": {} })));
    until(|| names(&mut client).contains(&"notes_reverse".to_owned()));
    let params = json!({ "name": "notes_reverse", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    assert_eq!(question["params"]["mode"], "url", "{question}");
    open(question["params"]["url"].as_str().unwrap());
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
    client.send_line(line.to_string().as_bytes());
    let result = CallResult::of(&client.answer(call));
    assert!(
        !result.is_error && result.text.contains("olleh"),
        "{result:?}"
    );
    assert_eq!(world.behind.count(BOTH), 1);
    assert_eq!(scopes(&world), json!(["notes:read", "notes:write"]));
}

/// Proves: C62, C69.
#[test]
fn a_call_that_needs_more_answers_with_the_url_and_others_go_on_meanwhile() {
    let world = reading();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_reverse".to_owned()));
    let conversations = || world.behind.count("http server/discover");
    let before = conversations();
    let refused = client.call("notes_reverse", &json!({ "text": "hello" }));
    assert!(refused.is_error, "{refused:?}");
    // What was granted is not lost, and the conversation goes on.
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(!echoed.is_error, "{echoed:?}");
    assert_eq!(info(&mut client)[0]["status"], "connected");
    assert_eq!(conversations(), before);
    assert_eq!(scopes(&world), json!(["notes:read"]));
    open(&url_in(&refused.text));
    let reversed = client.call("notes_reverse", &json!({ "text": "hello" }));
    assert!(
        !reversed.is_error && reversed.text.contains("olleh"),
        "{reversed:?}"
    );
    assert_eq!(world.behind.count(BOTH), 1);
}

/// Proves: C69.
#[test]
fn a_call_that_is_forbidden_asks_nobody_to_sign_in() {
    let world = World::behaving(3600, &["--forbids"]);
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_fail".to_owned()));
    let conversations = || world.behind.count("http server/discover");
    let before = conversations();
    let refused = client.call("notes_fail", &json!({}));
    let why = "the server `notes` refuses the call with status 403 Forbidden: \"not from here\"";
    assert!(
        refused.is_error && refused.text.contains(why),
        "{refused:?}"
    );
    assert!(!refused.text.contains("/authorize?"), "{refused:?}");
    assert!(!refused.text.contains("sign in"), "{refused:?}");
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(!echoed.is_error, "{echoed:?}");
    assert_eq!(info(&mut client)[0]["status"], "connected");
    assert_eq!(conversations(), before);
}

/// Proves: C69.
#[test]
fn a_server_that_forbids_everything_does_not_wait_for_a_sign_in() {
    let world = World::behaving(3600, &["--forbids=all"]);
    world.login();
    let mut client = world.start();
    until(|| info(&mut client)[0]["error"].is_string());
    let notes = &info(&mut client)[0];
    assert_eq!(notes["status"], "error", "{notes}");
    let why = "the server refuses this with status 403 Forbidden: \"not from here\"";
    assert_eq!(notes["error"], why);
}

//! Servers behind ours that want to know who asks: what calls get until somebody has signed in, and afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::until;
use serde_json::{Value, json};

use super::behind::{info, names};
use super::modern_with;
use super::sign_in_world::{World, is_secret_free, open, url_in, walk};

/// Everything that a server has logged, the call of its tool among it.
fn logged(client: &McpProcess) -> String {
    let logs = walk(client.cache()).into_iter();
    let texts = logs.map(|log| String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned());
    let logged = texts.collect::<Vec<String>>().join("\n");
    assert!(logged.contains("notes_echo"), "{logged}");
    logged
}

/// Proves: C66, C70.
#[test]
fn tokens_are_out_of_reach_of_commands_and_in_no_log() {
    let world = World::new();
    world.login();
    // Not even where all is logged.
    let mut client = world.behind.start_with(&["--debug"], &world.variables());
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    client.call("notes_echo", &json!({ "text": "hello" }));
    let directory = fs::metadata(world.tokens()).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    let mut records = 0;
    for entry in fs::read_dir(world.tokens()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_default();
        records += usize::from(text.contains("access-"));
        // What proves this finds what it looks for.
        let script = format!("cat {}", path.display());
        let read = client.call("sandboxed_shell", &json!({ "command": script }));
        assert!(read.is_error && is_secret_free(&read.text), "{read:?}");
    }
    assert_eq!(records, 1);
    client.close();
    let logged = logged(&client);
    assert!(is_secret_free(&logged), "{logged}");
}

/// Proves: C69.
#[test]
fn while_nobody_is_signed_in_tools_stay_listed_and_a_call_answers_with_the_url() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.behind.start_with(&["--debug"], &world.variables());
    assert!(names(&mut client).contains(&"notes_echo".to_owned()));
    let refused = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(refused.is_error, "{refused:?}");
    let url = url_in(&refused.text);
    assert!(
        refused.text.contains("ahma_mcp auth login notes"),
        "{refused:?}"
    );
    assert_eq!(info(&mut client)[0]["status"], "needs_sign_in");
    // Whoever calls meanwhile is given the same.
    let again = client.call("notes_echo", &json!({ "text": "hello" }));
    assert_eq!(url_in(&again.text), url);
    let page = open(&url);
    assert!(page.contains("<h1>Signed in</h1>"), "{page}");
    until(|| {
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    });
    // The URL is for whoever called, and in no log; nor is what came of it.
    client.close();
    let logged = logged(&client);
    assert!(!logged.contains("code_challenge"), "{logged}");
    assert!(is_secret_free(&logged), "{logged}");
}

/// Proves: C69.
#[test]
fn a_client_that_opens_urls_is_asked_and_the_call_goes_on() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "form": {}, "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    assert_eq!(question["params"]["mode"], "url", "{question}");
    assert!(
        question["params"]["elicitationId"].is_string(),
        "{question}"
    );
    open(question["params"]["url"].as_str().unwrap());
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
    client.send_line(line.to_string().as_bytes());
    let result = CallResult::of(&client.answer(call));
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{result:?}"
    );
}

/// Proves: C69.
#[test]
fn a_client_that_declines_is_told_what_else_can_be_done() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    client.send_line(line.to_string().as_bytes());
    let result = CallResult::of(&client.answer(call));
    assert!(
        result.is_error && result.text.contains("auth login notes"),
        "{result:?}"
    );
}

/// Proves: C69.
#[test]
fn a_client_without_sessions_is_asked_by_a_result() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(None);
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut call = |further: Value| {
        let mut params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
        let fields = params.as_object_mut().unwrap();
        fields.extend(further.as_object().unwrap().clone());
        client.request("tools/call", &modern_with(params, &capabilities))
    };
    let asked = call(json!({}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let question = &result["inputRequests"]["ahma_sign_in"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "url");
    open(question["params"]["url"].as_str().unwrap());
    let answered = call(json!({ "inputResponses": { "ahma_sign_in": { "action": "accept" } } }));
    let result = CallResult::of(&answered);
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{answered}"
    );
}

/// Proves: C65, C69.
#[test]
fn a_token_that_is_taken_back_leads_to_another_sign_in() {
    let world = World::new();
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    );
    open(&world.url.replace("/mcp", "/test/revoke"));
    let refused = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(refused.is_error, "{refused:?}");
    open(&url_in(&refused.text));
    until(|| {
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    });
}

/// Proves: C65.
#[test]
fn a_token_is_renewed_while_a_server_runs_without_anybody_signing_in() {
    let world = World::with(3);
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    // Three lives of a token.
    until(|| world.behind.count("token refresh_token") >= 3);
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    );
    assert_eq!(world.sign_ins(), 1);
}

/// Proves: C69.
#[test]
fn a_call_that_waits_for_its_client_goes_on_when_the_owner_signs_in_elsewhere() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    // It is never answered.
    let question = client.notification("elicitation/create");
    world.login();
    let result = CallResult::of(&client.answer(call));
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{result:?}"
    );
    let cancelled = client.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
}

//! What other MCP servers offer beside their tools, and calls that do not wait for them.

use std::fs;

use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::behind::{Behind, entry, names};
use super::modern;

/// What a client is told of one kind.
fn listed(client: &mut McpProcess, method: &str, key: &str) -> Value {
    let answer = client.request(method, &json!({}));
    answer["result"][key].clone()
}

/// Proves: C27.
#[test]
fn prompts_and_resources_of_other_servers_are_offered_and_fetched() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    let other = entry(&["--revision=legacy"]);
    behind.name(&json!({ "up": entry(&[&log]), "old": other }));
    let greet = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"Greets","arguments":[{{"name":"who"}}],"vendor":1.10}}"#
        )
    };
    let note = r#"[{"uri":"test://note","name":"note","vendor":1.10}]"#;
    let any = json!({ "uriTemplate": "test://{id}", "name": "any" });
    names(&mut behind.start());
    assert_eq!(behind.count("start"), 1, "nothing was known of it");
    let mut client = behind.start();
    let prompts = listed(&mut client, "prompts/list", "prompts");
    let expected = format!("[{},{}]", greet("up_greet"), greet("old_greet"));
    assert_eq!(prompts.to_string(), expected);
    let resources = listed(&mut client, "resources/list", "resources");
    assert_eq!(resources.to_string(), note, "one for each URI");
    let templates = listed(&mut client, "resources/templates/list", "resourceTemplates");
    // Behind them, our own.
    assert_eq!(templates.as_array().unwrap()[..2], [any.clone(), any]);
    assert_eq!(behind.count("start"), 1, "a list needs no server");
    for name in ["up_greet", "old_greet"] {
        let wanted = json!({ "name": name, "arguments": { "who": "Ada" } });
        let got = client.request("prompts/get", &wanted)["result"].to_string();
        let expected = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}],"vendor":1.10}"#;
        assert_eq!(got, expected, "{name}");
    }
    assert_eq!(behind.count("start"), 2);
    for uri in ["test://note", "test://of-a-kind"] {
        let got = client.request("resources/read", &json!({ "uri": uri }))["result"].to_string();
        let expected =
            format!(r#"{{"contents":[{{"uri":"{uri}","text":"noted"}}],"vendor":1.10}}"#);
        assert_eq!(got, expected);
    }
    let unknown = client.request("resources/read", &json!({ "uri": "other://x" }));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let unknown = client.request("prompts/get", &json!({ "name": "greet" }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let refused = client.request("resources/read", &json!({ "uri": "test://broken" }));
    let expected = json!({ "code": -32050, "message": "it is broken" });
    assert_eq!(refused["error"], expected, "as the server said it");
}

/// Proves: C27.
#[test]
fn prompts_and_resources_are_fetched_in_the_other_lifecycle_too() {
    let behind = Behind::new(&json!({ "old": entry(&["--revision=legacy"]) }));
    let mut client = behind.start_stateless(true);
    let listed = client.request("prompts/list", &modern(json!({})));
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
    assert_eq!(listed["result"]["prompts"][0]["name"], "old_greet");
    let wanted = modern(json!({ "uri": "test://note" }));
    let result = client.request("resources/read", &wanted)["result"].to_string();
    let expected = concat!(
        r#"{"contents":[{"uri":"test://note","text":"noted"}],"vendor":1.10,"#,
        r#""ttlMs":0,"cacheScope":"private","resultType":"complete"}"#
    );
    assert_eq!(result, expected);
}

/// Proves: C27.
#[test]
fn changed_prompts_are_told_and_a_server_that_has_none_is_not_asked() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&[&log, "--only-tools"]) }));
    let mut client = behind.start();
    assert_eq!(listed(&mut client, "prompts/list", "prompts"), json!([]));
    let said = fs::read_to_string(behind.log()).unwrap();
    assert!(!said.contains("asked prompts/list"), "{said}");
    assert!(said.contains("asked tools/list"), "{said}");
    drop(client);
    // What was kept is of the last time; the server says what there is now.
    behind.name(&json!({ "up": entry(&[&log]) }));
    let mut client = behind.start();
    assert_eq!(listed(&mut client, "prompts/list", "prompts"), json!([]));
    client.call("up_echo", &json!({ "text": "x" }));
    client.notification("notifications/prompts/list_changed");
    let prompts = listed(&mut client, "prompts/list", "prompts");
    assert_eq!(prompts[0]["name"], "up_greet");
}

/// Proves: C28.
#[test]
fn a_call_of_another_servers_tool_says_how_it_is_answered() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&[&log]) }));
    let mut client = behind.start();
    let arguments = json!({ "seconds": 1, "execution_mode": "async", "steps": 1 });
    let started = client.call("up_slow", &arguments);
    assert_eq!(started.record["state"], "running", "{started:?}");
    let id = started.operation_id();
    let ended = client.call("await", &json!({ "operation_id": id }));
    assert!(ended.text.contains("done"), "{ended:?}");
    assert_eq!(behind.count(r#"call slow {"seconds": 1, "steps": 1}"#), 1);
    let wrong = client.call("up_echo", &json!({ "execution_mode": "later" }));
    assert!(wrong.is_error, "{wrong:?}");
    assert_eq!(behind.count("call echo"), 0);
    // What promises a shape of its results gets everything as it is.
    client.call("up_shape", &json!({ "execution_mode": "async" }));
    assert_eq!(behind.count(r#"call shape {"execution_mode": "async"}"#), 1);
}

/// What comes after a result, a client has no use for any more.
///
/// Proves: C13.
#[test]
fn progress_of_other_servers_comes_whole_and_before_their_results() {
    let mut web = entry(&["--http=${PORT}", "--sse"]);
    web["type"] = json!("managed_http");
    let behind = Behind::new(&json!({ "up": entry(&[]), "web": web }));
    let mut client = behind.start();
    for tool in ["up_slow", "web_slow"] {
        let call = json!({
            "name": tool, "arguments": { "seconds": 0, "steps": 40 }, "_meta": { "progressToken": tool }
        });
        let id = client.send("tools/call", &call);
        client.answer(id);
        let told = client.notifications_received("notifications/progress");
        assert_eq!(told, 40, "{tool}");
        for step in 1..=40 {
            let params = client.notification("notifications/progress")["params"].clone();
            let heard = (&params["progressToken"], params["progress"].as_f64());
            assert_eq!(heard, (&json!(tool), Some(f64::from(step))), "{params}");
        }
    }
}

/// Proves: C29.
#[test]
fn messages_of_other_servers_reach_a_client_that_wants_messages() {
    let talking = entry(&["--revision=legacy", "--talk"]);
    let behind = Behind::new(&json!({ "up": talking }));
    let mut client = behind.start();
    // The SDK adds `_meta`.
    let said = |heard: &str| {
        let data = json!({ "heard": heard });
        json!({ "level": "warning", "logger": "up/mind", "data": data, "_meta": {} })
    };
    client.call("up_echo", &json!({ "text": "one" }));
    let message = client.notification("notifications/message");
    assert_eq!(message["params"], said("one"));
    for (level, text) in [("error", "two"), ("info", "three")] {
        client.request("logging/setLevel", &json!({ "level": level }));
        client.call("up_echo", &json!({ "text": text }));
    }
    let message = client.notification("notifications/message");
    assert_eq!(message["params"], said("three"), "two was not wanted");
}

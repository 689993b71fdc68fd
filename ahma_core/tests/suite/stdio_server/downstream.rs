//! Tools of other MCP servers behind this one: offered, named and called.

use ahma_tests::until;
use serde_json::{Value, json};

use super::behind::{Behind, entry, info, names};
use super::modern;

/// What the tool `odd` of the server answers, without its `_meta`. Only the spelling of an exponent may be another one.
const ODD: &str = concat!(
    r#"{"content":[{"type":"text","text":"odd","vendor":{"b":1,"a":2}},{"type":"newkind","x":[]}],"#,
    r#""vendorTop":1.10,"huge":12345678901234567890123,"exp":1e+5,"tools":[],"structuredContent":{"z":0.10000000000000000555,"a":null}}"#
);

/// Proves: C1, C8, C10, C15.
/// Scenario: 002/3.4.
#[test]
fn tools_of_other_servers_are_offered_whole_and_called_as_operations() {
    let behind = Behind::new(&json!({ "up": entry(&[]), "old": entry(&["--revision=legacy"]) }));
    let mut client = behind.start();
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|it| it["name"] == "up_echo").unwrap();
    assert_eq!(echo["vendorField"], json!({ "kept": 1 }));
    assert_eq!(echo["annotations"]["vendorHint"], "x");
    assert!(tools.iter().any(|it| it["name"] == "old_await"));
    for server in ["up", "old"] {
        let answer = client.request(
            "tools/call",
            &json!({ "name": format!("{server}_odd"), "arguments": {} }),
        );
        let mut result = answer["result"].as_object().unwrap().clone();
        let meta = result.remove("_meta").unwrap();
        assert_eq!(Value::Object(result).to_string(), ODD, "{server}");
        assert_eq!(meta["vendor/x"], true);
        assert_eq!(meta["ahma/operation"]["state"], "completed");
    }
    let failed = client.call("up_fail", &json!({}));
    assert!(
        failed.is_error && failed.text == "it went wrong",
        "{failed:?}"
    );
    let status = client.call("status", &json!({}));
    assert!(status.text.contains("up_fail: up: fail {}"), "{status:?}");
    let big = client.call("up_big", &json!({ "bytes": 200_000 }));
    assert!(big.text.len() < 60_000, "{}", big.text.len());
    let id = big.operation_id();
    let page = client.call(
        "read_output",
        &json!({ "operation_id": id, "offset": 100_000, "length": 10 }),
    );
    assert!(page.text.starts_with("xxxxxxxxxx"), "{page:?}");
    let modern_call = modern(json!({ "name": "up_echo", "arguments": { "text": "hello" } }));
    drop(client);
    // In the other lifecycle too.
    let mut client = behind.start_stateless(true);
    let answer = client.request("tools/call", &modern_call);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
    let listed = client.request("tools/list", &modern(json!({})));
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
}

/// Proves: C18.
#[test]
fn names_are_prefixed_filtered_and_never_ambiguous() {
    let long = format!("--name={}", "n".repeat(128));
    let mut up = entry(&[&long, "--odd-tools"]);
    up["prefix"] = json!("x");
    up["tools"] = json!({
        "deny": ["die"], "rename": { "reverse": "backwards" }, "describe": { "big": "Says a lot" },
        "annotations": { "env": { "destructive": true } }, "core": ["reverse", "big"]
    });
    let behind = Behind::new(&json!({ "up": up }));
    let mut client = behind.start();
    let listed = names(&mut client);
    let of_it: Vec<&str> = listed
        .iter()
        .map(String::as_str)
        .filter(|it| it.starts_with("x_"))
        .collect();
    assert_eq!(of_it, ["x_backwards", "x_big"]);
    let found = client.call("find_tools", &json!({ "query": "name of its own" }));
    assert!(found.text.contains("x_nnnnnnnn"), "{found:?}");
    assert_eq!(
        client.call("x_backwards", &json!({ "text": "ab" })).text,
        "ba"
    );
    let denied = client.request("tools/call", &json!({ "name": "x_die", "arguments": {} }));
    assert_eq!(denied["error"]["code"], -32602, "{denied}");
    let twice = client.request("tools/call", &json!({ "name": "x_echo", "arguments": {} }));
    assert_eq!(
        twice["error"]["code"], -32602,
        "nobody knows which: {twice}"
    );
    let rejected = info(&mut client)[0]["rejected"].to_string();
    for part in ["claimed twice", "no_schema", "has no name"] {
        assert!(rejected.contains(part), "{part}: {rejected}");
    }
}

/// Proves: C13, C15.
#[test]
fn a_call_can_be_cancelled_and_its_server_is_told() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&[&log]) }));
    let mut client = behind.start_with(&["--sync-limit", "1"], &[]);
    let call = json!({ "seconds": 60, "steps": 600 });
    let started = client.call("up_slow", &call);
    assert!(started.text.starts_with("started op_"), "{started:?}");
    let id = started.operation_id();
    let cancelled = client.call("cancel", &json!({ "operation_id": id }));
    assert!(cancelled.text.contains("cancelled"), "{cancelled:?}");
    until(|| behind.count("cancelled slow") == 1);
}

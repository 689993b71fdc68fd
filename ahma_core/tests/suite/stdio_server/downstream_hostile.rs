//! Other MCP servers that misbehave, and what is made of it. Those that hang, babble or offer thousands of tools are in
//! `downstream_life.rs`; names in `downstream.rs`; definitions in `downstream_trust.rs`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::behind::{Behind, entry, info, names, script};
use super::memory_kb;

/// A server that runs elsewhere, on a port of the machine's choice.
struct Elsewhere {
    child: Child,
    port: String,
}

impl Elsewhere {
    fn start(options: &[&str]) -> Self {
        Self::start_on("0", options)
    }

    fn start_on(port: &str, options: &[&str]) -> Self {
        let mut child = Command::new("python3")
            .args([script(), format!("--http={port}")])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let port = port.trim().to_owned();
        Elsewhere { child, port }
    }

    fn entry(&self) -> Value {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        json!({ "type": "http", "url": url })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Proves: C43.
#[test]
fn answers_under_ids_that_nobody_gave_reach_nobody_and_repeated_ones_count_once() {
    let behind = Behind::new(&json!({ "up": entry(&["--strange-ids"]) }));
    let mut client = behind.start();
    names(&mut client);
    let ids: Vec<u64> = (0..20)
        .map(|number| {
            let arguments = json!({ "text": format!("n{number}") });
            client.send(
                "tools/call",
                &json!({ "name": "up_echo", "arguments": arguments }),
            )
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let result = CallResult::of(&client.answer(id));
        assert!(!result.is_error, "{result:?}");
        assert_eq!(result.text, format!("n{number}"));
    }
    assert_eq!(info(&mut client)[0]["status"], "connected");
}

/// Proves: C13, C43.
#[test]
fn an_answer_to_a_cancelled_call_reaches_nobody() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&["--deaf", &log]) }));
    let mut client = behind.start_with(&["--sync-limit", "1"], &[]);
    let started = client.call("up_slow", &json!({ "seconds": 60, "steps": 600 }));
    let id = started.operation_id();
    client.call("cancel", &json!({ "operation_id": id }));
    until(|| behind.count("cancelled slow") == 1);
    // Answers come in order: its late one is before these.
    for text in ["one", "two"] {
        assert_eq!(client.call("up_echo", &json!({ "text": text })).text, text);
    }
    let ended = client.call("await", &json!({ "operation_id": id }));
    assert_eq!(ended.record["state"], "cancelled", "{ended:?}");
    assert!(!ended.text.contains("done"), "{ended:?}");
    assert_eq!(behind.count("start"), 1, "it was not ended for that");
}

/// Proves: C12, C43.
#[test]
fn a_result_of_a_hundred_megabytes_is_refused_and_not_held() {
    let web = Elsewhere::start(&[]);
    let behind = Behind::new(&json!({ "up": entry(&[]), "web": web.entry() }));
    let mut client = behind.start();
    names(&mut client);
    let before = memory_kb(client.pid(), "VmHWM:");
    for server in ["up", "web"] {
        let long = json!({ "bytes": 100 << 20 });
        let refused = client.call(&format!("{server}_big"), &long);
        assert!(refused.is_error, "{server}");
        assert!(refused.text.contains("longer than 16 MiB"), "{refused:?}");
        let said = client.call(&format!("{server}_echo"), &json!({ "text": "x" }));
        assert_eq!(said.text, "x", "{server}");
    }
    let grown = memory_kb(client.pid(), "VmHWM:") - before;
    assert!(grown < 64 << 10, "{grown} KiB more than before");
}

/// Proves: C12, C43.
#[test]
fn a_description_of_two_megabytes_is_not_offered_and_the_other_tools_are() {
    let behind = Behind::new(&json!({ "up": entry(&["--long=2000000"]) }));
    let mut client = behind.start();
    let listed = client.request("tools/list", &json!({})).to_string();
    assert!(listed.len() < 200_000, "{}", listed.len());
    let listed = names(&mut client);
    assert!(!listed.contains(&"up_echo".to_owned()), "{listed:?}");
    assert_eq!(
        client.call("up_reverse", &json!({ "text": "ab" })).text,
        "ba"
    );
    let told = &info(&mut client)[0]["rejected"];
    let expected = "`echo`: its definition is longer than 256 KiB";
    assert_eq!(*told, json!([expected]));
}

/// Proves: C43.
#[test]
fn a_server_that_ends_after_every_start_is_not_started_for_every_call() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&["--brief", &log]), "good": entry(&[]) }));
    let mut client = behind.start();
    names(&mut client);
    // More than would be started if every call did so.
    let calls: Vec<CallResult> = (0..50)
        .map(|_| client.call("up_echo", &json!({ "text": "x" })))
        .collect();
    for call in calls {
        assert!(call.is_error, "{call:?}");
        assert!(call.text.contains("the server `up`"), "{call:?}");
    }
    // Half a second, one, two and four pass before the fifth; the wait for the sixth is longer than a call waits.
    let starts = behind.count("start");
    assert!((5..8).contains(&starts), "{starts}");
    assert_eq!(behind.count("call"), 0);
    let told = &info(&mut client)[0];
    let why = told["error"].as_str().unwrap();
    assert!(why.contains("exit code 4; it said: that was all"), "{why}");
    assert_eq!(client.call("good_echo", &json!({ "text": "y" })).text, "y");
}

/// Proves: C11, C43.
#[test]
fn a_storm_of_changes_that_are_none_is_asked_about_seldom_and_told_to_nobody() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&["--noisy", "--revision=legacy", &log]) }));
    let mut client = behind.start();
    names(&mut client);
    // Once at the start, once for all of the storm.
    until(|| behind.count("asked tools/list") == 2);
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
    let told = client.notifications_so_far("notifications/tools/list_changed");
    assert_eq!(told, 0);
    assert_eq!(behind.count("asked tools/list"), 2);
}

fn write(path: &Path, text: &str) {
    // Whole or not at all: the server may read it at any time.
    let other = path.with_extension("new");
    fs::write(&other, text).unwrap();
    fs::rename(other, path).unwrap();
}

/// Proves: C14, C43.
#[test]
fn a_server_that_wants_another_token_is_shown_the_one_of_now() {
    let place = Workspace::new();
    let [theirs, ours] = ["theirs", "ours"].map(|it| place.path().join(it));
    write(&theirs, "first");
    write(&ours, "wrong");
    let option = format!("--token-file={}", theirs.display());
    let web = Elsewhere::start(&[&option]);
    let mut server = web.entry();
    let header = format!("Bearer ${{file:{}}}", ours.display());
    server["headers"] = json!({ "Authorization": header });
    let behind = Behind::new(&json!({ "web": server }));
    let mut client = behind.start();
    assert!(!names(&mut client).contains(&"web_echo".to_owned()));
    let told = &info(&mut client)[0];
    let why = told["error"].as_str().unwrap();
    assert!(why.contains("wants a token"), "{told}");
    write(&ours, "first");
    client.notification("notifications/tools/list_changed");
    assert_eq!(client.call("web_echo", &json!({ "text": "x" })).text, "x");
    // Later it wants another one.
    write(&theirs, "second");
    let refused = client.call("web_echo", &json!({ "text": "y" }));
    assert!(refused.is_error, "{refused:?}");
    assert!(refused.text.contains("wants a token"), "{refused:?}");
    assert!(!refused.text.contains("first"), "{refused:?}");
    write(&ours, "second");
    assert_eq!(client.call("web_echo", &json!({ "text": "z" })).text, "z");
    // With the one of now at hand, a call does not fail.
    write(&theirs, "third");
    write(&ours, "third");
    assert_eq!(client.call("web_echo", &json!({ "text": "z" })).text, "z");
}

/// Proves: C43.
#[test]
fn a_server_that_forgets_its_sessions_gets_a_new_one() {
    let options = ["--sessions", "--revision=legacy"];
    let web = Elsewhere::start(&options);
    let behind = Behind::new(&json!({ "web": web.entry() }));
    let mut client = behind.start();
    assert_eq!(client.call("web_echo", &json!({ "text": "x" })).text, "x");
    let got = client.request("prompts/get", &json!({ "name": "web_greet" }));
    assert!(got["result"].is_object(), "{got}");
    let port = web.port.clone();
    drop(web);
    let web = Elsewhere::start_on(&port, &options);
    assert_eq!(client.call("web_echo", &json!({ "text": "y" })).text, "y");
    drop(web);
    let _web = Elsewhere::start_on(&port, &options);
    let got = client.request("prompts/get", &json!({ "name": "web_greet" }));
    assert!(got["result"].is_object(), "{got}");
}

/// Proves: C43.
#[test]
fn a_server_that_could_not_be_started_at_first_is_tried_again() {
    let behind = Behind::new(&json!({}));
    let marker = behind.place.path().join("there");
    let shell = format!(
        "test -e {} || exit 7; exec python3 {}",
        marker.display(),
        script()
    );
    behind.name(&json!({ "up": { "command": "sh", "args": ["-c", shell] } }));
    let mut client = behind.start();
    assert!(!names(&mut client).contains(&"up_echo".to_owned()));
    let told = &info(&mut client)[0];
    assert_eq!(told["error"], "it ended with exit code 7");
    fs::write(marker, "").unwrap();
    client.notification("notifications/tools/list_changed");
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
}

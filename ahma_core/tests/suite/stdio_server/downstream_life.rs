//! Other MCP servers behind this one: when they are started, how they die and return, and when they end.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use ahma_tests::mcp::CallResult;
use ahma_tests::until;
use serde_json::json;

use super::behind::{Behind, entry, info, names, script};

/// Proves: C16.
#[test]
fn a_server_that_is_known_is_started_by_the_first_call_and_once() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&[&log]) }));
    let first = names(&mut behind.start());
    assert_eq!(behind.count("start"), 1, "nothing was known of it");
    let mut client = behind.start();
    assert_eq!(names(&mut client), first);
    assert_eq!(behind.count("start"), 1, "a list needs no server");
    let ids: Vec<u64> = (0..10)
        .map(|number| {
            let arguments = json!({ "text": format!("n{number}") });
            let call = json!({ "name": "up_echo", "arguments": arguments });
            client.send("tools/call", &call)
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let result = CallResult::of(&client.answer(id));
        assert_eq!(result.text, format!("n{number}"));
    }
    assert_eq!(behind.count("start"), 2);
    assert_eq!(
        client.notifications_so_far("notifications/tools/list_changed"),
        0
    );
}

/// Proves: C16.
#[test]
fn tools_stay_listed_while_their_server_dies_and_returns_and_no_call_runs_twice() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    behind.name(&json!({ "up": entry(&[&log]) }));
    let mut client = behind.start();
    let before = client.request("tools/list", &json!({}))["result"].to_string();
    for round in 0..3 {
        let died = client.call("up_die", &json!({}));
        assert!(
            died.is_error && died.text.contains("dying as told"),
            "{died:?}"
        );
        let listed = client.request("tools/list", &json!({}))["result"].to_string();
        assert_eq!(listed, before, "{round}");
        let back = client.call("up_echo", &json!({ "text": "back" }));
        assert_eq!(back.text, "back", "{round}");
    }
    assert_eq!(behind.count("call die"), 3);
    assert_eq!(behind.count("call echo"), 3);
    let broken = Behind::new(&json!({ "bad": entry(&["--exit=1"]) }));
    let mut client = broken.start();
    names(&mut client);
    let told = &info(&mut client)[0];
    assert_eq!(told["status"], "error");
    let why = told["error"].as_str().unwrap();
    assert!(
        why.contains("exit code 1; it said: I do not want to"),
        "{why}"
    );
}

/// Proves: C5, C20.
/// Scenario: 002/4.2, 002/4.6, 002/4.7, 002/4.9.
#[test]
fn a_managed_server_gets_a_port_and_another_one_when_that_is_taken() {
    let behind = Behind::new(&json!({}));
    let marker = behind.place.path().join("first");
    let log = behind.log();
    // The first time it finds its port taken.
    let shell = format!(
        "if [ ! -e {marker} ]; then touch {marker}; exit 2; fi; exec python3 {} --http=${{PORT}} --log={}",
        script(),
        log.display(),
        marker = marker.display(),
    );
    let server = json!({ "type": "managed_http", "command": "sh", "args": ["-c", shell] });
    behind.name(&json!({ "web": server }));
    let mut client = behind.start();
    let said = client.call("web_echo", &json!({ "text": "over HTTP" }));
    assert_eq!(said.text, "over HTTP");
    let told = &info(&mut client)[0];
    let port = told["port"].as_u64().unwrap();
    assert!((50_001..=51_000).contains(&port), "{told}");
    let log = fs::read_to_string(&log).unwrap();
    assert!(
        log.contains("http://localhost"),
        "the origin is said: {log}"
    );
    client.close();
    assert_eq!(client.wait().code(), Some(0));
    let port = u16::try_from(port).unwrap();
    until(|| TcpListener::bind(("127.0.0.1", port)).is_ok());
}

/// Proves: C7, C45.
#[test]
fn a_managed_server_that_allows_its_own_origin_only_is_used() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    let args = json!([script(), "--http=${PORT}", "--own-origin", log]);
    let server = json!({ "type": "managed_http", "command": "python3", "args": args });
    behind.name(&json!({ "web": server }));
    let mut client = behind.start();
    let said = client.call("web_echo", &json!({ "text": "x" }));
    assert_eq!(said.text, "x");
    let log = fs::read_to_string(behind.log()).unwrap();
    let mut asked = log.lines().filter(|it| it.starts_with("http "));
    let first = asked.next().unwrap();
    assert!(first.ends_with(" http://localhost"), "{first}");
    let port = &info(&mut client)[0]["port"];
    let last = asked.next_back().unwrap();
    assert!(
        last.ends_with(&format!(" http://localhost:{port}")),
        "{last}"
    );
}

/// Proves: C22.
#[test]
fn nothing_of_a_server_is_left_when_ours_is_killed() {
    let behind = Behind::new(&json!({}));
    let mark = ahma_tests::unique_mark();
    let option = format!("--mark={mark}");
    behind.name(&json!({ "up": entry(&[&option]) }));
    let mut client = behind.start();
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
    let running = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        let mark = mark.as_bytes();
        lines
            .filter(|line| line.windows(mark.len()).any(|it| it == mark))
            .count()
    };
    assert!(running() > 0);
    client.kill();
    until(|| running() == 0);
}

/// Proves: C23.
/// Scenario: 002/6.2.
#[test]
fn one_server_that_hangs_or_babbles_holds_up_nothing_else() {
    let servers = json!({
        "hang": entry(&["--hang"]),
        "gone": entry(&["--exit=3"]),
        "loud": entry(&["--banner", "--noisy", "--revision=legacy"]),
        "many": entry(&["--tools=5000"]),
        "good": entry(&[]),
    });
    let behind = Behind::new(&servers);
    let mut client = behind.start();
    let asked = Instant::now();
    let listed = names(&mut client);
    assert!(asked.elapsed() < Duration::from_secs(20), "{asked:?}");
    for name in ["good_echo", "loud_echo", "many_t0"] {
        assert!(listed.iter().any(|it| it == name), "{name}: {listed:?}");
    }
    let many = listed.iter().filter(|it| it.starts_with("many_")).count();
    assert_eq!(many, 40, "the rest is found by searching");
    assert_eq!(client.call("many_t4999", &json!({})).text, "this is t4999");
    assert_eq!(client.call("good_echo", &json!({ "text": "x" })).text, "x");
    assert_eq!(client.call("loud_echo", &json!({ "text": "y" })).text, "y");
}

/// Proves: C16.
#[test]
#[ignore = "takes more than a minute; CI runs it"]
fn a_server_that_nobody_uses_is_stopped_and_started_again_by_a_call() {
    let behind = Behind::new(&json!({}));
    let log = format!("--log={}", behind.log().display());
    let mut up = entry(&[&log]);
    up["idle_minutes"] = json!(1);
    behind.name(&json!({ "up": up }));
    let mut client = behind.start();
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
    let since = Instant::now();
    while info(&mut client)[0]["status"] != "stopped" {
        assert!(
            since.elapsed() < Duration::from_secs(90),
            "it is still there"
        );
        std::thread::sleep(Duration::from_secs(1));
    }
    assert!(since.elapsed() > Duration::from_secs(50), "{since:?}");
    assert_eq!(behind.count("start"), 1);
    assert_eq!(client.call("up_echo", &json!({ "text": "y" })).text, "y");
    assert_eq!(behind.count("start"), 2);
}

//! Many other MCP servers behind this one, and one that is killed again and again while it is used.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use ahma_tests::mcp::CallResult;
use ahma_tests::{processes_marked, signal, unique_mark, until};
use serde_json::{Map, Value, json};

use super::behind::{Behind, entry, info, names};

const LIST_CHANGED: &str = "notifications/tools/list_changed";
/// Servers that work, beside five that do not.
const GOOD: usize = 20;
/// How often a server is killed.
const KILLS: usize = 20;
/// Calls that are under way when it is.
const AT_ONCE: usize = 10;

/// Twenty servers that work, three that hang, two that end at once. All note their starts.
fn many(behind: &Behind) -> Map<String, Value> {
    let log = format!("--log={}", behind.log().display());
    let options = (0..25).map(|number| match number {
        0..GOOD => (format!("good{number}"), vec![log.as_str()]),
        20..23 => (format!("hang{number}"), vec![log.as_str(), "--hang"]),
        _ => (format!("gone{number}"), vec![log.as_str(), "--exit=3"]),
    });
    let brief = |(name, options): (String, Vec<&str>)| {
        let mut server = entry(&options);
        server["timeout_seconds"] = json!(1);
        (name, server)
    };
    options.map(brief).collect()
}

fn has_all_good(listed: &[String]) -> bool {
    (0..GOOD).all(|number| listed.contains(&format!("good{number}_echo")))
}

/// Proves: C16, C41.
#[test]
fn what_is_known_of_many_servers_is_listed_without_starting_any() {
    let behind = Behind::new(&json!({}));
    let good: Map<String, Value> = many(&behind)
        .into_iter()
        .map(|(name, mut server)| {
            // For once they all work, so that something is known of each.
            let args = server["args"].as_array_mut().unwrap();
            args.retain(|it| it != "--hang" && it != "--exit=3");
            (name, server)
        })
        .collect();
    behind.name(&json!(good));
    let mut first = behind.start();
    until(|| info(&mut first).iter().all(|it| it["tools"] == 13));
    drop(first);
    fs::remove_file(behind.log()).unwrap();
    behind.name(&json!(many(&behind)));
    let mut client = behind.start();
    let listed = names(&mut client);
    let of_them = listed.iter().filter(|it| it.ends_with("_echo")).count();
    assert_eq!(of_them, 25);
    assert_eq!(behind.count("start"), 0, "a list needs no server");
    let said = client.call("good7_echo", &json!({ "text": "x" }));
    assert_eq!(said.text, "x");
    assert_eq!(behind.count("start"), 1);
    let running = |it: &&Value| it["status"] != "stopped";
    let told = info(&mut client);
    let running: Vec<&Value> = told.iter().filter(running).map(|it| &it["name"]).collect();
    assert_eq!(running, ["good7"]);
    assert_eq!(client.notifications_so_far(LIST_CHANGED), 0);
}

/// Proves: C23, C41.
#[test]
fn the_first_list_waits_for_no_server_that_hangs_and_each_late_one_is_told_once() {
    let behind = Behind::new(&json!({}));
    let mut servers = many(&behind);
    let gates = ["first", "second"].map(|name| {
        let gate = behind.place.path().join(name);
        let late = format!("--late={}", gate.display());
        let server = json!({ "timeout_seconds": 1, "idle_minutes": 0 });
        let mut late = entry(&[&late]);
        let fields = late.as_object_mut().unwrap();
        fields.extend(server.as_object().unwrap().clone());
        servers.insert(name.to_owned(), late);
        gate
    });
    behind.name(&json!(servers));
    let mut client = behind.start();
    let asked = Instant::now();
    let first = names(&mut client);
    // A guard: those that hang are given a minute.
    assert!(asked.elapsed() < Duration::from_secs(20), "{asked:?}");
    assert!(first.contains(&"status".to_owned()), "{first:?}");
    // On a busy machine some of them come late.
    until(|| has_all_good(&names(&mut client)));
    let told = info(&mut client);
    let is_starting = |it: &&Value| it["status"] == "starting";
    let starting = told.iter().filter(is_starting).map(|it| &it["name"]);
    let starting: Vec<&Value> = starting.collect();
    assert_eq!(starting, ["hang20", "hang21", "hang22", "first", "second"]);
    for it in told.iter().filter(|it| it["status"] == "error") {
        let why = it["error"].as_str().unwrap();
        assert!(why.contains("exit code 3"), "{it}");
    }
    let changes = client.notifications_so_far(LIST_CHANGED);
    assert_eq!(changes == 0, has_all_good(&first), "{changes}: {first:?}");
    for _ in 0..changes {
        client.notification(LIST_CHANGED);
    }
    for (gate, tool) in gates.iter().zip(["first_echo", "second_echo"]) {
        assert!(!names(&mut client).contains(&tool.to_owned()));
        fs::write(gate, "").unwrap();
        client.notification(LIST_CHANGED);
        assert!(names(&mut client).contains(&tool.to_owned()));
        assert_eq!(client.notifications_so_far(LIST_CHANGED), 0, "{tool}");
    }
}

/// Which process runs behind the client, by the mark on its command line.
fn process_of(mark: &str) -> Option<String> {
    let found = processes_marked(mark);
    let python = found.iter().find(|it| it.contains("server.py"))?;
    python.split(' ').next().map(ToOwned::to_owned)
}

/// Proves: C16, C42.
#[test]
fn a_server_that_is_killed_twenty_times_under_load_loses_no_tool_and_repeats_no_call() {
    let behind = Behind::new(&json!({}));
    let mark = unique_mark();
    let log = format!("--log={}", behind.log().display());
    let option = format!("--mark={mark}");
    behind.name(&json!({ "up": entry(&[&log, &option]) }));
    let mut client = behind.start();
    let before = client.request("tools/list", &json!({}))["result"].to_string();
    let (mut results, mut errors) = (BTreeMap::new(), 0);
    for round in 0..KILLS {
        // It is there, and has answered.
        let text = format!("round {round}");
        let said = client.call("up_echo", &json!({ "text": text }));
        assert_eq!(said.text, text);
        let pid = process_of(&mark).unwrap();
        let calls: Vec<(String, u64)> = (0..AT_ONCE)
            .map(|number| {
                let text = format!("n{}", round * AT_ONCE + number);
                let is_slow = number % 2 == 0;
                let (tool, arguments) = match is_slow {
                    true => ("up_slow", json!({ "seconds": 30, "steps": 1, "n": text })),
                    false => ("up_echo", json!({ "text": text })),
                };
                let call = json!({ "name": tool, "arguments": arguments });
                (text, client.send("tools/call", &call))
            })
            .collect();
        // Some of them have begun and none of the slow ones has ended.
        until(|| behind.count("call slow") > round * AT_ONCE / 2);
        assert!(signal("KILL", &pid));
        for (text, id) in calls {
            let result = CallResult::of(&client.answer(id));
            match result.is_error {
                false => drop(results.insert(text, result.text)),
                true => {
                    let why = &result.text;
                    assert!(why.contains("the server `up`"), "{why}");
                    assert!(why.contains("may have done what was asked"), "{why}");
                    errors += 1;
                }
            }
        }
        let listed = client.request("tools/list", &json!({}))["result"].to_string();
        assert_eq!(listed, before, "{round}");
    }
    assert_eq!(results.len() + errors, KILLS * AT_ONCE);
    assert!(errors >= KILLS, "each time one was under way: {errors}");
    for (text, said) in &results {
        assert_eq!(said, text, "each got its own answer");
    }
    let log = fs::read_to_string(behind.log()).unwrap();
    assert_eq!(behind.count("start"), KILLS);
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log.lines().filter(|it| it.starts_with("call ")) {
        *ran.entry(line).or_default() += 1;
    }
    let twice: Vec<_> = ran.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(client.notifications_so_far(LIST_CHANGED), 0);
}

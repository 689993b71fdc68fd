//! The end of a session is the end of everything it had.

use ahma_tests::{children, marked, signal, unique_mark, until};
use std::path::Path;
use std::thread;

use ahma_tests::http::Client;
use serde_json::{Value, json};

use super::Isolated;

fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Proves: I5, I11.
#[test]
fn deleting_a_session_ends_its_sandbox_and_removes_its_private_directories() {
    let isolated = Isolated::new();
    let (client, other) = (isolated.session("a"), isolated.session("b"));
    let mark = unique_mark();
    let home = client.sync("echo \"$HOME\"").text;
    let home = home.lines().next().unwrap().to_owned();
    let info = client.call("get_server_info", &json!({})).structured;
    let host = format!("/proc/{}", info["sandbox"]["hosts"][0]);
    client.start(&format!("sleep {mark} & sleep {mark}"));
    until(|| marked(&mark) >= 2);
    assert!(exists(&home) && exists(&host));
    assert_eq!(client.delete().status, 204);
    until(|| marked(&mark) == 0 && !exists(&host) && !exists(&home));
    assert!(other.sync("echo hi").text.starts_with("hi\n"));
    assert!(isolated.project("a").exists(), "the project itself stays");
}

/// Proves: S49.
#[test]
fn the_next_session_gets_a_host_that_waits_since_the_last_one_ended() {
    let isolated = Isolated::new();
    let info_of = |client: &Client| client.call("get_server_info", &json!({})).structured;
    let host_of =
        |info: &Value| u32::try_from(info["sandbox"]["hosts"][0].as_u64().unwrap()).unwrap();
    let last = isolated.session("a");
    let last_hosts = info_of(&last)["sandbox"]["hosts"].clone();
    assert_eq!(last.delete().status, 204);
    // What is left then are the host of the server's own scope and the one that waits. One for questions about tools may
    // come and go.
    let mut before = Vec::new();
    until(|| {
        before = children(isolated.process.pid());
        thread::sleep(std::time::Duration::from_millis(100));
        before.len() == 2
            && before == children(isolated.process.pid())
            && !before
                .iter()
                .any(|it| last_hosts.as_array().unwrap().contains(&json!(it)))
    });
    let client = isolated.session("b");
    assert!(client.sync("echo hi").text.starts_with("hi\n"));
    let info = info_of(&client);
    let host = host_of(&info);
    assert!(before.contains(&host), "{host} of {before:?}");
    // It is as confined as any other.
    let own = isolated.own.path().display();
    let outside = client.sync(&format!("ls {own}"));
    assert!(outside.is_error, "{outside:?}");
    assert!(
        info["sandbox"]["layers"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["enforced"] == true)
    );
}

/// Proves: I11.
#[test]
fn a_session_that_vanishes_before_it_has_a_scope_leaves_nothing() {
    let isolated = Isolated::new();
    let private = isolated.process.home().join("tmp");
    let directories = || std::fs::read_dir(&private).unwrap().count();
    let before = directories();
    for _ in 0..5 {
        let client = isolated.process.stateless().begun_with_roots();
        client.notify("notifications/initialized", &json!({}));
        let request = client.calling("sandboxed_shell", &json!({ "command": "true" }));
        let mut connection = ahma_tests::http::Connection::to(client.address);
        connection.write(&request.bytes(client.address));
        drop(connection);
        assert_eq!(client.delete().status, 204);
    }
    let health = ahma_tests::http::Request::new("GET", "/health");
    let health = health.send(isolated.process.address).json();
    assert_eq!(health["sessions"], 0);
    assert_eq!(directories(), before, "no scope was opened");
    let one = isolated.session("a");
    one.sync("true");
    assert_eq!(directories(), before + 1, "one is when it can be");
}

/// Proves: I3, I11.
#[test]
fn the_host_of_one_session_that_is_killed_is_not_noticed_by_others() {
    let isolated = Isolated::new();
    let victim = isolated.session("victim");
    let id = victim.start("sleep 600");
    let info = victim.call("get_server_info", &json!({})).structured;
    let host = info["sandbox"]["hosts"][0].to_string();
    let others: Vec<_> = (0..4)
        .map(|number| {
            let client = isolated.session(&format!("other{number}"));
            thread::spawn(move || {
                for round in 0..20 {
                    let said = format!("{number} {round}");
                    let result = client.sync(&format!("echo {said}"));
                    assert!(result.text.starts_with(&format!("{said}\n")), "{result:?}");
                }
            })
        })
        .collect();
    assert!(signal("KILL", host));
    let lost = victim.call("await", &json!({ "operation_id": id }));
    assert_eq!(
        lost.structured["operations"][0]["state"], "lost",
        "{lost:?}"
    );
    let next = victim.sync("pwd");
    let project = isolated.project("victim");
    assert!(
        next.text.starts_with(project.to_str().unwrap()),
        "the same scope: {next:?}"
    );
    for other in others {
        other.join().unwrap();
    }
}

/// Proves: I5.
#[test]
fn when_the_server_stops_every_session_ends_and_nothing_is_left() {
    let mut isolated = Isolated::new();
    let mark = unique_mark();
    let homes: Vec<String> = (0..5)
        .map(|number| {
            let client = isolated.session(&number.to_string());
            client.start(&format!("sleep {mark}"));
            let home = client.sync("echo \"$HOME\"").text;
            home.lines().next().unwrap().to_owned()
        })
        .collect();
    until(|| marked(&mark) >= 5);
    let below = ahma_tests::processes_below(isolated.process.pid());
    isolated.process.terminate();
    assert_eq!(isolated.process.wait().code(), Some(0));
    assert_eq!(marked(&mark), 0);
    for pid in below {
        assert!(!exists(&format!("/proc/{pid}")), "{pid} is left");
    }
    for home in homes {
        assert!(!exists(&home), "{home} is left");
    }
}

/// Proves: I11.
#[test]
fn a_session_that_leaves_very_much_behind_holds_up_nobody() {
    let isolated = Isolated::new();
    let (client, other) = (isolated.session("a"), isolated.session("b"));
    let filled = client.sync(
        "cd \"$TMPDIR\" && mkdir many && cd many && seq 1 20000 | xargs touch && echo \"$TMPDIR\"",
    );
    assert_eq!(filled.record["state"], "completed", "{filled:?}");
    let many = format!("{}/many", filled.text.lines().next().unwrap());
    let left = || std::fs::read_dir(&many).map_or(0, Iterator::count);
    assert_eq!(left(), 20_000);
    assert_eq!(client.delete().status, 204);
    // As long as files are being removed, others are answered: an answer counts when some were gone before it was asked
    // for, and some were left when it had come.
    let mut meanwhile = 0;
    until(|| {
        let has_begun = left() < 20_000;
        let health = ahma_tests::http::Request::new("GET", "/health");
        assert_eq!(health.send(isolated.process.address).status, 200);
        meanwhile += usize::from(has_begun && exists(&many));
        !exists(&many)
    });
    assert!(meanwhile > 0, "nobody was answered before all were gone");
    assert!(other.sync("echo hi").text.starts_with("hi\n"));
}

/// Proves: I11.
#[test]
fn one_session_cannot_take_every_place_to_run() {
    let isolated = Isolated::with(&["--max-operations", "8"]);
    let (greedy, other) = (isolated.session("a"), isolated.session("b"));
    let ids: Vec<String> = (0..12).map(|_| greedy.start("sleep 600")).collect();
    let running = || {
        let rows = greedy
            .call("status", &json!({ "state": "running" }))
            .structured;
        rows["operations"].as_array().unwrap().len()
    };
    until(|| running() == 2);
    assert!(other.sync("echo hi").text.starts_with("hi\n"));
    assert_eq!((running(), ids.len()), (2, 12), "a quarter each");
}

//! How a server ends.

use std::thread;

use ahma_tests::{marked, processes_below, unique_mark, until};
use serde_json::json;

use super::{STATE, Served};

/// Proves: D6.
#[test]
fn a_signal_under_load_answers_every_call_and_leaves_nothing() {
    let mut served = Served::with(&["--rate-limit", "0"]);
    let mark = unique_mark();
    let clients: Vec<_> = (0..20).flat_map(|_| served.clients()).collect();
    let streams: Vec<_> = clients
        .iter()
        .filter(|it| it.session.is_some())
        .map(ahma_tests::http::Client::stream)
        .collect();
    let calls: Vec<_> = clients
        .iter()
        .map(|client| {
            let arguments = json!({ "command": format!("sleep {mark}"), "execution_mode": "sync" });
            let request = client.calling("sandboxed_shell", &arguments);
            let address = client.address;
            thread::spawn(move || request.send(address).answer())
        })
        .collect();
    until(|| marked(&mark) >= clients.len());
    let below = processes_below(served.process.pid());
    assert!(below.len() > clients.len());
    let state = served.project.path().join(STATE);
    assert!(state.exists());
    served.process.terminate();
    assert_eq!(served.process.wait().code(), Some(0));
    for call in calls {
        let answer = call.join().unwrap();
        assert_eq!(
            answer["result"]["_meta"]["ahma/operation"]["state"], "cancelled",
            "{answer}"
        );
    }
    for stream in streams {
        stream.rest();
    }
    assert_eq!(marked(&mark), 0);
    assert!(!state.exists(), "the state file is gone");
    let port = served.process.address;
    std::net::TcpListener::bind(port).unwrap();
    for pid in below {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} is left"
        );
    }
}

/// Proves: D6.
#[test]
fn an_interrupt_ends_it_the_same_way_and_a_second_one_at_once() {
    let mut served = Served::new();
    let client = served.connect();
    client.start("trap '' TERM; touch ready; while :; do sleep 1; done");
    served.until_exists("ready");
    served.process.signal("INT");
    until(|| !served.project.path().join(STATE).exists());
    served.process.signal("INT");
    assert_eq!(served.process.wait().code(), Some(1));
}

/// Proves: D3.
#[test]
fn a_killed_server_leaves_no_process_and_a_file_that_the_next_one_replaces() {
    let mut served = Served::new();
    let mark = unique_mark();
    served.connect().start(&format!("sleep {mark}"));
    until(|| marked(&mark) >= 1);
    served.process.signal("KILL");
    served.process.wait();
    until(|| marked(&mark) == 0);
    assert!(served.project.path().join(STATE).exists());
    let next = Served::of(served.project, &[]);
    assert!(next.connect().sync("echo hi").text.starts_with("hi\n"));
    let state = super::state(next.project.path());
    assert_eq!(state["pid"], next.process.pid());
}

/// Proves: D3.
#[test]
fn a_command_that_locks_the_place_of_the_state_file_does_not_keep_a_server_from_starting() {
    let first = Served::new();
    let client = first.connect();
    client.start("exec 9<.ahma; flock 9; touch locked; sleep 60");
    first.until_exists("locked");
    let second =
        ahma_tests::http_process::HttpProcess::start(super::AHMA_MCP, &[], first.project.path());
    assert!(second.said.contains("no state file"), "{}", second.said);
    assert!(second.connect().sync("echo hi").text.starts_with("hi\n"));
}

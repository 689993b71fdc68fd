//! What a crash below the server costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ahma_tests::http::Client;
use ahma_tests::{signal, until};
use serde_json::json;

use super::Served;

/// The processes that hold the sandbox.
fn hosts(client: &Client) -> Vec<u64> {
    let info = client.call("get_server_info", &json!({})).structured;
    let hosts = info["sandbox"]["hosts"].as_array().unwrap();
    hosts.iter().map(|pid| pid.as_u64().unwrap()).collect()
}

fn kill(pids: &[u64]) {
    for pid in pids {
        assert!(signal("KILL", pid));
    }
}

/// Proves: H3.
#[test]
fn a_killed_host_costs_its_running_operations_and_the_next_call_works() {
    let served = Served::new();
    let (client, other) = (served.connect(), served.process.stateless());
    let background = client.start("touch a; sleep 600");
    let finished = client.sync("echo kept");
    let waits = other.calling(
        "sandboxed_shell",
        &json!({ "command": "touch b; sleep 600", "execution_mode": "sync" }),
    );
    let address = other.address;
    let call = thread::spawn(move || waits.send(address).answer());
    served.until_exists("a");
    served.until_exists("b");
    kill(&hosts(&client));
    let lost = call.join().unwrap();
    assert_eq!(
        lost["result"]["_meta"]["ahma/operation"]["state"], "lost",
        "{lost}"
    );
    let awaited = client.call("await", &json!({ "operation_id": background }));
    assert_eq!(
        awaited.structured["operations"][0]["state"], "lost",
        "{awaited:?}"
    );
    for client in served.clients() {
        assert!(client.sync("echo next").text.starts_with("next\n"));
    }
    let kept = client.call(
        "read_output",
        &json!({ "operation_id": finished.operation_id() }),
    );
    assert!(kept.text.contains("kept"), "{kept:?}");
}

/// Proves: H3.
#[test]
fn hosts_that_die_again_and_again_under_load_never_leave_a_call_without_an_answer() {
    let served = Served::with(&["--rate-limit", "0"]);
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let (client, is_over) = (served.connect(), Arc::clone(&is_over));
            thread::spawn(move || {
                let mut states = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    let result = client.sync("touch running; sleep 0.01; echo hi");
                    states.push(result.record["state"].as_str().unwrap().to_owned());
                }
                states
            })
        })
        .collect();
    let client = served.connect();
    let sign = served.project.path().join("running");
    for _ in 0..8 {
        // Something runs when the host dies.
        let _ = std::fs::remove_file(&sign);
        until(|| sign.exists());
        kill_those_there(&hosts(&client));
    }
    is_over.store(true, Ordering::SeqCst);
    let states: Vec<String> = callers
        .into_iter()
        .flat_map(|it| it.join().unwrap())
        .collect();
    let odd: Vec<_> = states
        .iter()
        .filter(|it| *it != "completed" && *it != "lost")
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(states.contains(&"lost".to_owned()), "no kill hit a command");
    assert!(
        client
            .sync("echo still here")
            .text
            .starts_with("still here\n")
    );
}

/// A host may have been replaced since it was named.
fn kill_those_there(pids: &[u64]) {
    for pid in pids {
        signal("KILL", pid);
    }
}

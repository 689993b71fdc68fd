//! How a call relates to its command: `auto` waits a little, then hands over.

use std::thread;

use ahma_tests::{marked, processes_marked, signal, unique_mark};
use serde_json::json;

use super::Served;

/// Proves: O26.
#[test]
fn an_auto_call_answers_with_the_result_of_a_quick_command() {
    let mut served = Served::new();
    let call = json!({ "command": "echo quick", "execution_mode": "auto" });
    let result = served.client.call("sandboxed_shell", &call);
    assert!(result.text.starts_with("quick\n"), "{result:?}");
    assert_eq!(result.record["state"], "completed");
}

/// Proves: O26.
#[test]
fn an_auto_call_hands_a_slow_command_over_and_it_goes_on() {
    let mut served = Served::new();
    let mark = unique_mark();
    let script = format!("touch up; sleep {mark} & wait $!; echo woken");
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": script, "execution_mode": "auto" }
    });
    let id = served.client.send("tools/call", &call);
    served.until_exists("up");
    // Something else is answered meanwhile.
    let quick = served.sync("echo meanwhile");
    assert!(quick.text.starts_with("meanwhile\n"), "{quick:?}");
    let answer = ahma_tests::mcp::CallResult::of(&served.client.answer(id));
    assert!(answer.text.starts_with("started op_"), "{answer:?}");
    assert_eq!(answer.record["state"], "running");
    let waited = answer.record["duration_ms"].as_u64().unwrap();
    assert!((10_000..60_000).contains(&waited), "{waited} ms");
    assert_eq!(marked(&mark), 1, "the command goes on");
    let operation = answer.operation_id();
    let waiting = json!({ "operation_id": operation });
    let killer = thread::spawn({
        let mark = mark.clone();
        move || {
            for process in processes_marked(&mark) {
                let (pid, _) = process.split_once(' ').unwrap();
                assert!(signal("TERM", pid));
            }
        }
    });
    let ended = served.client.call("await", &waiting);
    killer.join().unwrap();
    assert!(ended.text.contains("woken"), "{ended:?}");
}

/// Proves: O23.
#[test]
fn cancelling_an_id_that_two_requests_have_stops_the_newer_one() {
    let mut served = Served::new();
    let marks = [unique_mark(), unique_mark()];
    for (number, mark) in (1..).zip(&marks) {
        let script = format!("touch up{number}; exec sleep {mark}");
        let arguments = json!({ "command": script, "execution_mode": "sync" });
        let call = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "sandboxed_shell", "arguments": arguments }
        });
        served.client.send_line(call.to_string().as_bytes());
        served.until_exists(&format!("up{number}"));
    }
    let cancel = json!({ "requestId": 7 });
    served.client.notify("notifications/cancelled", &cancel);
    ahma_tests::until(|| marked(&marks[1]) == 0);
    assert_eq!(marked(&marks[0]), 1, "the older one goes on");
}

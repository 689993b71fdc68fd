//! Very many operations.

use ahma_tests::until;
use std::collections::VecDeque;

use serde_json::json;

use super::{Served, memory_kb, open_files};

/// Requests that are under way at the same time.
const IN_FLIGHT: usize = 16;

fn run(served: &mut Served, count: usize) {
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": "echo hello", "execution_mode": "sync" }
    });
    let mut waiting = VecDeque::new();
    for number in 0..count + IN_FLIGHT {
        if number < count {
            waiting.push_back(served.client.send("tools/call", &call));
        }
        if number >= IN_FLIGHT {
            let id = waiting.pop_front().unwrap();
            let answer = served.client.answer(id);
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("hello\n"), "{answer}");
        }
    }
}

#[test]
#[ignore = "takes minutes; .ci/soak runs it with an optimised server"]
fn a_hundred_thousand_operations_leave_the_server_as_it_was() {
    let mut served = Served::new();
    let pid = served.client.pid();
    // As many as are remembered, several times over.
    run(&mut served, 5_000);
    let memory = memory_kb(pid, "VmRSS:");
    let files = open_files(pid);
    run(&mut served, 100_000);
    let grown = memory_kb(pid, "VmRSS:").saturating_sub(memory);
    assert!(grown < 4096, "the server grew by {grown} kB");
    until(|| open_files(pid) <= files + 8);
    until(|| {
        let info = served.client.call("get_server_info", &json!({})).structured;
        info["processes"].as_u64().unwrap() < 20
    });
}

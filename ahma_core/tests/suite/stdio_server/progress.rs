//! What a client hears while it waits.

use ahma_tests::mcp::CallResult;
use serde_json::{Value, json};

use super::{Served, modern, unspoken_to};
use ahma_tests::Workspace;

fn told(client: &mut ahma_tests::mcp::McpProcess) -> Value {
    client.notification("notifications/progress")["params"].clone()
}

/// Proves: O19.
#[test]
fn a_call_that_waits_is_told_at_once_and_then_what_was_written_last() {
    let mut served = Served::new();
    let script = "while ! test -e go; do sleep 0.02; done; echo first; echo second; \
                  while ! test -e on; do sleep 0.02; done";
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": script, "execution_mode": "sync" },
        "_meta": { "progressToken": "mine" }
    });
    let id = served.client.send("tools/call", &call);
    let first = told(&mut served.client);
    assert_eq!(first["progressToken"], "mine");
    served.project.write("go", "");
    let next = told(&mut served.client);
    assert_eq!(next["message"], "second", "{next}");
    assert!(next["progress"].as_f64() > first["progress"].as_f64());
    served.project.write("on", "");
    let result = CallResult::of(&served.client.answer(id));
    assert!(result.text.starts_with("first\nsecond\n"), "{result:?}");
    // Nothing follows the answer.
    assert_eq!(
        served.client.notifications_so_far("notifications/progress"),
        0
    );
}

/// Proves: O19.
#[test]
fn much_output_is_told_about_once_a_second_at_most() {
    let mut served = Served::new();
    let script = "for i in $(seq 60); do echo $i; sleep 0.05; done";
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": script, "execution_mode": "sync" },
        "_meta": { "progressToken": 1 }
    });
    let answer = served.client.request("tools/call", &call);
    let seconds = answer["result"]["_meta"]["ahma/operation"]["duration_ms"]
        .as_u64()
        .unwrap()
        / 1000;
    let told = served.client.notifications_so_far("notifications/progress") as u64;
    assert!(told >= 2, "told {told} times");
    assert!(told <= seconds + 2, "told {told} times in {seconds} s");
}

/// Proves: O19.
#[test]
fn a_wait_is_told_what_its_operations_write_in_both_lifecycles() {
    for is_modern in [false, true] {
        let project = Workspace::new();
        let mut served = Served::new();
        let mut stateless = unspoken_to(&project);
        let (client, place) = match is_modern {
            true => (&mut stateless, &project),
            false => (&mut served.client, &served.project),
        };
        let with_meta = |params: Value| if is_modern { modern(params) } else { params };
        let script = "while ! test -e go; do sleep 0.02; done; echo working; \
                      while ! test -e on; do sleep 0.02; done";
        let call = json!({ "name": "sandboxed_shell", "arguments": { "command": script } });
        let started = CallResult::of(&client.request("tools/call", &with_meta(call)));
        let wait = json!({
            "name": "await", "arguments": { "operation_id": started.operation_id() },
            "_meta": { "progressToken": "waiting" }
        });
        let wait = client.send("tools/call", &with_meta(wait));
        let first = told(client);
        assert_eq!(first["progressToken"], "waiting", "{first}");
        place.write("go", "");
        assert_eq!(told(client)["message"], "working");
        place.write("on", "");
        let waited = CallResult::of(&client.answer(wait));
        assert!(waited.text.starts_with("working\n"), "{waited:?}");
    }
}

/// Proves: O19.
#[test]
fn a_sequence_tells_which_step_it_is_at() {
    let project = Workspace::new();
    let tool = json!({
        "name": "both", "description": "Two steps.", "command": "sequence", "step_delay_ms": 0,
        "sequence": [
            { "tool": "sandboxed_shell", "args": { "command": "echo one" } },
            {
                "tool": "sandboxed_shell", "description": "the long one",
                "args": { "command": "echo two; while ! test -e on; do sleep 0.02; done" }
            },
        ]
    });
    project.write(".ahma/tools/both.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let call = json!({
        "name": "both", "arguments": { "execution_mode": "sync" }, "_meta": { "progressToken": 3 }
    });
    let id = served.client.send("tools/call", &call);
    let message = loop {
        let told = told(&mut served.client)["message"]
            .as_str()
            .unwrap()
            .to_owned();
        if told.contains("step 2 of 2") {
            break told;
        }
    };
    assert_eq!(message, "step 2 of 2: sandboxed_shell: the long one · two");
    served.project.write("on", "");
    served.client.answer(id);
}

/// Clients give up on calls that are silent for long.
///
/// Proves: O19.
#[test]
fn a_silent_command_is_told_about_all_the_same() {
    let mut served = Served::new();
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": "echo begun; exec sleep 60", "execution_mode": "sync" },
        "_meta": { "progressToken": 1 }
    });
    served.client.send("tools/call", &call);
    let message = loop {
        let told = told(&mut served.client)["message"].clone();
        if told.as_str().unwrap().contains("no output") {
            break told;
        }
    };
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("begun · no output for "),
        "{message}"
    );
}

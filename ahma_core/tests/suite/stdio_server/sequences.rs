//! Sequences: several commands as one operation.

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::{Value, json};

use super::Served;

/// A server whose project has a tool `say`, one that fails, and a sequence of these steps.
fn served(steps: &Value) -> Served {
    let project = Workspace::new();
    project.make_directory("sub");
    let say = json!({
        "name": "say", "description": "S.", "command": "sh", "synchronous": true,
        "fixed_args": ["-c", "pwd; echo \"$1\"; exit ${2:-0}", "sh"],
        "positional_args": [
            { "name": "words", "type": "string", "required": true },
            { "name": "code", "type": "integer" }
        ]
    });
    let all = json!({
        "name": "all", "description": "A.", "command": "sequence", "step_delay_ms": 200, "sequence": steps
    });
    let outer = json!({
        "name": "outer", "description": "O.", "command": "sequence", "sequence": [{ "tool": "all" }]
    });
    project.write(".ahma/tools/say.json", say.to_string());
    project.write(".ahma/tools/all.json", all.to_string());
    project.write(".ahma/tools/outer.json", outer.to_string());
    Served::of(project, &[])
}

fn run(served: &mut Served, tool: &str, mut arguments: Value) -> CallResult {
    arguments["execution_mode"] = json!("sync");
    served.client.call(tool, &arguments)
}

fn step(words: &str, code: i32) -> Value {
    json!({ "tool": "say", "args": { "words": words, "code": code } })
}

/// Proves: T23.
#[test]
fn steps_run_in_order_as_one_operation_in_the_directory_of_the_sequence() {
    let steps = json!([
        step("first", 0),
        { "tool": "sandboxed_shell", "description": "look", "args": { "command": "basename \"$PWD\"" } },
        { "tool": "say", "args": { "words": "third", "working_directory": "." } }
    ]);
    let mut served = served(&steps);
    for tool in ["all", "outer"] {
        let result = run(&mut served, tool, json!({ "working_directory": "sub" }));
        assert!(!result.is_error, "{}", result.text);
        let scope = served.project.path().canonicalize().unwrap();
        let scope = scope.display();
        let expected = format!(
            "== step 1 of 3: say\n{scope}/sub\nfirst\n== step 2 of 3: sandboxed_shell: look\nsub\n\
             == step 3 of 3: say\n{scope}\nthird\n[op_"
        );
        assert!(result.text.starts_with(&expected), "{}", result.text);
        assert_eq!(
            (&result.record["tool"], &result.record["exit_code"]),
            (&json!(tool), &json!(0))
        );
    }
    let listed = served.client.call("status", &json!({}));
    assert_eq!(listed.structured["operations"].as_array().unwrap().len(), 2);
}

/// Proves: T41.
#[test]
fn the_first_failure_ends_the_sequence_unless_it_does_not_matter() {
    let steps = json!([step("first", 0), step("second", 7), step("third", 0)]);
    let result = run(&mut served(&steps), "all", json!({}));
    assert!(
        result.is_error && !result.text.contains("third"),
        "{}",
        result.text
    );
    assert!(
        result.text.contains("step 2 of 3 (say) failed"),
        "{}",
        result.text
    );
    assert_eq!(result.record["exit_code"], 7);

    let mut tolerant = step("second", 7);
    tolerant["continue_on_error"] = json!(true);
    let steps = json!([step("first", 0), tolerant, step("third", 0)]);
    let result = run(&mut served(&steps), "all", json!({}));
    assert!(
        !result.is_error && result.text.contains("third"),
        "{}",
        result.text
    );
    assert!(
        result.text.contains("step 2 of 3 (say) failed; going on"),
        "{}",
        result.text
    );
}

/// Proves: T41.
#[test]
fn a_step_is_left_out_when_its_file_is_there_or_missing() {
    let with = |words: &str, key: &str, file: &str| {
        let mut step = step(words, 0);
        step[key] = json!(file);
        step
    };
    let steps = json!([
        with("a", "skip_if_file_exists", "here"),
        with("b", "skip_if_file_missing", "here"),
        with("c", "skip_if_file_exists", "missing"),
        with("d", "skip_if_file_missing", "missing"),
        with("e", "skip_if_file_exists", "link/passwd")
    ]);
    let mut served = served(&steps);
    served.project.write("here", "");
    std::os::unix::fs::symlink("/etc", served.project.path().join("link")).unwrap();
    let result = run(&mut served, "all", json!({}));
    let ran = |word: &str| result.text.contains(&format!("\n{word}\n"));
    let expected = [false, true, true, false, true];
    assert_eq!(
        ["a", "b", "c", "d", "e"].map(ran),
        expected,
        "{}",
        result.text
    );
    assert!(
        result
            .text
            .contains("step 1 of 5: say: skipped, here exists"),
        "{}",
        result.text
    );
}

/// Proves: T41.
#[test]
fn cancelling_ends_the_step_that_runs_and_the_rest() {
    let mark = unique_mark();
    let steps = json!([
        { "tool": "sandboxed_shell", "args": { "command": format!("touch up; sleep {mark}") } },
        { "tool": "sandboxed_shell", "args": { "command": "touch after" } }
    ]);
    let mut served = served(&steps);
    let started = served.client.call("all", &json!({}));
    served.until_exists("up");
    let id = started.operation_id();
    let cancelled = served.client.call("cancel", &json!({ "operation_id": id }));
    assert!(cancelled.text.contains("cancelled"), "{}", cancelled.text);
    until(|| marked(&mark) == 0);
    assert!(!served.project.path().join("after").exists());
}

/// Proves: T41.
#[test]
fn a_wrong_step_is_named_before_anything_runs() {
    let steps = json!([
        { "tool": "sandboxed_shell", "args": { "command": "touch ran" } },
        { "tool": "say", "args": { "words": "x", "working_directory": "no/such/place" } }
    ]);
    let mut served = served(&steps);
    let result = run(&mut served, "all", json!({}));
    assert!(
        result.is_error && result.text.contains("no/such/place"),
        "{}",
        result.text
    );
    assert!(!served.project.path().join("ran").exists());
}

/// Proves: T22.
#[test]
fn there_is_a_pause_between_two_steps() {
    let now = json!({ "tool": "sandboxed_shell", "args": { "command": "date +%s%3N" } });
    let result = run(&mut served(&json!([now, now])), "all", json!({}));
    let times: Vec<u64> = result
        .text
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    let [first, second] = times[..] else {
        panic!("{}", result.text)
    };
    assert!(second - first >= 200, "{first} and {second}");
}

/// Proves: T42.
#[test]
fn built_in_tools_can_be_steps_and_none_waits_for_its_own_sequence() {
    let project = Workspace::new();
    let wrong = json!({
        "name": "wrong", "description": "Fails.", "command": "sequence", "step_delay_ms": 0,
        "sequence": [
            { "tool": "cancel", "args": { "operation_id": "op_nothing" } },
            { "tool": "sandboxed_shell", "args": { "command": "echo never" } }
        ]
    });
    project.write(".ahma/tools/wrong.json", wrong.to_string());
    let mut served = Served::of(project, &[]);
    let earlier = served.start("while ! test -e go; do sleep 0.02; done; echo earlier");
    // It names the operation, which may end before the sequence comes to wait for it.
    let tool = json!({
        "name": "all", "description": "Waits.", "command": "sequence", "step_delay_ms": 0,
        "sequence": [
            { "tool": "await", "args": { "tools": ["all"], "timeout_seconds": 60 } },
            { "tool": "await", "args": { "operation_id": earlier, "timeout_seconds": 60 } },
            { "tool": "status", "args": { "state": "completed" } },
            { "tool": "sandboxed_shell", "args": { "command": "echo last" } }
        ]
    });
    served
        .project
        .write(".ahma/tools/all.json", tool.to_string());
    served
        .client
        .notification("notifications/tools/list_changed");
    let call = json!({ "name": "all", "arguments": { "execution_mode": "sync" } });
    let call = served.client.send("tools/call", &call);
    served.project.write("go", "");
    let result = CallResult::of(&served.client.answer(call));
    assert!(!result.is_error, "{}", result.text);
    let text = &result.text;
    let own = "step 1 of 4: await\nthere is no operation to wait for\n";
    assert!(text.contains(own), "{text}");
    assert!(text.contains("step 2 of 4: await\nearlier\n"), "{text}");
    let listed = format!("[{earlier} completed, exit code 0");
    assert_eq!(text.matches(&listed).count(), 2, "{text}");
    assert!(
        text.contains("step 4 of 4: sandboxed_shell\nlast\n"),
        "{text}"
    );

    let call = json!({ "execution_mode": "sync" });
    let result = served.client.call("wrong", &call);
    assert!(result.is_error);
    assert!(
        result.text.contains("there is no operation op_nothing"),
        "{}",
        result.text
    );
    assert!(!result.text.contains("never"), "{}", result.text);
}

/// Proves: T43.
#[test]
fn a_sequence_keeps_its_deadline() {
    let project = Workspace::new();
    let steps = json!([
        { "tool": "sandboxed_shell", "args": { "command": "echo first" } },
        { "tool": "sandboxed_shell", "args": { "command": "sleep 60" } },
        { "tool": "sandboxed_shell", "args": { "command": "echo never" } }
    ]);
    let tool = json!({
        "name": "long", "description": "Long.", "command": "sequence", "step_delay_ms": 0,
        "timeout_seconds": 1, "sequence": steps
    });
    project.write(".ahma/tools/long.json", tool.to_string());
    let waits = json!({
        "name": "waits", "description": "Waits.", "command": "sequence", "step_delay_ms": 60_000,
        "sequence": [
            { "tool": "sandboxed_shell", "args": { "command": "echo first" } },
            { "tool": "sandboxed_shell", "args": { "command": "echo never" } }
        ]
    });
    project.write(".ahma/tools/waits.json", waits.to_string());
    let mut served = Served::of(project, &[]);
    for (tool, arguments) in [
        ("long", json!({ "execution_mode": "sync" })),
        (
            "waits",
            json!({ "execution_mode": "sync", "timeout_seconds": 1 }),
        ),
    ] {
        let result = served.client.call(tool, &arguments);
        assert_eq!(result.record["state"], "timed_out", "{}", result.text);
        assert!(result.text.contains("first\n"), "{}", result.text);
        assert!(!result.text.contains("never"), "{}", result.text);
    }
}

//! Calls of the built-in tools.

use std::fs;

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, marked, processes_below, unique_mark, until};
use serde_json::json;

use super::Served;

/// Proves: D5, S4.
#[test]
fn a_command_runs_in_the_project_and_its_result_ends_with_one_line_about_it() {
    let mut served = Served::new();
    let result = served.sync("echo hello > file; cat file; pwd; exit 0");
    let directory = served.project.path().canonicalize().unwrap();
    let (output, last) = result.text.rsplit_once('\n').unwrap();
    assert_eq!(output, format!("hello\n{}", directory.display()));
    assert!(
        last.starts_with("[op_") && last.contains(" completed, exit code 0, "),
        "{last}"
    );
    assert!(!result.is_error);
    assert_eq!(result.record["state"], "completed");
    assert_eq!(result.record["exit_code"], 0);
    assert_eq!(
        fs::read_to_string(served.project.path().join("file")).unwrap(),
        "hello\n"
    );
}

#[test]
fn a_failed_command_is_an_error_result_with_its_exit_code() {
    let mut served = Served::new();
    let result = served.sync("echo oops >&2; exit 3");
    assert!(result.is_error);
    assert!(result.text.starts_with("oops\n[op_"), "{}", result.text);
    assert_eq!(
        (&result.record["state"], &result.record["exit_code"]),
        (&json!("failed"), &json!(3))
    );
}

/// Proves: O1.
#[test]
fn an_asynchronous_call_answers_at_once_and_await_brings_the_result() {
    let mut served = Served::new();
    let id = served.start("while ! test -e go; do sleep 0.02; done; echo done");
    let status = served.client.call("status", &json!({ "operation_id": id }));
    assert_eq!(
        status.structured["operations"][0]["operation_id"],
        json!(id)
    );
    let early = served.client.call(
        "await",
        &json!({ "operation_id": id, "timeout_seconds": 0 }),
    );
    assert!(early.text.contains("still "), "{}", early.text);
    served.project.write("go", "");
    let result = served.client.call("await", &json!({ "operation_id": id }));
    assert!(result.text.starts_with("done\n[op_"), "{}", result.text);
    assert_eq!(result.record["operation_id"], json!(id));
}

#[test]
fn arguments_of_built_in_tools_are_held_to_their_bounds() {
    let mut served = Served::new();
    let id = served
        .sync("yes ab | tr -d '\\n' | head -c 500000")
        .operation_id();
    for (tool, arguments, part) in [
        (
            "await",
            json!({ "timeout_seconds": 4_000_000_000_u32 }),
            "timeout_seconds: 4000000000 is above the maximum 3600",
        ),
        (
            "status",
            json!({ "state": "bogus" }),
            "state: \"bogus\" is not one of \"queued\"",
        ),
        (
            "status",
            json!({ "limit": 0 }),
            "limit: 0 is below the minimum 1",
        ),
        (
            "read_output",
            json!({ "operation_id": 5 }),
            "operation_id: expected a string, found 5",
        ),
        (
            "call_tool",
            json!({ "name": "status", "argments": {} }),
            "`call_tool` has no argument `argments` (did you mean `arguments`?)",
        ),
        (
            "read_output",
            json!({ "operation_id": id, "pattern": "([ab]{100}){1000}" }),
            "not a regular expression",
        ),
    ] {
        let result = served.client.call(tool, &arguments);
        assert!(result.is_error, "{tool} {arguments}: {result:?}");
        assert!(
            result.text.contains(part),
            "{tool} {arguments}: {}",
            result.text
        );
    }
    // The same one many times is shown once.
    let many: Vec<&String> = std::iter::repeat_n(&id, 1000).collect();
    let waited = served
        .client
        .call("await", &json!({ "operation_id": many }));
    assert!(waited.text.len() < 60_000, "{}", waited.text.len());
}

/// Proves: O7.
#[test]
fn await_of_several_returns_all_and_names_unknown_ones() {
    let mut served = Served::new();
    let ids = [served.start("echo one"), served.start("echo two; exit 1")];
    let both = served.client.call("await", &json!({ "operation_id": ids }));
    assert!(
        both.text.contains("one\n[op_") && both.text.contains("two\n[op_"),
        "{}",
        both.text
    );
    assert!(
        !both.is_error,
        "a failed one among several is no error of await"
    );
    let unknown = served
        .client
        .call("await", &json!({ "operation_id": [ids[0], "op_nosuch"] }));
    assert!(unknown.is_error && unknown.text.contains("there is no operation op_nosuch"));
}

/// Proves: O7.
#[test]
fn cancel_ends_the_whole_tree_before_it_answers() {
    let mut served = Served::new();
    let mark = unique_mark();
    let id = served.start(&format!(
        "(setsid sleep {mark} &); sleep {mark} & touch up; wait"
    ));
    served.until_exists("up");
    until(|| marked(&mark) >= 2);
    let result = served
        .client
        .call("cancel", &json!({ "operation_id": id, "reason": "enough" }));
    assert_eq!(marked(&mark), 0);
    assert!(result.text.contains(" cancelled"), "{}", result.text);
    let again = served.client.call("cancel", &json!({ "operation_id": id }));
    assert!(again.text.contains(" cancelled"), "{}", again.text);
    let result = served.client.call("await", &json!({ "operation_id": id }));
    assert!(
        result.is_error && result.text.contains("enough\n[op_"),
        "{}",
        result.text
    );
}

#[test]
fn cancelling_a_call_stops_its_command() {
    let mut served = Served::new();
    let mark = unique_mark();
    let arguments =
        json!({ "command": format!("touch up; sleep {mark}"), "execution_mode": "sync" });
    let id = served.client.send(
        "tools/call",
        &json!({ "name": "sandboxed_shell", "arguments": arguments }),
    );
    served.until_exists("up");
    served.client.notify(
        "notifications/cancelled",
        &json!({ "requestId": id, "reason": "changed my mind" }),
    );
    until(|| marked(&mark) == 0);
    until(|| {
        let status = served
            .client
            .call("status", &json!({ "state": "cancelled" }));
        status.structured["operations"].as_array().unwrap().len() == 1
    });
}

/// Proves: S6.
#[test]
fn standard_input_and_directory_can_be_given() {
    let mut served = Served::new();
    served.project.write("sub/file", "");
    let arguments = json!({
        "command": "cat; ls", "stdin": "given\n", "working_directory": "sub", "execution_mode": "sync"
    });
    let result = served.client.call("sandboxed_shell", &arguments);
    assert!(result.text.starts_with("given\nfile\n"), "{}", result.text);
    let outside = json!({ "command": "ls", "working_directory": "/etc" });
    let refused = served.client.call("sandboxed_shell", &outside);
    assert!(
        refused.is_error && refused.text.contains("is outside the sandbox scope"),
        "{}",
        refused.text
    );
}

/// Proves: O9.
#[test]
fn the_deadline_of_a_call_is_kept() {
    let mut served = Served::new();
    let arguments = json!({ "command": "echo before; sleep 60", "timeout_seconds": 1, "execution_mode": "sync" });
    let result = served.client.call("sandboxed_shell", &arguments);
    assert!(
        result.is_error && result.text.starts_with("before\n"),
        "{}",
        result.text
    );
    assert_eq!(result.record["state"], "timed_out");
}

/// Proves: P14.
#[test]
fn wrong_calls_are_answered_each_in_its_way() {
    let mut served = Served::new();
    let unknown = served
        .client
        .request("tools/call", &json!({ "name": "nosuch", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    for (tool, arguments, expected) in [
        (
            "sandboxed_shell",
            json!({ "comand": "x" }),
            "did you mean `command`?",
        ),
        (
            "sandboxed_shell",
            json!({}),
            "the argument `command` is required",
        ),
        (
            "sandboxed_shell",
            json!({ "command": "x", "timeout_seconds": 0 }),
            "expected a whole number from 1 to 86400",
        ),
        (
            "sandboxed_shell",
            json!({ "command": "x", "execution_mode": "later" }),
            "expected \"async\", \"sync\", \"auto\"",
        ),
        (
            "cancel",
            json!({ "operation_id": "op_nosuch" }),
            "there is no operation op_nosuch",
        ),
        (
            "read_output",
            json!({ "operation_id": "op_nosuch" }),
            "there is no operation op_nosuch",
        ),
        (
            "status",
            json!({ "operation_id": "op_nosuch" }),
            "there is no operation op_nosuch",
        ),
    ] {
        let result = served.client.call(tool, &arguments);
        assert!(
            result.is_error && result.text.contains(expected),
            "{tool} {arguments}: {}",
            result.text
        );
    }
}

/// Proves: P13.
#[test]
fn the_tools_are_listed_with_closed_schemas() {
    let mut served = Served::new();
    let answer = served.client.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names[..7],
        [
            "sandboxed_shell",
            "await",
            "status",
            "cancel",
            "send_input",
            "read_output",
            "get_server_info"
        ]
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}

/// Proves: P13.
#[test]
fn many_calls_at_once_each_get_their_own_answer() {
    let mut served = Served::new();
    let ids: Vec<(u64, u32)> = (0..40)
        .map(|number| {
            let arguments =
                json!({ "command": format!("echo {number}"), "execution_mode": "sync" });
            let params = json!({ "name": "sandboxed_shell", "arguments": arguments });
            (served.client.send("tools/call", &params), number)
        })
        .collect();
    for (id, number) in ids {
        let result = CallResult::of(&served.client.answer(id));
        assert!(
            result.text.starts_with(&format!("{number}\n[op_")),
            "{number}: {}",
            result.text
        );
    }
}

fn waiting_shells(served: &Served) -> Vec<u32> {
    let shells = processes_below(served.client.pid())
        .into_iter()
        .filter(|pid| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline"));
            line.is_ok_and(|line| line.starts_with("/bin/bash\0-c\0read"))
        });
    shells.collect()
}

/// Proves: S1.
#[test]
fn a_script_runs_in_a_shell_that_was_there_before_the_call() {
    let mut served = Served::new();
    until(|| waiting_shells(&served).len() == 2);
    let before = waiting_shells(&served);
    let mark = unique_mark();
    let operation = served.start(&format!("exec sleep {mark}"));
    until(|| marked(&mark) == 1);
    let line = ahma_tests::processes_marked(&mark).remove(0);
    let pid: u32 = line.split_once(' ').unwrap().0.parse().unwrap();
    assert!(before.contains(&pid), "{pid} is none of {before:?}");
    let cancelled = served
        .client
        .call("cancel", &json!({ "operation_id": operation }));
    assert!(cancelled.text.contains("cancelled"), "{cancelled:?}");
    until(|| waiting_shells(&served).len() == 2);
}

/// Proves: S40.
#[test]
fn warm_shells_can_be_switched_off() {
    let mut served = Served::with(&["--warm-shells", "0"], &[]);
    assert!(served.sync("echo cold").text.starts_with("cold\n"));
    assert_eq!(waiting_shells(&served), Vec::<u32>::new());
}

#[test]
fn a_script_may_begin_with_a_dash() {
    let mut served = Served::with(&["--warm-shells", "0"], &[]);
    let result = served.sync("-x; echo after");
    assert!(result.text.contains("-x: command not found"), "{result:?}");
    assert!(result.text.contains("after\n"), "{result:?}");
}

/// Proves: S76.
#[test]
fn a_script_that_is_one_program_needs_no_shell_and_says_what_a_shell_would_say() {
    let mut served = Served::of(Workspace::new(), &["--warm-shells", "0"]);
    let mut run = |script: &str| {
        served.client.call(
            "sandboxed_shell",
            &json!({ "command": script, "execution_mode": "sync" }),
        )
    };
    // A shell would have set it.
    let alone = run("printenv _");
    assert!(
        alone.is_error && alone.text.contains("exit code 1"),
        "{alone:?}"
    );
    let in_shell = run("printenv _; true");
    assert!(in_shell.text.contains("/printenv\n"), "{in_shell:?}");
    let words = run("sh -c 'echo \"<$1> $PWD\"' sh 'a  b'");
    let here = served.project.path().canonicalize().unwrap();
    assert!(
        words
            .text
            .starts_with(&format!("<a  b> {}\n", here.display())),
        "{words:?}"
    );
    // Neither of them can be executed as it is.
    served.project.write("plain", "echo I am a script\n");
    served.project.make_executable("plain");
    let plain = here.join("plain");
    let mut run = |script: &str| {
        served.client.call(
            "sandboxed_shell",
            &json!({ "command": script, "execution_mode": "sync" }),
        )
    };
    let plain = run(plain.to_str().unwrap());
    assert!(plain.text.starts_with("I am a script\n"), "{plain:?}");
    let missing = run("no-such-program -x");
    assert!(
        missing.text.contains("no-such-program: command not found"),
        "{missing:?}"
    );
    assert!(missing.text.contains("exit code 127"), "{missing:?}");
}

//! Commands that are written to while they run, services, and scripts of any size.

use ahma_tests::{marked, unique_mark, until};
use serde_json::json;

use super::Served;

/// Proves: O33.
#[test]
fn a_running_command_can_be_written_to_until_its_input_ends() {
    let mut served = Served::new();
    let script = "echo ready; while read line; do echo \"got $line\"; done; echo end";
    let call = json!({ "command": script, "input": true });
    let id = served.client.call("sandboxed_shell", &call).operation_id();
    let sent = served.client.call(
        "send_input",
        &json!({ "operation_id": id, "text": "one\ntwo\n" }),
    );
    assert!(sent.text.contains("8 bytes written"), "{sent:?}");
    until(|| {
        let read = served
            .client
            .call("read_output", &json!({ "operation_id": id }));
        read.text.contains("got one\ngot two")
    });
    let closed = served.client.call(
        "send_input",
        &json!({ "operation_id": id, "text": "three\n", "close": true }),
    );
    assert!(closed.text.contains("its input has ended"), "{closed:?}");
    let ended = served.client.call("await", &json!({ "operation_id": id }));
    assert!(ended.text.contains("got three\nend\n"), "{ended:?}");
    let late = served
        .client
        .call("send_input", &json!({ "operation_id": id, "text": "x" }));
    assert!(late.is_error && late.text.contains("has ended"), "{late:?}");
}

/// Proves: O33.
#[test]
fn input_that_cannot_be_written_is_an_error_with_what_to_do() {
    let mut served = Served::new();
    let plain = served.start("sleep 60");
    for (arguments, message) in [
        (
            json!({ "operation_id": plain, "text": "x" }),
            "was not started with",
        ),
        (
            json!({ "operation_id": "op_none", "text": "x" }),
            "there is no operation",
        ),
    ] {
        let refused = served.client.call("send_input", &arguments);
        assert!(
            refused.is_error && refused.text.contains(message),
            "{refused:?}"
        );
    }
    let both = json!({ "command": "cat", "input": true, "stdin": "x" });
    let refused = served.client.call("sandboxed_shell", &both);
    assert!(
        refused.is_error && refused.text.contains("leave out one"),
        "{refused:?}"
    );
    // A command that does not read: more than fits into a pipe is not waited for without end.
    let call = json!({ "command": "sleep 60", "input": true });
    let id = served.client.call("sandboxed_shell", &call).operation_id();
    let refused = served.client.call(
        "send_input",
        &json!({ "operation_id": id, "text": "x".repeat(300_000) }),
    );
    assert!(
        refused.is_error && refused.text.contains("of 300000 bytes were written"),
        "{refused:?}"
    );
    assert!(
        refused.text.contains("has not read the rest"),
        "{refused:?}"
    );
    let nothing = served
        .client
        .call("send_input", &json!({ "operation_id": id }));
    assert!(
        nothing.is_error && nothing.text.contains("nothing to write"),
        "{nothing:?}"
    );
}

/// Proves: O34.
#[test]
fn a_service_answers_when_it_is_ready_and_goes_on_until_it_is_cancelled() {
    let mut served = Served::new();
    let mark = unique_mark();
    let script =
        format!("while ! test -e go; do sleep 0.02; done; echo listening at last; sleep {mark}");
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": {
            "command": script, "execution_mode": "service", "ready": { "pattern": "^listening" }
        }
    });
    let id = served.client.send("tools/call", &call);
    // It is not answered before that.
    let quick = served.sync("echo meanwhile; touch go");
    assert!(quick.text.starts_with("meanwhile"), "{quick:?}");
    let answer = ahma_tests::mcp::CallResult::of(&served.client.answer(id));
    assert!(answer.text.contains("The service is ready"), "{answer:?}");
    assert!(answer.text.contains("listening at last"), "{answer:?}");
    assert_eq!(answer.record["state"], "running");
    let status = served.client.call("status", &json!({}));
    let row = &status.structured["operations"][0];
    let row = match row["service"].as_bool() {
        Some(true) => row,
        _ => &status.structured["operations"][1],
    };
    assert_eq!(
        (&row["service"], &row["deadline_at"]),
        (&json!(true), &json!(null))
    );
    // Nobody waits for what does not end.
    let waited = served.client.call("await", &json!({}));
    assert!(
        waited.text.contains("no operation to wait for"),
        "{waited:?}"
    );
    // What it starts after that line may take a moment.
    until(|| marked(&mark) == 1);
    let operation = answer.operation_id();
    let ended = served
        .client
        .call("cancel", &json!({ "operation_id": operation }));
    assert!(ended.text.contains("cancelled"), "{ended:?}");
    assert_eq!(marked(&mark), 0);
}

/// Proves: O34.
#[test]
fn a_service_that_listens_can_be_used_by_the_next_call() {
    let mut served = Served::new();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let call = json!({
        "command": format!("python3 -u -m http.server {port} --bind 127.0.0.1"),
        "execution_mode": "service", "ready": { "port": port }
    });
    let answer = served.client.call("sandboxed_shell", &call);
    assert!(
        answer.text.contains(&format!("listens on port {port}")),
        "{answer:?}"
    );
    served.project.write("page.txt", "served");
    let url = format!("http://127.0.0.1:{port}/page.txt");
    let fetch =
        "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
    let fetched = served.sync(&format!("python3 -c '{fetch}' {url}"));
    assert!(fetched.text.starts_with("served"), "{fetched:?}");
    // The port is taken now, which is said before anything runs.
    let again = served.client.call("sandboxed_shell", &call);
    assert!(
        again.is_error && again.text.contains("already"),
        "{again:?}"
    );
}

/// Proves: O34.
#[test]
fn a_service_that_ends_is_answered_with_its_result_and_wrong_conditions_with_what_is_right() {
    let mut served = Served::new();
    let call = |ready: serde_json::Value| json!({ "command": "echo gone; exit 4", "execution_mode": "service", "ready": ready });
    let ended = served
        .client
        .call("sandboxed_shell", &call(json!({ "pattern": "never" })));
    assert!(
        ended.is_error && ended.text.starts_with("gone\n"),
        "{ended:?}"
    );
    for (ready, message) in [
        (json!({ "port": 0 }), "expected {\"port\": N}"),
        (json!({ "pattern": "(" }), "not a regular expression"),
        (json!({}), "expected {\"port\": N}"),
        (json!("up"), "expected {\"port\": N}"),
    ] {
        let refused = served.client.call("sandboxed_shell", &call(ready));
        assert!(
            refused.is_error && refused.text.contains(message),
            "{refused:?}"
        );
    }
    let without = json!({ "command": "true", "ready": { "port": 4000 } });
    let refused = served.client.call("sandboxed_shell", &without);
    assert!(
        refused.is_error && refused.text.contains("only with"),
        "{refused:?}"
    );
}

/// Proves: O35.
#[test]
fn a_script_may_be_larger_than_one_word_of_a_command_line() {
    let mut served = Served::new();
    for size in [90_000, 200_000, 2_000_000] {
        let text = "x".repeat(size - 1);
        let script = format!("cat > written <<'END'\n{text}\nEND\nwc -c < written; echo $#");
        let result = served.sync(&script);
        assert!(
            result.text.starts_with(&format!("{size}\n0\n")),
            "{size}: {result:?}"
        );
    }
    let left = served.sync("ls \"$TMPDIR\"");
    assert!(!left.text.contains("argument-"), "{left:?}");
}

/// Proves: O12.
#[test]
fn output_is_read_by_lines_too() {
    let mut served = Served::new();
    let result = served.sync("seq 30000");
    let id = result.operation_id();
    for (arguments, expected) in [
        (
            json!({ "line": 20_000, "lines": 2 }),
            "20000\n20001\n[lines 20000 to 20001 of 30000; more from line 20002 on]",
        ),
        (
            json!({ "lines": 2 }),
            "29999\n30000\n[lines 29999 to 30000 of 30000]",
        ),
        (json!({ "line": 40_000 }), "[no lines of 30000]"),
    ] {
        let mut call = arguments.clone();
        call["operation_id"] = json!(id);
        let read = served.client.call("read_output", &call);
        assert_eq!(read.text, expected, "{arguments}");
    }
    let both = json!({ "operation_id": id, "line": 1, "offset": 1 });
    let refused = served.client.call("read_output", &both);
    assert!(
        refused.is_error && refused.text.contains("one or the other"),
        "{refused:?}"
    );
}

/// Proves: O38.
#[test]
fn a_script_that_leaves_processes_behind_says_how_many_were_ended() {
    let mut served = Served::new();
    let mark = unique_mark();
    let left = served.sync(&format!("sleep {mark} & sleep {mark} & echo started"));
    assert!(!left.is_error, "{left:?}");
    assert!(
        left.text
            .starts_with("started\n2 processes that the command left running were ended"),
        "{left:?}"
    );
    assert!(left.text.contains("service"), "{left:?}");
    assert_eq!(marked(&mark), 0);
    let none = served.sync("sleep 0 & wait; echo done");
    assert!(!none.text.contains("left running"), "{none:?}");
}

/// Proves: O34.
#[test]
fn a_service_without_network_is_ready_when_it_listens_on_its_own_loopback() {
    let mut served = Served::with(&["--network", "off"], &[]);
    let call = json!({
        "command": "python3 -u -m http.server 18477 --bind 127.0.0.1",
        "execution_mode": "service", "ready": { "port": 18477 }
    });
    let answer = served.client.call("sandboxed_shell", &call);
    assert!(answer.text.contains("listens on port 18477"), "{answer:?}");
}

/// Proves: O34.
#[test]
fn a_service_that_waits_for_its_turn_is_not_called_ready() {
    let mut served = Served::with(&["--max-operations", "1"], &[]);
    // Longer than what makes a service count as started.
    served.start("sleep 2; touch before");
    let call = json!({ "command": "touch up; sleep 60", "execution_mode": "service" });
    let answer = served.client.call("sandboxed_shell", &call);
    let ready = "The service is ready: it has been running for a second.";
    assert!(answer.text.contains(ready), "{answer:?}");
    assert_eq!(answer.record["state"], "running");
    let made = ["before", "up"].map(|it| served.project.path().join(it).exists());
    assert_eq!(made, [true, true]);
}

//! Children that behave badly: whatever they do, the call ends, the counts are right, nothing is left
//! alive and the server stays small.

use ahma_tests::{marked, unique_mark, until};
use std::time::{Duration, Instant};

use ahma_tests::mcp::CallResult;
use serde_json::{Value, json};

use super::{Served, memory_kb, processes_marked};

/// What a server may grow by while it takes in a flood of any size.
const GROWTH_KB: u64 = 16 * 1024;

fn naughty(act: &str) -> Value {
    let command = format!("exec /usr/bin/python3 naughty.py {act}");
    json!({ "command": command, "execution_mode": "sync" })
}

fn server() -> Served {
    server_with(&[])
}

fn server_with(arguments: &[&str]) -> Served {
    let server = Served::with(arguments, &[]);
    let script = include_str!("../../naughty/naughty.py");
    server.project.write("naughty.py", script);
    server
}

/// The record of a result: state, exit code, signal, bytes and lines.
fn record(result: &CallResult) -> Value {
    let all = &result.record;
    json!([
        all["state"],
        all["exit_code"],
        all["signal"],
        all["output_bytes"],
        all["output_lines"]
    ])
}

/// Takes in an output and checks that it costs no memory and that its end can be read.
fn flood(act: &str, bytes: u64, lines: u64, timeout: Duration) {
    let mut server = server();
    server
        .client
        .call("sandboxed_shell", &naughty("flood 100000"));
    let before = memory_kb(server.client.pid(), "VmRSS:");
    let mut arguments = naughty(act);
    arguments["execution_mode"] = json!("async");
    let started = server.client.call("sandboxed_shell", &arguments);
    let id = started.record["operation_id"].clone();
    let end = Instant::now() + timeout;
    let result = loop {
        let seconds = json!({ "operation_id": [id], "timeout_seconds": 10 });
        let result = server.client.call("await", &seconds);
        let operation = result.structured["operations"][0].clone();
        if operation["state"] != "running" {
            break operation;
        }
        assert!(Instant::now() < end, "{operation}");
    };
    assert_eq!(
        (
            &result["state"],
            &result["output_bytes"],
            &result["output_lines"]
        ),
        (&json!("completed"), &json!(bytes), &json!(lines)),
        "{act}"
    );
    let peak = memory_kb(server.client.pid(), "VmHWM:");
    assert!(
        peak < before + GROWTH_KB,
        "{act}: from {before} to {peak} kB"
    );
    let tail = server
        .client
        .call("read_output", &json!({ "operation_id": id, "tail": 5 }));
    assert!(!tail.text.is_empty(), "{tail:?}");
}

/// Proves: O16.
#[test]
fn a_child_that_ignores_signals_is_killed() {
    let mut server = server();
    let mark = unique_mark();
    let arguments = json!({
        "command": format!("exec /usr/bin/python3 naughty.py ignore-signals 0 {mark}"),
        "execution_mode": "sync",
        "timeout_seconds": 1,
    });
    let result = server.client.call("sandboxed_shell", &arguments);
    assert_eq!(record(&result), json!(["timed_out", null, 9, 3, 1]));
    assert_eq!(marked(&mark), 0);
}

/// Proves: O16.
#[test]
fn a_child_that_stops_itself_is_killed() {
    let mut server = server();
    let mut arguments = naughty("stop-itself");
    arguments["timeout_seconds"] = json!(1);
    let result = server.client.call("sandboxed_shell", &arguments);
    assert_eq!(record(&result), json!(["timed_out", null, 9, 3, 1]));
}

/// Proves: O16.
#[test]
fn a_child_that_reads_gets_the_end_at_once() {
    let mut server = server();
    let result = server
        .client
        .call("sandboxed_shell", &naughty("read-input"));
    assert_eq!(record(&result), json!(["completed", 0, null, 7, 1]));
}

/// Proves: O16.
#[test]
fn a_grandchild_that_holds_the_pipe_does_not_hold_the_call() {
    let mut server = server();
    let mark = unique_mark();
    let result = server.client.call(
        "sandboxed_shell",
        &naughty(&format!("hold-the-pipe 0 {mark}")),
    );
    assert_eq!(record(&result), json!(["completed", 0, null, 10, 1]));
    assert_eq!(marked(&mark), 0);
}

/// Proves: O16.
#[test]
fn daemons_end_with_their_call() {
    let mut server = server();
    let mark = unique_mark();
    let result = server
        .client
        .call("sandboxed_shell", &naughty(&format!("daemons 20 {mark}")));
    assert_eq!(record(&result), json!(["completed", 0, null, 10, 1]));
    assert_eq!(marked(&mark), 0);
}

/// Proves: O16.
#[test]
fn a_crash_keeps_what_was_written() {
    let mut server = server();
    let result = server
        .client
        .call("sandboxed_shell", &naughty("write-and-crash"));
    assert_eq!(record(&result), json!(["failed", null, 6, 7, 1]));
    assert!(result.text.starts_with("before\n"), "{}", result.text);
}

/// Proves: O16.
#[test]
fn a_child_that_closes_its_output_is_waited_for() {
    let mut server = server();
    let result = server
        .client
        .call("sandboxed_shell", &naughty("close-output"));
    assert_eq!(record(&result), json!(["failed", 7, null, 0, 0]));
}

#[test]
fn characters_that_come_byte_by_byte_are_put_together() {
    let mut server = server();
    let result = server.client.call("sandboxed_shell", &naughty("drip 100"));
    assert_eq!(record(&result), json!(["completed", 0, null, 200, 1]));
    assert!(result.text.starts_with(&"ä".repeat(100)), "{}", result.text);
}

/// Proves: O16.
#[test]
fn binary_rubbish_is_counted_and_shown_as_text() {
    let mut server = server();
    let result = server
        .client
        .call("sandboxed_shell", &naughty("rubbish 1048576"));
    assert_eq!(
        record(&result),
        json!(["completed", 0, null, 1_048_576, 4097])
    );
    // The bytes before them are an escape sequence.
    assert!(result.text.contains("123456789:;<=>?@ABC"));
    let id = &result.record["operation_id"];
    let mut offset = 0;
    while offset < 1_048_576 {
        let page = json!({ "operation_id": id, "offset": offset, "length": 32768 });
        let page = server.client.call("read_output", &page).text;
        let (_, place) = page.rsplit_once("\n[bytes ").unwrap();
        let words: Vec<&str> = place.split(' ').collect();
        assert_eq!((words[0], words[1]), (offset.to_string().as_str(), "to"));
        let end: u64 = words[2].parse().unwrap();
        assert!(end > offset, "{place}");
        offset = end;
    }
}

/// Proves: O17.
#[test]
fn a_flood_does_not_make_the_server_grow() {
    flood(
        "flood 300000000",
        300_000_000,
        18_750_000,
        Duration::from_secs(60),
    );
}

/// Proves: O17.
#[test]
fn one_endless_line_does_not_make_the_server_grow() {
    flood(
        "one-line 100000000",
        100_000_001,
        1,
        Duration::from_secs(60),
    );
}

/// Proves: O17.
#[test]
fn searching_a_large_output_does_not_make_the_server_grow() {
    // Some pieces are held at the same time, by several threads; how many does not depend on the size.
    const SEARCH_GROWTH_KB: u64 = 28 * 1024;
    for act in ["flood 60000000", "one-line 60000000"] {
        let mut server = server();
        let result = server.client.call("sandboxed_shell", &naughty(act));
        let before = memory_kb(server.client.pid(), "VmRSS:");
        let id = &result.record["operation_id"];
        let search = json!({ "operation_id": id, "pattern": "no such thing" });
        let found = server.client.call("read_output", &search);
        assert!(found.text.starts_with("[0 of "), "{act}: {}", found.text);
        let peak = memory_kb(server.client.pid(), "VmHWM:");
        let most = before + SEARCH_GROWTH_KB;
        assert!(peak < most, "{act}: {before} to {peak} kB");
    }
}

#[test]
fn a_million_empty_lines_are_counted() {
    flood(
        "short-lines 1000000",
        1_000_000,
        1_000_000,
        Duration::from_secs(60),
    );
}

/// Proves: O17.
#[test]
#[ignore = "writes gigabytes; .ci/soak runs it with an optimised server"]
fn two_gigabytes_do_not_make_the_server_grow() {
    flood(
        "flood 2000000000",
        2_000_000_000,
        125_000_000,
        Duration::from_secs(600),
    );
    flood(
        "one-line 500000000",
        500_000_001,
        1,
        Duration::from_secs(600),
    );
}

/// Proves: O16.
#[test]
fn a_fork_bomb_is_bounded_and_ended() {
    let mut server = server();
    let mark = unique_mark();
    let mut arguments = naughty(&format!("fork-bomb 0 {mark}"));
    arguments["timeout_seconds"] = json!(1);
    let result = server.client.call("sandboxed_shell", &arguments);
    assert_eq!(result.record["state"], "timed_out", "{result:?}");
    assert_eq!(marked(&mark), 0);
    let after = json!({ "command": "echo on", "execution_mode": "sync" });
    assert!(
        server
            .client
            .call("sandboxed_shell", &after)
            .text
            .starts_with("on\n")
    );
}

/// Proves: O16.
#[test]
fn processes_that_come_and_go_without_end_do_not_outlive_the_deadline() {
    let mut server = server();
    let mark = unique_mark();
    let mut arguments = naughty(&format!("orphan-storm 1500 {mark}"));
    arguments["timeout_seconds"] = json!(2);
    let result = server.client.call("sandboxed_shell", &arguments);
    assert_eq!(result.record["state"], "timed_out", "{result:?}");
    assert_eq!(marked(&mark), 0);
}

/// Proves: O16.
#[test]
fn five_hundred_stubborn_commands_end_with_the_server() {
    let mut server = server_with(&["--max-operations", "500"]);
    let mark = unique_mark();
    for _ in 0..500 {
        server.start(&format!("trap '' TERM; sleep {mark} & wait; sleep {mark}"));
    }
    // Shells may have the mark in their command lines too.
    let is_sleep = |line: &String| line.split_once(' ').unwrap().1.starts_with("sleep ");
    until(|| {
        processes_marked(&mark)
            .iter()
            .filter(|line| is_sleep(line))
            .count()
            == 500
    });
    server.client.close();
    assert!(server.client.wait().success());
    assert_eq!(marked(&mark), 0);
}

/// Proves: O17.
#[test]
fn many_calls_leave_the_server_as_small_as_few() {
    let mut server = server_with(&["--keep-operations", "50"]);
    let call = |server: &mut Served, count: usize| {
        for _ in 0..count {
            let result = server
                .client
                .call("sandboxed_shell", &naughty("flood 200000"));
            assert_eq!(result.record["output_bytes"], 200_000);
        }
    };
    // Who may not read the list of its open files can still read the size of the table they are in.
    let size =
        |server: &Served| ["VmRSS:", "FDSize:"].map(|name| memory_kb(server.client.pid(), name));
    call(&mut server, 60);
    let [memory, files] = size(&server);
    call(&mut server, 300);
    let [memory_after, files_after] = size(&server);
    assert!(
        memory_after < memory + 4096,
        "from {memory} to {memory_after} kB"
    );
    assert_eq!(files_after, files, "room for open files");
}

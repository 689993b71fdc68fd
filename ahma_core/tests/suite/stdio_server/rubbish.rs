//! Rubbish on stdin: refused with what is wrong with it; the server lives on and answers the right one.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::{Value, json};

use super::{AHMA_MCP, Served, memory_kb, unspoken_to};

/// Lines that are no messages, with the code they are refused with.
const REFUSED: [(&str, i64); 12] = [
    ("{", -32700),
    (
        "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"",
        -32700,
    ),
    ("hello", -32700),
    ("\u{1b}[31mred\u{1b}[0m", -32700),
    ("17", -32600),
    ("\"text\"", -32600),
    ("null", -32600),
    ("[]", -32600),
    (
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        -32600,
    ),
    ("{}", -32600),
    (
        "{\"jsonrpc\":\"1.0\",\"id\":[],\"method\":\"ping\"}",
        -32600,
    ),
    (
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        -32600,
    ),
];

/// Lines that nobody expects an answer to.
const PASSED_OVER: [&str; 8] = [
    "",
    " \t ",
    "\r",
    "{\"jsonrpc\":\"2.0\",\"method\":\"no/such/notification\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99999}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\"rubbish\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":4711,\"error\":{\"code\":-1,\"message\":\"no\"}}",
];

/// Proves: P18.
#[test]
fn what_is_no_message_is_refused_and_the_next_one_answered() {
    let mut served = Served::new();
    for (line, code) in REFUSED {
        served.client.send_line(line.as_bytes());
        let refusal = served.client.any_answer();
        assert_eq!(refusal["error"]["code"], code, "{line}: {refusal}");
        assert_eq!(refusal["id"], Value::Null, "{line}: {refusal}");
        assert!(refusal["error"]["message"].as_str().unwrap().len() > 10);
    }
    for line in PASSED_OVER {
        served.client.send_line(line.as_bytes());
        let answer = served.client.request("ping", &json!({}));
        assert!(answer["result"].is_object(), "{line}: {answer}");
    }
    served.client.send_line(b"\xff\xfe\x00 no text");
    assert_eq!(served.client.any_answer()["error"]["code"], -32700);
    assert!(served.sync("echo alive").text.starts_with("alive\n"));
}

/// Proves: P18.
#[test]
fn rubbish_before_the_first_request_does_not_end_the_server() {
    let project = Workspace::new();
    for line in REFUSED.map(|(line, _)| line).iter().chain(&PASSED_OVER) {
        let mut client = unspoken_to(&project);
        client.send_line(line.as_bytes());
        let initialize = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" }
        });
        let answer = client.request("initialize", &initialize);
        assert!(answer["result"].is_object(), "{line}: {answer}");
    }
}

/// Proves: P18.
#[test]
fn wrong_types_in_a_request_are_answered_to_that_request() {
    let mut served = Served::new();
    for (line, id, code) in [
        (
            "{\"jsonrpc\":\"2.0\",\"id\":70,\"method\":7}",
            json!(70),
            -32600,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":71,\"method\":\"tools/call\",\"params\":[]}",
            json!(71),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":7}}",
            json!("x"),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":72,\"method\":\"tools/call\",\"params\":{\"name\":\"status\",\"arguments\":7}}",
            json!(72),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":73,\"method\":\"no/such/method\",\"params\":{}}",
            json!(73),
            -32601,
        ),
        ("{\"id\":74,\"method\":\"ping\"}", json!(74), -32600),
    ] {
        served.client.send_line(line.as_bytes());
        let answer = served.client.any_answer();
        assert_eq!(answer["id"], id, "{line}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    }
    let answer = served.client.request("ping", &json!({}));
    assert!(answer["result"].is_object());
}

/// Proves: P18.
#[test]
fn a_line_that_is_too_long_is_refused_and_not_held() {
    let mut served = Served::new();
    let pid = served.client.pid();
    let before = memory_kb(pid, "VmRSS:");
    let mut line = vec![b' '; 300 * 1024 * 1024];
    line[0] = b'"';
    served.client.send_line(&line);
    let refusal = served.client.any_answer();
    // Its id was not read, and without one the protocol leaves the field out.
    let why =
        "a message may have at most 16 MiB; send less at once, and large contents in several calls";
    let expected = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": why } });
    assert_eq!(refusal, expected);
    assert!(served.sync("echo alive").text.starts_with("alive\n"));
    let grown = memory_kb(pid, "VmRSS:").saturating_sub(before);
    assert!(grown < 48 * 1024, "{grown} kB more than before");
    // The longest that is taken.
    let room = 16 * 1024 * 1024 - 200;
    let text = "x".repeat(room);
    let call = json!({ "command": "wc -c", "stdin": text, "execution_mode": "sync" });
    let result = served.client.call("sandboxed_shell", &call);
    assert!(result.text.starts_with(&room.to_string()), "{result:?}");
}

/// Proves: P18.
#[test]
fn deep_nesting_is_refused() {
    let mut served = Served::new();
    let deep = format!("{}1{}", "[".repeat(40_000), "]".repeat(40_000));
    served.client.send_line(deep.as_bytes());
    assert_eq!(served.client.any_answer()["error"]["code"], -32700);
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{}1{}}}",
        "{\"a\":".repeat(20_000),
        "}".repeat(20_000)
    );
    served.client.send_line(nested.as_bytes());
    assert_eq!(served.client.any_answer()["error"]["code"], -32700);
    assert!(served.sync("echo alive").text.starts_with("alive\n"));
}

/// Proves: P18.
#[test]
fn a_number_and_a_text_are_different_ids() {
    let mut served = Served::new();
    for id in ["901", "\"901\""] {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"sandboxed_shell\",\"arguments\":{{\"command\":\"echo {}\",\"execution_mode\":\"sync\"}}}}}}",
            id.len()
        );
        served.client.send_line(line.as_bytes());
    }
    let answers = [served.client.any_answer(), served.client.any_answer()];
    for (id, expected) in [(json!(901), "3\n"), (json!("901"), "5\n")] {
        let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(expected), "{answer}");
    }
}

/// Proves: P18.
#[test]
fn requests_with_the_same_id_each_get_their_answer() {
    let mut served = Served::new();
    let call = |script: &str| {
        json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {
                "name": "sandboxed_shell", "arguments": { "command": script, "execution_mode": "sync" }
            }
        })
        .to_string()
    };
    let waits = |number: u32| {
        call(&format!(
            "touch up{number}; while ! test -e go{number}; do sleep 0.02; done; echo {number}"
        ))
    };
    for number in [1, 2, 3] {
        served.client.send_line(waits(number).as_bytes());
        served.until_exists(&format!("up{number}"));
    }
    // In another order than they came.
    for number in [2, 3, 1] {
        served.project.write(&format!("go{number}"), "");
        let answer = served.client.any_answer();
        assert_eq!(answer["id"], 7, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{number}\n")), "{answer}");
    }
}

/// Proves: P18.
#[test]
fn an_id_that_was_cancelled_can_be_used_again_and_gets_the_new_answer() {
    let mut served = Served::new();
    let mark = unique_mark();
    let call = |script: &str| {
        json!({
            "jsonrpc": "2.0", "id": 8, "method": "tools/call",
            "params": {
                "name": "sandboxed_shell", "arguments": { "command": script, "execution_mode": "sync" }
            }
        })
        .to_string()
    };
    // It takes its time to end, so that its answer comes while the next request has the same id.
    let stubborn = format!("trap '' TERM; touch up; sleep {mark}; sleep {mark}");
    served.client.send_line(call(&stubborn).as_bytes());
    served.until_exists("up");
    let cancelled = json!({ "requestId": 8 });
    served.client.notify("notifications/cancelled", &cancelled);
    let waits = "while ! test -e go; do sleep 0.02; done; echo new";
    served.client.send_line(call(waits).as_bytes());
    until(|| marked(&mark) == 0);
    served.project.write("go", "");
    let answer = served.client.any_answer();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("new\n"), "{answer}");
}

/// Proves: P18.
#[test]
fn nothing_of_cancelled_requests_goes_to_others() {
    let mut served = Served::new();
    for _ in 0..20 {
        let list =
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{}}\n".repeat(60);
        served.client.send_line(list.trim_end().as_bytes());
        let cancelled = json!({ "requestId": 7 });
        served.client.notify("notifications/cancelled", &cancelled);
        let last = b"{\"jsonrpc\":\"2.0\",\"id\":30,\"method\":\"ping\"}";
        served.client.send_line(last);
        loop {
            let answer = served.client.any_answer();
            if answer["id"] == 30 {
                assert_eq!(answer["result"], json!({}), "{answer}");
                break;
            }
            assert_eq!(answer["id"], 7, "{answer}");
        }
    }
}

/// Proves: P18.
#[test]
fn a_request_that_does_not_say_who_asks_is_no_beginning() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    let refused = client.request("tools/list", &json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    client.notify("notifications/initialized", &json!({}));
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" }
    });
    let answer = client.request("initialize", &initialize);
    assert!(answer["result"].is_object(), "{answer}");
}

/// A client that asks and never reads is refused more, costs no more memory, and its end is seen.
///
/// Proves: P18, P23.
#[test]
fn answers_that_nobody_reads_are_bounded() {
    let project = Workspace::new();
    let cache = Workspace::new();
    let mut server = Command::new(AHMA_MCP)
        .current_dir(project.path())
        .env("XDG_CACHE_HOME", cache.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" }
        }
    });
    writeln!(input, "{initialize}").unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for _ in 0..20_000 {
        writeln!(input, "{list}").unwrap();
    }
    let peak = memory_kb(server.id(), "VmHWM:");
    assert!(peak < 200 * 1024, "{peak} kB");
    drop(input);
    let end = Instant::now() + Duration::from_secs(30);
    let status = loop {
        assert!(Instant::now() < end, "the end of the input was not seen");
        if let Some(status) = server.try_wait().unwrap() {
            break status;
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

//! The audit log.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ahma_tests::{Workspace, signal, until};
use serde_json::{Value, json};

use super::logs::file;
use super::{AHMA_MCP, Served};

fn records(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Proves: P20.
#[test]
fn every_operation_is_recorded_with_who_what_where_and_how_it_ended() {
    let project = Workspace::new();
    let tool = json!({
        "name": "say", "description": "Says.", "command": "echo",
        "positional_args": [{ "name": "text", "type": "string" }]
    });
    project.write(".ahma/tools/say.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let server = served.client.pid();
    let id = served.sync("echo secret output; exit 3").operation_id();
    let call = json!({ "text": "hello", "execution_mode": "sync" });
    served.client.call("say", &call);
    served.client.close();
    assert_eq!(served.client.wait().code(), Some(0));

    let log = file(served.client.cache(), "audit.jsonl");
    let records = records(&log);
    assert_eq!(records.len(), 4, "{records:?}");
    let begun = &records[0];
    assert_eq!(
        (&begun["event"], &begun["operation_id"]),
        (&json!("started"), &json!(id))
    );
    assert!(begun.get("state").is_none(), "{begun}");
    let first = &records[1];
    assert_eq!(first["event"], "ended");
    assert_eq!(first["server_pid"], server);
    assert_eq!(first["operation_id"], json!(id));
    assert_eq!(first["client"], "test 1");
    assert_eq!(first["tool"], "sandboxed_shell");
    assert_eq!(first["argv"][0][3], "echo secret output; exit 3");
    assert_eq!(first["state"], "failed");
    assert_eq!(first["exit_code"], 3);
    let scope = served.project.path().canonicalize().unwrap();
    assert_eq!(
        (&first["directory"], &first["scope"]),
        (&json!(scope), &json!(scope))
    );
    assert!(first["duration_ms"].is_u64());
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(records[3]["argv"], json!([["echo", "hello"]]));
}

/// Proves: P20.
#[test]
fn the_operator_decides_where_records_go() {
    let elsewhere = Workspace::new();
    let path = elsewhere.path().join("audit");
    let mut served = Served::with(&["--audit-log", path.to_str().unwrap()], &[]);
    served.sync("true");
    served.client.close();
    served.client.wait();
    assert_eq!(records(&path).len(), 2);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "nobody else reads it");

    let mut served = Served::with(&["--audit-log", "off"], &[]);
    served.sync("true");
    served.client.close();
    served.client.wait();
    let left = fs::read_dir(served.client.cache().join("ahma_mcp")).unwrap();
    let names: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    let is_audit = |name: &std::ffi::OsString| name.to_string_lossy().contains("audit");
    assert!(!names.iter().any(is_audit), "{names:?}");

    let refused = served.project.run(AHMA_MCP, &["--audit-log", "inside"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("commands could write to the audit log")
    );
    let refused = served
        .project
        .run(AHMA_MCP, &["--audit-log", "/no/such/directory/file"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("cannot be written"),
        "{}",
        refused.stderr
    );
}

/// Proves: P20.
#[test]
fn what_ran_when_the_server_was_killed_is_recorded() {
    let mut served = Served::new();
    let id = served.start("touch up; sleep 100");
    served.until_exists("up");
    let log = file(served.client.cache(), "audit.jsonl");
    // Records are written beside the work.
    until(|| fs::metadata(&log).unwrap().len() > 0);
    assert!(signal("KILL", served.client.pid()));
    served.client.wait();
    let records = records(&log);
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0]["operation_id"], json!(id));
    assert_eq!(records[0]["argv"][0][3], "touch up; sleep 100");
}

/// Proves: P20.
#[test]
fn nothing_hides_behind_the_length_of_a_script_or_in_its_input() {
    let mut served = Served::new();
    let script = |payload: &str| format!("# {}\n{payload}", "x".repeat(1100));
    for payload in ["echo one", "echo two"] {
        served.sync(&script(payload));
    }
    let input = json!({ "command": "cat", "stdin": "payload", "execution_mode": "sync" });
    served.client.call("sandboxed_shell", &input);
    served.client.close();
    served.client.wait();
    let records = records(&file(served.client.cache(), "audit.jsonl"));
    let word = |index: usize| records[index]["argv"][0][3].as_str().unwrap().to_owned();
    assert!(word(0).contains("1111 bytes, SHA-256 "), "{}", word(0));
    assert_ne!(word(0), word(2), "what is cut off makes a difference");
    let expected = "239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5";
    let read = json!([{ "bytes": 7, "sha256": expected }]);
    assert_eq!(records[4]["stdin"], read, "{:?}", records[4]);
    assert!(records[0].get("stdin").is_none());
}

/// Proves: P20, S53.
#[test]
fn the_owner_is_told_what_the_model_is_told() {
    let mut served = Served::new();
    let answer = served.sync("mkdir .vscode; echo '{}' > .vscode/tasks.json; echo done");
    let told = "while commands ran, .vscode has appeared";
    assert!(answer.text.contains(told), "{}", answer.text);
    let meta = answer.warnings.to_string();
    assert!(meta.contains(told), "{meta}");
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert!(
        info["sandbox"]["warnings"].to_string().contains(told),
        "{info}"
    );
    served.client.close();
    served.client.wait();
    let records = records(&file(served.client.cache(), "audit.jsonl"));
    let warning = records.iter().find(|it| it["event"] == "warning").unwrap();
    assert!(
        warning["warning"].as_str().unwrap().contains(told),
        "{warning}"
    );
    let ended = records.iter().find(|it| it["event"] == "ended").unwrap();
    assert!(ended["warnings"].to_string().contains(told), "{ended}");
    let log = fs::read_to_string(file(served.client.cache(), ".log")).unwrap();
    assert!(log.contains(told), "{log}");
    assert!(
        served.client.stderr().contains(told),
        "{}",
        served.client.stderr()
    );
}

/// Proves: P20.
#[test]
fn nobody_else_reads_the_logs_and_commands_keep_their_umask() {
    let mut served = Served::new();
    let outside = std::process::Command::new("sh")
        .args(["-c", "umask"])
        .output();
    let outside = String::from_utf8(outside.unwrap().stdout).unwrap();
    let inside = served.sync("umask; mkdir d; umask > f");
    assert!(
        inside.text.starts_with(&outside),
        "{} {outside}",
        inside.text
    );
    for name in [".log", "audit.jsonl"] {
        let path = file(served.client.cache(), name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path) & 0o077, 0, "{name}");
        assert_eq!(mode(path.parent().unwrap()) & 0o077, 0, "{name}");
    }
}

/// Proves: P20.
#[test]
fn nothing_hides_behind_the_number_of_words() {
    let project = Workspace::new();
    let tool = json!({
        "name": "say", "description": "Says.", "command": "true", "synchronous": true,
        "positional_args": [{ "name": "words", "type": "array", "items": { "type": "string" } }]
    });
    project.write(".ahma/tools/say.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let mut rest = Vec::new();
    for last in ["HIDDEN", "OTHER"] {
        let mut words = vec!["x"; 400];
        words.push(last);
        let done = served.client.call("say", &json!({ "words": words }));
        assert!(!done.is_error, "{}", done.text);
    }
    served.client.close();
    served.client.wait();
    let log = file(served.client.cache(), "audit.jsonl");
    for record in records(&log) {
        let words = record["argv"][0].as_array().unwrap().clone();
        let last = words.last().unwrap().as_str().unwrap().to_owned();
        assert!(last.starts_with("… 146 more words"), "{last}");
        rest.push(last);
    }
    assert_eq!(rest.len(), 4);
    assert_ne!(rest[0], rest[2], "what was left out is told by its hash");
}

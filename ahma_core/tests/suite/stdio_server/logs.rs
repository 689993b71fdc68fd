//! The log.

use std::fs;
use std::path::{Path, PathBuf};

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, signal};
use serde_json::json;

use super::{AHMA_MCP, Served};

/// The one file in the server's cache whose name ends so.
pub(super) fn file(cache: &Path, completion: &str) -> PathBuf {
    let entries = fs::read_dir(cache.join("ahma_mcp")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut fitting: Vec<PathBuf> = paths
        .filter(|path| path.to_str().unwrap().ends_with(completion))
        .collect();
    assert_eq!(fitting.len(), 1, "{fitting:?}");
    fitting.remove(0)
}

/// Proves: P11.
#[test]
fn what_fails_is_logged_and_what_succeeds_is_not() {
    let mut served = Served::new();
    let failed = served.sync("exit 3").operation_id();
    let succeeded = served.sync("true").operation_id();
    let info = served.client.call("get_server_info", &json!({})).structured;
    let running = served.start("touch up; sleep 60");
    served.until_exists("up");
    assert!(signal("KILL", &info["sandbox"]["hosts"][0]));
    served
        .client
        .call("await", &json!({ "operation_id": running }));
    served.client.close();
    served.client.wait();
    let text = fs::read_to_string(file(served.client.cache(), ".log")).unwrap();
    let level = |id: &str| {
        let line = text.lines().find(|line| line.contains(id));
        line.and_then(|line| line.split_whitespace().nth(3).map(str::to_owned))
    };
    assert_eq!(level(&failed).as_deref(), Some("WARN"), "{text}");
    assert_eq!(level(&running).as_deref(), Some("ERROR"), "{text}");
    assert_eq!(level(&succeeded), None, "{text}");
}

/// Proves: S65.
#[test]
fn every_line_names_its_server_and_refused_calls_are_warnings() {
    let mut served = Served::new();
    let outside = json!({ "command": "true", "working_directory": "/etc" });
    assert!(served.client.call("sandboxed_shell", &outside).is_error);
    let late = json!({ "command": "sleep 60", "execution_mode": "sync", "timeout_seconds": 1 });
    assert!(served.client.call("sandboxed_shell", &late).is_error);
    let pid = served.client.pid();
    served.client.close();
    served.client.wait();
    let text = fs::read_to_string(file(served.client.cache(), ".log")).unwrap();
    let stamp = format!(" {pid} {} ", served.project.path().display());
    assert!(text.lines().all(|line| line.contains(&stamp)), "{text}");
    for part in ["is outside the sandbox scope", "timed_out"] {
        let line = text
            .lines()
            .find(|line| line.contains(part))
            .unwrap_or(&text);
        assert!(line.contains(" WARN "), "{part}: {line}");
    }
}

/// Proves: P4, P5.
#[test]
fn the_log_is_a_file_without_colours_and_names_rejected_files() {
    let project = Workspace::new();
    project.write(".ahma/tools/broken.json", "{ \"name\": 7 }");
    let mut served = Served::of(project, &[]);
    served.sync("echo not in the log");
    served.client.close();
    served.client.wait();
    let text = fs::read_to_string(file(served.client.cache(), ".log")).unwrap();
    assert!(text.contains("rejected: "), "{text}");
    assert!(text.contains("broken.json:1:"), "{text}");
    assert!(text.contains("mode=\"stdio\""), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(!text.contains("not in the log"), "{text}");
}

/// Proves: P4, P5, P7.
#[test]
fn the_log_goes_to_stderr_when_asked_or_when_no_file_can_be_written() {
    let workspace = Workspace::new();
    let (cache, private) = (Workspace::new(), Workspace::new());
    let serve = |arguments: &[&str], cache: &Path, variables: &[(&str, &str)]| {
        let mut environment = vec![
            ("XDG_CACHE_HOME", cache.to_str().unwrap()),
            ("TMPDIR", private.path().to_str().unwrap()),
        ];
        environment.extend(variables);
        let finished = workspace.run_with(AHMA_MCP, arguments, &environment);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert_eq!(finished.stdout, "");
        finished.stderr
    };
    let logged = serve(&["--log-to-stderr"], cache.path(), &[]);
    assert!(logged.contains("mode=\"stdio\""), "{logged}");
    assert!(!logged.contains("DEBUG"), "{logged}");
    assert!(!logged.contains('\u{1b}'), "NO_COLOR is set: {logged}");
    let plain = serve(&["--log-to-stderr"], cache.path(), &[("NO_COLOR", "")]);
    assert!(!plain.contains('\u{1b}'), "not a terminal: {plain}");
    let debug = serve(&["--log-to-stderr", "--debug"], cache.path(), &[]);
    assert!(debug.contains("DEBUG"), "{debug}");
    let variable = [("RUST_LOG", "error")];
    assert_eq!(serve(&["--log-to-stderr"], cache.path(), &variable), "");
    assert_eq!(serve(&[], cache.path(), &[]), "", "usually nothing");

    let file = cache.write("file", "");
    let warned = serve(&[], &file, &[]);
    assert!(warned.contains("there is no log file in"), "{warned}");
    assert!(warned.contains("mode=\"stdio\""), "{warned}");
}

#[test]
fn a_log_that_cannot_be_written_is_told_by_the_server_itself() {
    let cache = Workspace::new();
    let file = cache.write("file", "");
    let variables = [("XDG_CACHE_HOME", file.to_str().unwrap())];
    let mut served = Served::with(&[], &variables);
    let info = served.client.call("get_server_info", &json!({})).structured;
    let warnings = info["sandbox"]["warnings"].to_string();
    assert!(warnings.contains("there is no log file in"), "{warnings}");
    assert!(warnings.contains("there is no audit log in"), "{warnings}");
}

/// Proves: P23.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let project = Workspace::new();
    let arguments = ["--log-to-stderr", "--log-level", "trace"];
    let mut client = McpProcess::start_unread(AHMA_MCP, &arguments, project.path());
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" }
    });
    client.request("initialize", &initialize);
    for _ in 0..300 {
        let answer = client.request("tools/list", &json!({}));
        assert!(answer["result"].is_object());
    }
    client.close();
    assert_eq!(client.wait().code(), Some(0));
}

#[test]
fn why_the_server_did_not_start_is_on_stderr_and_in_the_log() {
    let (project, cache) = (Workspace::new(), Workspace::new());
    let arguments = ["--audit-log", "/no/such/directory/file"];
    let variables = [("XDG_CACHE_HOME", cache.path().to_str().unwrap())];
    let refused = project.run_with(AHMA_MCP, &arguments, &variables);
    let logged = fs::read_to_string(file(cache.path(), ".log")).unwrap();
    for text in [refused.stderr, logged] {
        assert!(
            text.contains("/no/such/directory/file cannot be written"),
            "{text}"
        );
    }
}

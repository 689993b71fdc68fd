//! What the log says of requests, and what it never says.

use std::fs;
use std::path::Path;

use ahma_tests::http::Request;
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, until};
use serde_json::json;

use super::{AHMA_MCP, Served};

fn log(home: &Path) -> String {
    let entries = fs::read_dir(home.join("cache/ahma_mcp")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.extension().is_some_and(|it| it == "log"));
    fs::read_to_string(path.unwrap()).unwrap()
}

/// Proves: P11.
#[test]
fn every_line_of_a_request_carries_the_id_that_its_answer_names() {
    let project = Workspace::new();
    let mut process =
        HttpProcess::start_with(AHMA_MCP, &[], project.path(), &[("RUST_LOG", "debug")]);
    let client = process.connect();
    let arguments = json!({ "command": "exit 3", "execution_mode": "sync" });
    let reply = client
        .calling("sandboxed_shell", &arguments)
        .send(client.address);
    let id = reply.header("x-request-id").unwrap().to_owned();
    process.terminate();
    process.wait();
    let text = log(process.home());
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains(&format!("id=\"{id}\"")))
        .collect();
    assert!(
        lines.iter().any(|line| line.contains("status=200")),
        "{text}"
    );
    assert!(
        lines.iter().any(|line| line.contains("sandboxed_shell")),
        "{lines:#?}"
    );
}

/// Proves: I6.
#[test]
fn the_token_is_in_no_log_and_in_no_answer() {
    let project = Workspace::new();
    let mut process = HttpProcess::start_with(
        AHMA_MCP,
        &["--debug"],
        project.path(),
        &[("RUST_LOG", "trace")],
    );
    let token = process.token.clone().unwrap();
    let mut answers = String::new();
    for target in ["/tools", "/mcp", "/nothing", "/health"] {
        let wrong = format!("{target}?key={token}x");
        answers += &Request::new("GET", &wrong).send(process.address).body;
        let right = format!("{target}?key={token}");
        answers += &Request::new("POST", &right)
            .json("{")
            .send(process.address)
            .body;
        let header = format!("Bearer {token}");
        let request = Request::new("GET", target).header("authorization", &header);
        answers += &request.send(process.address).body;
    }
    process.connect().sync("echo hi");
    process.terminate();
    process.wait();
    let logged = log(process.home());
    assert!(logged.contains("status=401"), "{logged}");
    assert!(!logged.contains(&token));
    assert!(!answers.contains(&token), "{answers}");
}

/// Proves: H11.
#[test]
fn strangers_cannot_fill_the_log() {
    let mut served = Served::with(&["--rate-limit", "0"]);
    let path = format!("/{}", "x".repeat(20_000));
    for _ in 0..300 {
        let foreign = Request::new("GET", &path).header("origin", "https://evil.example");
        assert_eq!(foreign.send(served.process.address).status, 403);
        assert_eq!(
            Request::new("GET", "/tools")
                .send(served.process.address)
                .status,
            401
        );
    }
    served.process.terminate();
    served.process.wait();
    let logged = log(served.process.home());
    assert!(logged.contains("status=403"), "{logged}");
    assert!(logged.len() < 20_000, "{}", logged.len());
}

/// Proves: H5.
#[test]
fn messages_are_echoed_when_that_is_asked_for() {
    let mut served = Served::with(&["--debug", "--log-to-stderr"]);
    let client = served.connect();
    client.sync("echo shown");
    client.call(
        "sandboxed_shell",
        &json!({ "command": "true", "working_directory": "missing" }),
    );
    until(|| served.process.stderr().contains("`missing` cannot be used"));
    let said = served.process.stderr();
    assert!(
        said.contains("→ STDIN:\n{\n  \"jsonrpc\": \"2.0\",\n"),
        "{said}"
    );
    assert!(
        said.contains("← STDOUT:\n{\n  \"jsonrpc\": \"2.0\",\n"),
        "{said}"
    );
    assert!(said.contains("        \"text\": \"shown\\n"), "{said}");
}

/// Proves: H5.
#[test]
fn messages_are_not_echoed_otherwise() {
    for arguments in [&["--log-to-stderr"][..], &["--debug"]] {
        let mut served = Served::with(arguments);
        served.connect().sync("echo shown");
        served.process.terminate();
        served.process.wait();
        let said = served.process.stderr();
        assert!(!said.contains("STDIN:"), "{said}");
    }
}

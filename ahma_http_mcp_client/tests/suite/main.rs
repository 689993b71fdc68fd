//! Connecting to real server processes.

#![expect(clippy::panic, reason = "tests fail by panicking")]

mod auth;
mod conversations;

use std::time::Duration;

use ahma_http_mcp_client::{CommandEntry, ConnectError, Connection, ServerEntry};

const TIMEOUT: Duration = Duration::from_secs(30);

fn entry(command: &str, args: &[&str]) -> ServerEntry {
    ServerEntry::Command(CommandEntry {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: Default::default(),
        cwd: None,
    })
}

async fn refused(entry: &ServerEntry, timeout: Duration) -> ConnectError {
    match Connection::open(entry, timeout).await {
        Ok(_) => panic!("{entry:?} answered"),
        Err(error) => error,
    }
}

/// A server in a few lines of shell, of the older kind: one page of tools, then another.
const TWO_PAGES: &str = r#"
read -r line
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}'
read -r line
echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
read -r line
read -r line
echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"one","inputSchema":{"type":"object"}}],"nextCursor":"x"}}'
read -r line
echo '{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"two","inputSchema":{"type":"object"}}]}}'
read -r line
"#;

#[tokio::test]
async fn every_page_of_tools_is_asked_for() {
    let server = entry("sh", &["-c", TWO_PAGES]);
    let connection = Connection::open(&server, TIMEOUT).await.unwrap();
    let tools = connection.tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["one", "two"]);
    connection.close().await;
}

#[tokio::test]
async fn a_program_that_is_missing_is_named() {
    let error = refused(&entry("no-such-program-here", &[]), TIMEOUT).await;
    assert!(matches!(error, ConnectError::Start { .. }), "{error}");
    assert!(error.to_string().contains("no-such-program-here"));
    assert!(error.hint().contains("installed"));
}

#[tokio::test]
async fn a_server_that_ends_is_quoted() {
    let error = refused(
        &entry("sh", &["-c", "echo what happened >&2; exit 3"]),
        TIMEOUT,
    )
    .await;
    assert!(matches!(error, ConnectError::Protocol { .. }), "{error}");
    assert!(
        error.to_string().contains("it said:\nwhat happened"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_is_silent_is_given_up() {
    let silent = entry("sh", &["-c", "echo thinking >&2; exec sleep 60"]);
    let error = refused(&silent, Duration::from_millis(500)).await;
    assert!(matches!(error, ConnectError::Silent { .. }), "{error}");
    assert!(error.to_string().contains("thinking"), "{error}");
}

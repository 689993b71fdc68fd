//! Who may call: whoever has the token, and no command of the server's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ahma_tests::http::{Request, initialize};
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, until};

use super::{AHMA_MCP, Served, state};

/// A script that calls a server as any program on the machine can, and prints the status line.
fn calling(port: u16, path: &str, header: &str) -> String {
    let body = initialize("2025-06-18").to_string();
    let length = body.len();
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}\n\
         printf 'POST {path} HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\n{header}content-type: application/json\\r\\ncontent-length: {length}\\r\\n\\r\\n%s' '{body}' >&3\n\
         head -n 1 <&3"
    )
}

/// Proves: I6.
#[test]
fn a_confined_command_with_network_cannot_use_the_server_it_runs_under() {
    let served = Served::new();
    let client = served.connect();
    let port = served.process.address.port();
    let refused = client.sync(&calling(port, "/mcp", ""));
    assert!(refused.text.starts_with("HTTP/1.1 401 "), "{refused:?}");
    let file = state(served.project.path())["token_file"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = served.process.token.clone().unwrap();
    let search = format!(
        "cat {file}; cat .ahma/.mcp_server_state.json; env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; \
         grep -r . \"$HOME\" \"$TMPDIR\" .ahma 2>/dev/null; true"
    );
    let found = client.sync(&search);
    assert!(
        found.text.contains("\"token_file\""),
        "it can look: {found:?}"
    );
    assert!(!found.text.contains(&token), "{found:?}");
    let with_it = calling(port, &format!("/mcp?key={token}"), "");
    let taken = client.sync(&with_it);
    assert!(
        taken.text.starts_with("HTTP/1.1 200 "),
        "only the token was missing: {taken:?}"
    );
}

/// Proves: I6.
#[test]
fn without_a_token_every_program_can_call_and_the_start_says_so() {
    let mut served = Served::with(&["--http-token", "off"]);
    assert_eq!(served.process.token, None);
    let port = served.process.address.port();
    let taken = served.connect().sync(&calling(port, "/mcp", ""));
    assert!(taken.text.starts_with("HTTP/1.1 200 "), "{taken:?}");
    until(|| {
        served
            .process
            .stderr()
            .contains("the token is switched off")
    });
    assert!(state(served.project.path())["token_file"].is_null());
}

/// Proves: I6.
#[test]
fn a_token_per_project_is_made_once_and_read_by_nobody_else() {
    let mut first = Served::new();
    let file = state(first.project.path())["token_file"]
        .as_str()
        .unwrap()
        .to_owned();
    let file = Path::new(&file);
    assert!(file.starts_with(first.process.home()), "{file:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    let token = first.process.token.clone().unwrap();
    assert_eq!(token.len(), 64);
    first.process.terminate();
    first.process.wait();
    let home = first.process.home().join("state");
    let environment = [("XDG_STATE_HOME", home.to_str().unwrap())];
    let again = HttpProcess::start_with(AHMA_MCP, &[], first.project.path(), &environment);
    assert_eq!(again.token.as_ref(), Some(&token), "entries stay valid");
    let other = Workspace::new();
    let other = HttpProcess::start_with(AHMA_MCP, &[], other.path(), &environment);
    assert_ne!(
        other.token.as_ref(),
        Some(&token),
        "it opens one project only"
    );
    let tools = Request::new("GET", &format!("/tools?key={token}"));
    assert_eq!(tools.send(again.address).status, 200);
    assert_eq!(tools.send(other.address).status, 401);
}

/// Proves: I6.
#[test]
fn a_token_of_the_variable_is_used_and_reaches_no_command() {
    let token = "chosen-by-the-operator";
    let project = Workspace::new();
    let process =
        HttpProcess::start_with(AHMA_MCP, &[], project.path(), &[("AHMA_HTTP_TOKEN", token)]);
    assert_eq!(process.token.as_deref(), Some(token));
    let environment = process
        .connect()
        .sync("env; cat /proc/*/environ | tr '\\0' '\\n'; true");
    assert!(environment.text.contains("PATH="), "{environment:?}");
    assert!(!environment.text.contains(token), "{environment:?}");
    assert!(state(project.path())["token_file"].is_null());
}

/// Proves: I6.
#[test]
fn a_token_that_commands_could_read_is_refused() {
    let project = Workspace::new();
    let inside = project.path().join("state");
    let environment = [("XDG_STATE_HOME", inside.to_str().unwrap())];
    let refused = project.run_with(AHMA_MCP, &["--mode", "http"], &environment);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("commands could read the token"),
        "{}",
        refused.stderr
    );
    let refused = project.run(AHMA_MCP, &["--mode", "http", "--http-token", "short"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("16 to 512 characters"),
        "{}",
        refused.stderr
    );
}

/// Proves: I6.
#[test]
fn without_network_a_command_does_not_even_reach_the_server() {
    let served = Served::with(&["--network", "off", "--http-token", "off"]);
    let port = served.process.address.port();
    let refused = served.connect().sync(&calling(port, "/mcp", ""));
    assert!(!refused.text.contains("HTTP/1.1"), "{refused:?}");
    let reached = Request::new("GET", "/health").send(served.process.address);
    assert_eq!(reached.status, 200, "others do");
}

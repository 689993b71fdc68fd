//! Other MCP servers that have a process for each session.

use std::path::{Path, PathBuf};

use ahma_tests::http::Client;
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::{Value, json};

use super::AHMA_MCP;

/// A server of ours, with one behind it that knows its processes apart.
struct Behind {
    process: HttpProcess,
    _project: Workspace,
    place: Workspace,
    /// What the command lines of the server behind hold.
    mark: String,
}

fn script() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/upstream/server.py");
    script.canonicalize().unwrap()
}

impl Behind {
    /// The server behind is of this type, and has this option.
    fn new(kind: &str, option: &str, per_session: bool) -> Self {
        let (project, place, mark) = (Workspace::new(), Workspace::new(), unique_mark());
        // Every process has another value, which it keeps.
        let line = format!(
            "export OWN=$(cat /proc/sys/kernel/random/uuid); exec python3 {} {option} --mark={mark} --log={}",
            script().display(),
            place.path().join("log").display(),
        );
        let mut server = json!({ "type": kind, "command": "sh", "args": ["-c", line] });
        server["per_session"] = json!(per_session);
        place.write(
            "mcp.json",
            json!({ "servers": { "up": server } }).to_string(),
        );
        let config = place.path().join("mcp.json");
        let process = HttpProcess::start(
            AHMA_MCP,
            &[
                "--sandbox-scope",
                project.path().to_str().unwrap(),
                "--mcp-config",
                config.to_str().unwrap(),
                "--rate-limit",
                "0",
            ],
            project.path(),
        );
        // Something is known of it from now on.
        process.stateless().request("tools/list", &json!({}));
        Behind {
            process,
            _project: project,
            place,
            mark,
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("log")).unwrap_or_default()
    }
}

/// What only one process knows.
fn own(client: &Client) -> String {
    let said = client.call("up_env", &json!({ "name": "OWN" }));
    assert!(!said.is_error, "{said:?}");
    said.text
}

/// What is told of the server.
fn told(client: &Client) -> Value {
    let info = client.call("get_server_info", &json!({})).structured;
    info["downstream"][0].clone()
}

/// Proves: C32.
#[test]
fn each_session_has_a_process_of_its_own_that_ends_with_it() {
    for (kind, option) in [("stdio", ""), ("managed_http", "--http=${PORT}")] {
        let behind = Behind::new(kind, option, true);
        let [first, second] = [behind.process.connect(), behind.process.connect()];
        let [of_first, of_second] = [own(&first), own(&second)];
        assert_ne!(of_first, of_second, "{kind}");
        assert_eq!(own(&first), of_first, "it is the same all along");
        // Requests without a session share one, as does what learns what the server offers.
        let shared = own(&behind.process.stateless());
        assert_eq!(own(&behind.process.stateless()), shared);
        assert!(![&of_first, &of_second].contains(&&shared));
        assert_eq!(marked(&behind.mark), 3, "{kind}");
        assert_eq!(told(&first)["sessions"], 2);
        // A death is the session's own, as is the process that takes its place.
        assert!(second.call("up_die", &json!({})).is_error);
        let again = own(&second);
        assert_ne!(again, of_second);
        assert_eq!(own(&first), of_first);
        assert_eq!(first.delete().status, 204);
        until(|| marked(&behind.mark) == 2);
        assert_eq!(own(&second), again, "others do not notice");
        let third = behind.process.connect();
        assert_ne!(own(&third), of_first, "nothing of it is left");
        assert_eq!(told(&third)["sessions"], 2);
        let starts = behind.log().lines().filter(|it| *it == "start").count();
        assert_eq!(starts, 5, "{kind}: the shared one, four of sessions");
        behind.process.terminate();
        until(|| marked(&behind.mark) == 0);
    }
}

/// Proves: C32.
#[test]
fn sessions_share_a_process_where_nothing_else_is_said() {
    let behind = Behind::new("stdio", "", false);
    let [first, second] = [behind.process.connect(), behind.process.connect()];
    let shared = own(&first);
    assert_eq!(own(&second), shared);
    assert_eq!(told(&first)["sessions"], Value::Null);
    assert_eq!(first.delete().status, 204);
    assert_eq!(own(&second), shared, "it is not the session's");
}

/// Proves: C32.
#[test]
fn a_session_for_which_there_is_no_process_is_told_what_to_do() {
    let behind = Behind::new("stdio", "", true);
    let mut sessions: Vec<Client> = (0..20).map(|_| behind.process.connect()).collect();
    let of_each: Vec<String> = sessions.iter().map(own).collect();
    let late = behind.process.connect();
    let refused = late.call("up_echo", &json!({ "text": "x" }));
    assert!(refused.is_error, "{refused:?}");
    for part in ["20 sessions use it already", "`per_session`", "`up`"] {
        assert!(refused.text.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(marked(&behind.mark), 21, "and the shared one");
    let still: Vec<String> = sessions.iter().map(own).collect();
    assert_eq!(still, of_each, "nobody else is affected");
    own(&behind.process.stateless());
    // As soon as there is room, and without a pause for a failure.
    assert_eq!(sessions.remove(0).delete().status, 204);
    until(|| marked(&behind.mark) == 20);
    until(|| !late.call("up_echo", &json!({ "text": "x" })).is_error);
    assert_eq!(told(&late)["sessions"], 20);
}

/// Proves: C17, C32.
#[test]
fn what_is_approved_counts_for_the_processes_of_all_sessions() {
    let described = Workspace::new();
    let file = described.write("text", "first");
    // The description is another one for processes that start later.
    let option = format!("--describe=$(cat {})", file.display());
    let behind = Behind::new("stdio", &option, true);
    described.write("text", "second");
    let [first, second] = [behind.process.connect(), behind.process.connect()];
    let echo = |client: &Client| client.call("up_echo", &json!({ "text": "x" }));
    for client in [&first, &second] {
        let held = echo(client);
        assert!(held.text.contains("description changed"), "{held:?}");
        assert_eq!(told(client)["held"], json!({ "echo": "description" }));
    }
    // The one for all is as it was approved.
    assert_eq!(echo(&behind.process.stateless()).text, "x");
    let state = behind.process.home().join("state");
    let config = behind.place.path().join("mcp.json");
    let approved = described.run_with(
        AHMA_MCP,
        &[
            "--mcp-config",
            config.to_str().unwrap(),
            "downstream",
            "approve",
            "up",
        ],
        &[("XDG_STATE_HOME", state.to_str().unwrap())],
    );
    assert_eq!(approved.code, 0, "{approved:?}");
    for client in [&first, &second] {
        assert_eq!(echo(client).text, "x");
    }
    assert_eq!(told(&first)["held"], json!({}));
}

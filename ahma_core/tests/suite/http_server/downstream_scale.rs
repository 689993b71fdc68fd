//! Many sessions that share the processes of other MCP servers.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ahma_tests::http::Client;
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, processes_marked, repository, unique_mark, until};
use serde_json::{Map, Value, json};

use super::AHMA_MCP;

const SESSIONS: usize = 100;
const SERVERS: usize = 5;

/// A server of ours with five others behind it.
struct Shared {
    process: HttpProcess,
    mark: String,
    log: PathBuf,
    _places: [Workspace; 2],
}

impl Shared {
    fn start(idle_minutes: u32) -> Self {
        let (project, place) = (Workspace::new(), Workspace::new());
        let script = repository().join("tests/fixtures/upstream/server.py");
        let (mark, log) = (unique_mark(), place.path().join("log"));
        let options = [format!("--mark={mark}"), format!("--log={}", log.display())];
        let [mark_option, log_option] = &options;
        let args = json!([script, mark_option, log_option]);
        let server = json!({ "command": "python3", "args": args, "idle_minutes": idle_minutes });
        let names = (0..SERVERS).map(|number| format!("s{number}"));
        let servers: Map<String, Value> = names.map(|name| (name, server.clone())).collect();
        let config = place.write("mcp.json", json!({ "servers": servers }).to_string());
        let scope = project.path().to_str().unwrap();
        let config = config.to_str().unwrap();
        let arguments = ["--sandbox-scope", scope, "--mcp-config", config];
        let process = HttpProcess::start(AHMA_MCP, &arguments, project.path());
        Shared {
            process,
            mark,
            log,
            _places: [project, place],
        }
    }

    fn starts(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap();
        log.lines().filter(|it| *it == "start").count()
    }

    /// Processes of the others that run now.
    fn running(&self) -> usize {
        let found = processes_marked(&self.mark);
        found.iter().filter(|it| it.contains("server.py")).count()
    }

    /// Sessions that have all called every server.
    fn use_all(&self) -> Vec<Client> {
        let sessions: Vec<Client> = (0..SESSIONS).map(|_| self.process.connect()).collect();
        thread::scope(|scope| {
            for (number, session) in sessions.iter().enumerate() {
                scope.spawn(move || {
                    for server in 0..SERVERS {
                        let text = format!("{number} to {server}");
                        let tool = format!("s{server}_echo");
                        let said = session.call(&tool, &json!({ "text": text }));
                        assert_eq!(said.text, text);
                    }
                });
            }
        });
        sessions
    }
}

/// Proves: C22, C44.
#[test]
fn a_hundred_sessions_share_one_process_of_each_server_and_none_outlives_ours() {
    let mut shared = Shared::start(15);
    let sessions = shared.use_all();
    assert_eq!(sessions.len(), SESSIONS);
    assert_eq!((shared.starts(), shared.running()), (SERVERS, SERVERS));
    shared.process.signal("KILL");
    shared.process.wait();
    until(|| shared.running() == 0);
}

/// Proves: C16, C44.
#[test]
#[ignore = "takes more than a minute; CI runs it"]
fn servers_that_nobody_uses_are_stopped_and_started_one_by_one() {
    let shared = Shared::start(1);
    let sessions = shared.use_all();
    assert_eq!(shared.running(), SERVERS);
    let since = Instant::now();
    while shared.running() > 0 {
        // A guard.
        assert!(since.elapsed() < Duration::from_secs(120), "they run");
        thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(
        sessions[99].call("s3_echo", &json!({ "text": "x" })).text,
        "x"
    );
    assert_eq!((shared.starts(), shared.running()), (SERVERS + 1, 1));
}

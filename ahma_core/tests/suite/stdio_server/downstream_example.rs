//! The example of a server that is run behind this one, as its own `mcp.json` says.

use std::net::TcpListener;
use std::path::PathBuf;

use ahma_tests::http::Request;
use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, repository};
use serde_json::json;

use super::AHMA_MCP;

fn example() -> PathBuf {
    repository().join("examples/echo_server")
}

/// Proves: C5, C33, C34.
/// Scenario: 002/2.4, 002/4.1, 002/4.2, 002/4.3, 002/6.6, 002/6.7, 002/8.1, 002/8.2.
/// Scenario: 002/8.4, 002/9.1, 002/9.2, 002/10.1, 002/10.2, 002/10.3, 002/10.4, 002/10.5.
#[test]
fn the_example_runs_behind_this_server_on_a_port_that_nobody_has() {
    // Whoever else has a port among the first keeps it.
    let held: Vec<TcpListener> = (50_000..50_006)
        .filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok())
        .collect();
    let (project, state) = (Workspace::new(), Workspace::new());
    let config = example().join("mcp.json");
    let scope = project.path().to_str().unwrap();
    let arguments = ["--sandbox-scope", scope, "--mcp-config"];
    let arguments = [&arguments[..], &[config.to_str().unwrap()]].concat();
    let variables = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let mut client = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &variables);
    let text = json!({ "text": "hello" });
    assert_eq!(client.call("echo_echo", &text).text, "hello");
    assert_eq!(client.call("echo_reverse", &text).text, "olleh");
    let wrong = client.call("echo_echo", &json!({ "text": 7 }));
    assert!(wrong.is_error, "{wrong:?}");
    let info = client.call("get_server_info", &json!({})).structured;
    let told = &info["downstream"][0];
    let port = u16::try_from(told["port"].as_u64().unwrap()).unwrap();
    let ports = held.iter().map(|it| it.local_addr().unwrap().port());
    assert!((50_000..=51_000).contains(&port), "{told}");
    assert!(!ports.collect::<Vec<_>>().contains(&port), "{told}");
    let url = format!("http://127.0.0.1:{port}/mcp");
    assert_eq!(told["url"], url);
    let expected = json!({ "echo": { "type": "http", "url": url } });
    assert_eq!(info["server_configs"], expected);
    // Whoever takes that over is answered there; a page of somebody else is not.
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let asked = |origin: &str| {
        let request = Request::message(&list);
        request
            .header("origin", origin)
            .send(([127, 0, 0, 1], port).into())
    };
    let listed = asked("http://localhost:3000").answer();
    let names = |index: usize| listed["result"]["tools"][index]["name"].clone();
    assert_eq!([names(0), names(1)], ["echo", "reverse"]);
    assert_eq!(asked("https://elsewhere.example").status, 403);
}

/// Proves: C34.
#[test]
fn the_example_says_by_its_exit_code_that_its_port_is_taken() {
    let place = Workspace::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let script = example().join("server.py");
    let script = script.to_str().unwrap();
    let finished = place.run("python3", &[script, "--port", &port]);
    assert_eq!(finished.code, 2, "{finished:?}");
    assert_eq!(finished.stderr, format!("port {port} is taken\n"));
    let finished = place.run("python3", &[script]);
    assert_eq!(finished.code, 1, "another mistake: {finished:?}");
}

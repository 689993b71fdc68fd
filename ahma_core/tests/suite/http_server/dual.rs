//! `--mode dual`: an IDE on stdio, sub-agents over HTTP, one server.

use std::net::SocketAddr;
use std::thread;

use ahma_tests::http::Client;
use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, marked, repository, unique_mark, until};
use serde_json::json;

use super::{AHMA_MCP, STATE, state};

/// A server, and how it is reached.
struct Dual {
    ide: McpProcess,
    address: SocketAddr,
    token: String,
    project: Workspace,
    home: Workspace,
}

impl Dual {
    fn start(arguments: &[&str]) -> Self {
        Self::of(Workspace::new(), arguments)
    }

    fn of(project: Workspace, arguments: &[&str]) -> Self {
        let home = Workspace::new();
        let arguments = [&["--mode", "dual"], arguments].concat();
        let environment = [
            ("XDG_STATE_HOME", home.path().to_str().unwrap()),
            ("TMPDIR", home.path().to_str().unwrap()),
        ];
        let ide = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &environment);
        until(|| project.path().join(STATE).exists());
        let told = state(project.path());
        assert_eq!(told["transport"], "dual");
        let address = format!("{}:{}", told["host"].as_str().unwrap(), told["port"]);
        let token = std::fs::read_to_string(told["token_file"].as_str().unwrap()).unwrap();
        Dual {
            ide,
            address: address.parse().unwrap(),
            token: token.trim().to_owned(),
            project,
            home,
        }
    }

    fn sub_agent(&self) -> Client {
        Client::connect(self.address, Some(&self.token))
    }
}

/// Proves: D1.
#[test]
fn an_operation_of_the_ide_can_be_awaited_by_a_sub_agent_and_the_other_way_round() {
    let mut dual = Dual::start(&[]);
    let agent = dual.sub_agent();
    let of_ide = dual.ide.call(
        "sandboxed_shell",
        &json!({ "command": "echo from the IDE" }),
    );
    let seen = agent.call("await", &json!({ "operation_id": of_ide.operation_id() }));
    assert!(seen.text.contains("from the IDE"), "{seen:?}");
    let of_agent = agent.start("echo from an agent");
    let seen = dual.ide.call("await", &json!({ "operation_id": of_agent }));
    assert!(seen.text.contains("from an agent"), "{seen:?}");
    let info = dual.ide.call("get_server_info", &json!({})).structured;
    assert_eq!(info["server"]["transport"], "dual");
    assert_eq!(info["sessions"], 2, "{info}");
}

/// Proves: D8.
#[test]
fn http_accepts_before_the_ide_has_its_first_answer() {
    let (project, home) = (Workspace::new(), Workspace::new());
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let number = port.port().to_string();
    let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let arguments = ["--mode", "dual", "--http-port", &number];
    let mut ide = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &environment);
    // Nothing is waited for: the answer has come, so the port is there.
    let health = ahma_tests::http::Request::new("GET", "/health").send(port);
    assert_eq!(health.status, 200);
    // And whoever hears of the server from the IDE can find it.
    assert_eq!(state(project.path())["port"], port.port());
    ide.close();
    assert_eq!(ide.wait().code(), Some(0));
}

/// Proves: D1.
#[test]
fn one_change_of_a_tool_file_reaches_both() {
    let project = Workspace::new();
    let tool =
        |text: &str| json!({ "name": "own", "description": text, "command": "true" }).to_string();
    project.write(".ahma/tools/own.json", tool("One."));
    let mut dual = Dual::of(project, &[]);
    let agent = dual.sub_agent();
    dual.ide.request("tools/list", &json!({}));
    agent.request("tools/list", &json!({}));
    let mut stream = agent.stream();
    dual.project.write(".ahma/tools/own.json", tool("Two."));
    stream.message("notifications/tools/list_changed");
    dual.ide.notification("notifications/tools/list_changed");
}

/// Proves: D6.
#[test]
fn when_the_ide_goes_the_server_goes_and_takes_everything_along() {
    let mut dual = Dual::start(&[]);
    let mark = unique_mark();
    let agent = dual.sub_agent();
    agent.start(&format!("sleep {mark}"));
    let mut stream = agent.stream();
    until(|| marked(&mark) >= 1);
    dual.ide.close();
    assert_eq!(dual.ide.wait().code(), Some(0));
    assert_eq!(marked(&mark), 0);
    assert!(!dual.project.path().join(STATE).exists());
    while stream.event().is_some() {}
    assert!(std::net::TcpStream::connect(dual.address).is_err());
}

/// Proves: D1.
#[test]
fn nothing_but_messages_is_on_stdout_while_the_url_is_told_on_stderr() {
    let (project, home) = (Workspace::new(), Workspace::new());
    let script = "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}' | { cat; until [ -e .ahma/.mcp_server_state.json ]; do sleep 0.02; done; sleep 0.2; } | \"$1\" --mode dual";
    let environment = [
        ("XDG_STATE_HOME", home.path().to_str().unwrap()),
        ("XDG_CACHE_HOME", home.path().to_str().unwrap()),
    ];
    let finished = project.run_with("bash", &["-c", script, "bash", AHMA_MCP], &environment);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let lines: Vec<_> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("{\"jsonrpc\":\"2.0\""), "{lines:?}");
    assert!(
        finished.stderr.contains("URL with its key"),
        "{}",
        finished.stderr
    );
}

/// Proves: D7.
#[test]
fn a_hundred_callers_on_each_side_at_once_get_each_their_own_answer() {
    let mut dual = Dual::start(&["--rate-limit", "0"]);
    let agents: Vec<_> = (0..100)
        .map(|number| {
            let client = match number % 2 {
                0 => dual.sub_agent(),
                _ => Client::stateless(dual.address, Some(&dual.token)),
            };
            let small = thread::Builder::new().stack_size(256 * 1024);
            let call = move || {
                let result = client.sync(&format!("echo http {number}"));
                assert!(
                    result.text.starts_with(&format!("http {number}\n")),
                    "{result:?}"
                );
            };
            small.spawn(call).unwrap()
        })
        .collect();
    let ids: Vec<u64> = (0..100)
        .map(|number| {
            let arguments =
                json!({ "command": format!("echo stdio {number}"), "execution_mode": "sync" });
            let params = json!({ "name": "sandboxed_shell", "arguments": arguments });
            dual.ide.send("tools/call", &params)
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let answer = dual.ide.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("stdio {number}\n")), "{answer}");
    }
    for agent in agents {
        agent.join().unwrap();
    }
}

/// The commands of the example's README, as they stand.
///
/// Proves: D10, P84.
#[test]
fn the_example_of_a_sub_agent_uses_the_server_of_the_ide() {
    let example = repository().join("examples/sub_agent");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    let readme = read("README.md");
    let block = readme.split("```sh\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let commands: Vec<&str> = block.lines().collect();
    let project = Workspace::new();
    project.write("sub_agent.py", read("sub_agent.py"));
    let dual = Dual::of(project, &[]);
    let home = dual.home.path().to_str().unwrap();
    let run = |command: &str, state: &str| {
        let variables = [("XDG_STATE_HOME", state)];
        dual.project.run_with("sh", &["-c", command], &variables)
    };
    let [hello, failing] = commands[..] else {
        panic!("{commands:?}");
    };
    let said = run(hello, home);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.stdout.starts_with("hello from a sub-agent\n"),
        "{said:?}"
    );
    assert_eq!(run(failing, home).code, 1);
    // Nothing is sent to a server that cannot be checked, nor without one.
    let nowhere = Workspace::new();
    let refused = run(hello, nowhere.path().to_str().unwrap());
    assert_eq!(refused.code, 1, "{refused:?}");
    let told = "no server serves this project";
    assert!(readme.contains(told));
    assert!(refused.stderr.starts_with(told), "{refused:?}");
}

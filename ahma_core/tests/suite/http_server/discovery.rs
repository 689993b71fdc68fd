//! Ports and state files: several servers for several projects, and two for one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, repository};
use serde_json::json;

use super::{AHMA_MCP, STATE, Served, state};

/// Proves: D3.
#[test]
fn the_state_file_tells_where_the_server_is() {
    let project = Workspace::new();
    let git = |arguments: &[&str]| assert_eq!(project.run("git", arguments).code, 0);
    git(&["init", "-q"]);
    git(&[
        "remote",
        "add",
        "origin",
        "https://example.invalid/team/widget.git",
    ]);
    let served = Served::of(project, &[]);
    let path = served.project.path();
    let address = served.process.address;
    let mut told = state(path);
    assert!(told["started_at"].as_str().unwrap().ends_with('Z'));
    assert!(told["token_file"].is_string());
    for name in ["started_at", "token_file"] {
        told.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(
        told,
        json!({
            "version": "1.0.0", "transport": "http", "port": address.port(), "host": "127.0.0.1", "path": "/mcp",
            "url": format!("http://{address}/mcp"), "pid": served.process.pid(),
            "project": { "name": "widget", "root": path.canonicalize().unwrap() },
        })
    );
    let mode = fs::metadata(path.join(STATE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let status = served.project.run("git", &["status", "--porcelain"]);
    assert_eq!(status.stdout, "", "git does not see it");
    let text = fs::read_to_string(path.join(STATE)).unwrap();
    assert!(!text.contains(served.process.token.as_deref().unwrap()));
}

#[test]
fn server_info_tells_the_same() {
    let served = Served::new();
    let client = served.connect();
    let _other = served.connect();
    let info = client.call("get_server_info", &json!({})).structured;
    let address = served.process.address;
    assert_eq!(info["server"]["transport"], "http");
    assert_eq!(
        info["server"]["url"],
        json!(format!("http://{address}/mcp"))
    );
    assert_eq!(info["server"]["port"], address.port());
    assert_eq!(info["sessions"], 2, "{info}");
    let token = served.process.token.as_deref().unwrap();
    assert!(!info.to_string().contains(token));
}

/// Proves: D2, D9.
#[test]
fn servers_of_several_projects_do_not_disturb_each_other() {
    let servers: Vec<Served> = (0..3).map(|_| Served::new()).collect();
    let mut ports = std::collections::HashSet::new();
    for (number, served) in servers.iter().enumerate() {
        let port = served.process.address.port();
        assert!((4242..=5242).contains(&port), "{port}");
        assert!(ports.insert(port));
        assert_eq!(state(served.project.path())["port"], port);
        let result = served.connect().sync(&format!("echo {number} > own; pwd"));
        let scope = served.project.path().canonicalize().unwrap();
        assert!(
            result.text.starts_with(scope.to_str().unwrap()),
            "{result:?}"
        );
    }
    for (number, served) in servers.iter().enumerate() {
        let own = fs::read_to_string(served.project.path().join("own")).unwrap();
        assert_eq!(own, format!("{number}\n"));
    }
}

/// Proves: D3.
#[test]
fn a_second_server_of_a_project_has_its_own_port_and_leaves_the_file_alone() {
    let mut first = Served::new();
    let before = state(first.project.path());
    let second = HttpProcess::start(AHMA_MCP, &[], first.project.path());
    assert_ne!(second.address, first.process.address);
    assert!(second.said.contains("no state file"), "{}", second.said);
    assert_eq!(state(first.project.path()), before);
    assert!(second.connect().sync("echo hi").text.starts_with("hi\n"));
    drop(second);
    assert_eq!(
        state(first.project.path()),
        before,
        "nor does its end touch it"
    );
    first.process.terminate();
    first.process.wait();
    assert!(!first.project.path().join(STATE).exists());
}

/// Proves: D2.
#[test]
fn a_port_that_was_asked_for_is_used_exactly_or_the_start_fails() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let project = Workspace::new();
    let home = Workspace::new();
    let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let arguments = ["--mode", "http", "--http-port", &port.to_string()];
    let refused = project.run_with(AHMA_MCP, &arguments, &environment);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains(&port.to_string()),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("another program uses it"),
        "{}",
        refused.stderr
    );
    drop(taken);
    let served = Served::of(project, &["--http-port", &port.to_string()]);
    assert_eq!(served.process.address.port(), port);
}

/// In a network of its own, so that no other server is in the way: takes every port, and then starts a server.
const EVERY_PORT: &str = r#"
import fcntl, resource, socket, struct, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
up = socket.socket()
fcntl.ioctl(up, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
taken = []
for port in range(4242, 5243):
    it = socket.socket()
    it.bind(("127.0.0.1", port))
    it.listen()
    taken.append(it)
sys.exit(subprocess.run([sys.argv[1], "--mode", "http"], stdin=subprocess.DEVNULL).returncode)
"#;

/// Proves: D2.
#[test]
fn when_no_port_is_free_the_range_is_named() {
    let (project, home) = (Workspace::new(), Workspace::new());
    let script = project.write("take.py", EVERY_PORT);
    let arguments = [
        "-rn",
        "/usr/bin/python3",
        script.to_str().unwrap(),
        AHMA_MCP,
    ];
    let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let refused = project.run_with("unshare", &arguments, &environment);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no port from 4242 to 5242"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--http-port"), "{}", refused.stderr);
}

/// Proves: D3.
#[test]
fn a_project_that_cannot_hold_the_file_is_a_clear_failure() {
    let (project, home, elsewhere) = (Workspace::new(), Workspace::new(), Workspace::new());
    std::os::unix::fs::symlink(elsewhere.path(), project.path().join(".ahma")).unwrap();
    let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let refused = project.run_with(AHMA_MCP, &["--mode", "http"], &environment);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("state file"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Proves: D3.
#[test]
fn a_command_cannot_forge_the_file() {
    let served = Served::new();
    let before = state(served.project.path());
    let client = served.connect();
    let denied = client.sync("echo forged > .ahma/.mcp_server_state.json");
    assert_eq!(denied.record["state"], "failed", "{denied:?}");
    client.sync("rm -rf .ahma; mv .ahma x; ln -sfn /tmp .ahma");
    assert_eq!(state(served.project.path()), before);
}

/// Proves: D10, P84.
#[test]
fn a_sub_agent_finds_the_server_with_the_client_of_the_documentation() {
    let text = fs::read_to_string(repository().join("docs/sub-agents.md")).unwrap();
    let code = text.split("```python\n").nth(1).unwrap();
    let code = code.split("```").next().unwrap();
    let example = repository().join("examples/sub_agent/sub_agent.py");
    assert_eq!(fs::read_to_string(&example).unwrap(), code);
    let served = Served::new();
    served.project.make_directory("a/b");
    let arguments = [
        "-c",
        "cd a/b && exec /usr/bin/python3 \"$@\"",
        "sh",
        example.to_str().unwrap(),
        "echo hello from below",
    ];
    // A file that a command has put in the way.
    let mut forged = state(served.project.path());
    forged["url"] = json!("http://127.0.0.1:1/mcp");
    served
        .project
        .write("a/b/.ahma/.mcp_server_state.json", forged.to_string());
    let home = served.process.home().join("state");
    let environment = [("XDG_STATE_HOME", home.to_str().unwrap())];
    let finished = served.project.run_with("sh", &arguments, &environment);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(
        finished.stdout.starts_with("hello from below\n"),
        "{}",
        finished.stdout
    );
}

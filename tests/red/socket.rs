//! A server at a Unix socket: for its user alone, at no port, and out of reach of its commands.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use ahma_tests::Workspace;
use ahma_tests::served::ahma_mcp;
use ahma_tests::served::over_http::Served;
use serde_json::{Value, json};

/// A directory that nobody else can write, and a socket in it.
fn place() -> (Workspace, PathBuf) {
    let directory = Workspace::new();
    let socket = directory.path().join("ahma.sock");
    (directory, socket)
}

fn served(socket: &Path) -> Served {
    Served::with(&["--http-socket", socket.to_str().unwrap()])
}

/// What the server answers to a request for a path, with this key.
fn ask(socket: &Path, host: &str, path: &str, key: Option<&str>, body: Option<&Value>) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let key = key.map_or(String::new(), |key| {
        format!("authorization: Bearer {key}\r\n")
    });
    let (method, body) = match body {
        Some(body) => ("POST", body.to_string()),
        None => ("GET", String::new()),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\n{key}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Proves: H24.
#[test]
fn a_server_at_a_socket_is_for_its_user_alone() {
    let (_directory, socket) = place();
    let mut served = served(&socket);
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = served.process.token.clone();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let answer = ask(&socket, "localhost", "/mcp", key.as_deref(), Some(&ping));
    assert!(
        status(&answer) == "200" && answer.contains("serverInfo"),
        "{answer}"
    );
    assert_eq!(
        status(&ask(&socket, "localhost", "/mcp", None, Some(&ping))),
        "401"
    );
    assert_eq!(
        status(&ask(&socket, "localhost", "/health", None, None)),
        "200"
    );
    assert_eq!(
        status(&ask(&socket, "evil.example", "/health", None, None)),
        "403"
    );

    served.process.terminate();
    assert!(served.process.wait().success());
    assert!(!socket.exists());
}

/// Proves: H24.
#[test]
fn a_server_at_a_socket_has_no_port() {
    let (_directory, socket) = place();
    let (project, home) = (Workspace::new(), Workspace::new());
    let state = home.path().to_str().unwrap().to_owned();
    let variables = [
        ("XDG_STATE_HOME", state.as_str()),
        ("XDG_CACHE_HOME", state.as_str()),
    ];
    // In a network of its own, where nobody else has ports either; the kernel's tables have one line of titles.
    let ports = |arguments: &str| {
        let script = format!(
            "{} --mode http {arguments} & server=$!
             for i in $(seq 400); do [ -e .ahma/.mcp_server_state.json ] && break; sleep 0.05; done
             cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '
             kill $server; wait $server",
            ahma_mcp()
        );
        let words = ["--user", "--map-root-user", "--net", "bash", "-c", &script];
        let ran = project.run_with("unshare", &words, &variables);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.trim().parse::<u32>().unwrap()
    };
    assert!(ports("") > 0);
    assert_eq!(ports(&format!("--http-socket {}", socket.display())), 0);
}

/// Proves: H24.
#[test]
fn no_command_reaches_the_socket() {
    let (_directory, socket) = place();
    let served = served(&socket);
    let key = served.process.token.clone();
    let script = format!(
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{}\"); print(\"IN\")'",
        socket.display()
    );
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "sandboxed_shell", "arguments": { "command": script, "execution_mode": "sync" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } });
    let tried = ask_modern(&socket, key.as_deref(), &call);
    assert!(
        tried.contains("exit code 1") && !tried.contains("IN\\n"),
        "{tried}"
    );
    let outside = served.project.run("sh", &["-c", &script]);
    assert_eq!(
        outside.stdout, "IN\n",
        "outside it works: {}",
        outside.stderr
    );
}

/// A request of 2026-07-28, which needs no session.
fn ask_modern(socket: &Path, key: Option<&str>, call: &Value) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let body = call.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\nauthorization: Bearer {}\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: sandboxed_shell\r\ncontent-length: {}\r\n\r\n{body}",
        key.unwrap_or_default(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Proves: H24.
#[test]
fn a_socket_that_others_or_commands_could_reach_is_refused() {
    let project = Workspace::new();
    let home = Workspace::new();
    let state = home.path().to_str().unwrap().to_owned();
    let variables = [
        ("XDG_STATE_HOME", state.as_str()),
        ("XDG_CACHE_HOME", state.as_str()),
    ];
    let refused = |socket: &Path| {
        let arguments = ["--mode", "http", "--http-socket", socket.to_str().unwrap()];
        let finished = project.run_with(&ahma_mcp(), &arguments, &variables);
        (finished.code, finished.stderr)
    };
    let (code, said) = refused(&project.path().join("s.sock"));
    assert!(
        code == 2 && said.contains("commands could reach the socket"),
        "{code} {said}"
    );
    let outside = Workspace::new();
    symlink(project.path(), outside.path().join("link")).unwrap();
    let (code, said) = refused(&outside.path().join("link/s.sock"));
    assert!(
        code == 2 && said.contains("commands could reach the socket"),
        "{code} {said}"
    );

    let root = outside.path().to_str().unwrap();
    let isolated = ["--session-isolation", "--scope-root", root];
    let below_a_root = format!("{root}/run/s.sock");
    let socket = ["--mode", "http", "--http-socket", &below_a_root];
    let arguments = [&socket[..], &isolated[..]].concat();
    let finished = project.run_with(&ahma_mcp(), &arguments, &variables);
    assert!(
        finished.code == 2 && finished.stderr.contains("commands could reach the socket"),
        "{}",
        finished.stderr
    );

    let (directory, socket) = place();
    let open =
        |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    open(0o1777);
    let (code, said) = refused(&socket);
    assert!(
        code == 4 && said.contains("others than you can write"),
        "{code} {said}"
    );
    open(0o755);
    fs::write(&socket, "precious").unwrap();
    let (code, said) = refused(&socket);
    assert!(
        code == 4 && said.contains("something else"),
        "{code} {said}"
    );
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
    fs::remove_file(&socket).unwrap();
    let living = UnixListener::bind(&socket).unwrap();
    let (code, said) = refused(&socket);
    assert!(
        code == 4 && said.contains("another server listens"),
        "{code} {said}"
    );
    // One that nobody listens at any more is what a server that was killed leaves.
    drop(living);
    let served = served(&socket);
    assert_eq!(
        status(&ask(&socket, "localhost", "/health", None, None)),
        "200"
    );
    drop(served);
}

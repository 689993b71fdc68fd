//! Servers that run already: by their URL, and by the file they leave in their project.

use std::fs;
use std::net::TcpListener;

use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Finished, Workspace};
use serde_json::{Value, json};

use super::{AHMA_LIST_TOOLS, list, project, server};

const STATE: &str = ".ahma/.mcp_server_state.json";

fn serve(project: &Workspace, arguments: &[&str]) -> HttpProcess {
    HttpProcess::start(&server(), arguments, project.path())
}

/// Lists as the user that a server belongs to.
fn found(served: &HttpProcess, project: &Workspace, variables: &[(&str, &str)]) -> Finished {
    let state = served.home().join("state");
    let own = [("XDG_STATE_HOME", state.to_str().unwrap())];
    project.run_with(AHMA_LIST_TOOLS, &[], &[&own, variables].concat())
}

fn lists_own_tools(finished: &Finished) {
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let text = &finished.stdout;
    assert!(text.contains("\nown (2)\n  own_first\n"), "{text}");
}

fn url(served: &HttpProcess) -> String {
    let token = served.token.as_deref().unwrap();
    format!("http://{}/mcp?key={token}", served.address)
}

/// Proves: P3.
#[test]
fn a_server_is_reached_by_the_url_that_it_prints() {
    let project = project();
    let served = serve(&project, &[]);
    lists_own_tools(&list(&Workspace::new(), &["--url", &url(&served)]));
    let entry = json!({ "servers": { "a": { "type": "http", "url": url(&served) } } });
    let file = project.write("mcp.json", entry.to_string());
    let file = file.to_str().unwrap();
    let by_entry = list(&Workspace::new(), &["--mcp-config", file, "--server", "a"]);
    lists_own_tools(&by_entry);
}

#[test]
fn a_proxy_is_not_asked_for_what_is_on_this_machine() {
    let project = project();
    let served = serve(&project, &[]);
    let proxy = [("http_proxy", "http://127.0.0.1:1"), ("no_proxy", "")];
    let arguments = ["--url", &url(&served)];
    lists_own_tools(&project.run_with(AHMA_LIST_TOOLS, &arguments, &proxy));
}

/// Proves: D10.
#[test]
fn the_server_of_a_project_is_found_from_any_directory_in_it() {
    let project = project();
    project.make_directory("a/b");
    let served = serve(&project, &[]);
    let state = served.home().join("state");
    for directory in [".", "a/b"] {
        let arguments = [
            "-c",
            "cd \"$1\" && exec \"$2\"",
            "sh",
            directory,
            AHMA_LIST_TOOLS,
        ];
        let environment = [("XDG_STATE_HOME", state.to_str().unwrap())];
        lists_own_tools(&project.run_with("sh", &arguments, &environment));
    }
}

/// Proves: P3.
#[test]
fn a_token_that_no_file_holds_is_taken_from_the_variable() {
    let project = project();
    let token = "0123456789abcdef";
    let served = serve(&project, &["--http-token", token]);
    lists_own_tools(&found(&served, &project, &[("AHMA_HTTP_TOKEN", token)]));
    let without = found(&served, &project, &[]);
    assert_eq!(without.code, 1, "{}", without.stdout);
    let said = without.stderr;
    assert!(said.contains("no token of it is known"), "{said}");
    assert!(said.contains("AHMA_HTTP_TOKEN"), "{said}");
    let wrong = [("AHMA_HTTP_TOKEN", "fedcba9876543210")];
    let wrong = found(&served, &project, &wrong);
    assert_eq!(wrong.code, 1, "{}", wrong.stdout);
    let said = wrong.stderr;
    assert!(
        said.contains("cannot prove that it knows the token"),
        "{said}"
    );
    let url = format!("http://{}/mcp", served.address);
    let unknown = list(&project, &["--url", &url]);
    assert_eq!(unknown.code, 1, "{}", unknown.stdout);
    let said = unknown.stderr;
    assert!(
        said.contains("/mcp cannot be used: it wants a token"),
        "{said}"
    );
}

/// Proves: D3.
#[test]
fn a_project_without_a_server_says_how_to_start_one() {
    let project = project();
    let none = list(&project, &[]);
    assert_eq!(none.code, 1);
    assert!(
        none.stderr.contains("`ahma_mcp --mode http`"),
        "{}",
        none.stderr
    );

    let mut served = serve(&project, &[]);
    served.signal("KILL");
    served.wait();
    let stale = list(&project, &[]);
    assert_eq!(stale.code, 1);
    assert!(stale.stderr.contains("is left over"), "{}", stale.stderr);
}

fn state_of(project: &Workspace) -> Value {
    let text = fs::read_to_string(project.path().join(STATE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Proves: D10.
#[test]
fn a_server_that_does_not_know_the_token_is_not_shown_it() {
    let project = project();
    let served = serve(&project, &[]);
    let mut state = state_of(&project);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    state["url"] = json!(format!("http://{address}/mcp"));
    project.write(STATE, state.to_string());
    // What it is sent, it passes on to the real server, and so answers with a proof: that of another address.
    let real = served.address;
    let relay = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = other.accept().unwrap();
        let mut asked = [0; 4096];
        let length = stream.read(&mut asked).unwrap();
        let asked = String::from_utf8_lossy(&asked[..length]).into_owned();
        let mut onward = std::net::TcpStream::connect(real).unwrap();
        let passed = asked.replace(&address.to_string(), &real.to_string());
        let passed = passed.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        onward.write_all(passed.as_bytes()).unwrap();
        let mut answer = Vec::new();
        onward.read_to_end(&mut answer).unwrap();
        assert!(String::from_utf8_lossy(&answer).contains("\"proof\""));
        stream.write_all(&answer).unwrap();
        asked
    });
    let finished = found(&served, &project, &[]);
    assert_eq!(finished.code, 1, "{}", finished.stdout);
    let said = finished.stderr;
    assert!(
        said.contains("cannot prove that it knows the token"),
        "{said}"
    );
    let asked = relay.join().unwrap();
    assert!(asked.starts_with("GET /health?challenge="), "{asked}");
    assert!(!asked.contains(served.token.as_deref().unwrap()), "{asked}");
}

/// Proves: D10.
#[test]
fn files_that_a_command_has_put_below_do_not_hide_the_server() {
    let project = project();
    let served = serve(&project, &[]);
    let real = state_of(&project);
    let below = project.path().canonicalize().unwrap().join("below");
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut state = real.clone();
        state["project"]["root"] = json!(below);
        change(&mut state);
        project.write(&format!("below/{STATE}"), state.to_string());
        let state = served.home().join("state");
        let arguments = ["-c", "cd below && exec \"$1\"", "sh", AHMA_LIST_TOOLS];
        let environment = [("XDG_STATE_HOME", state.to_str().unwrap())];
        lists_own_tools(&project.run_with("sh", &arguments, &environment));
    };
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", impostor.local_addr().unwrap());
    let token = project.write("below/token", "0123456789abcdef");
    forged(&|state| state["url"] = json!(url));
    forged(&|state| {
        state["url"] = json!(url);
        state["token_file"] = json!(token);
    });
    forged(&|state| state["token_file"] = Value::Null);
    forged(&|state| state["project"]["root"] = real["project"]["root"].clone());
    forged(&|state| state["pid"] = json!(i32::MAX));
    impostor.set_nonblocking(true).unwrap();
    assert!(impostor.accept().is_err(), "nobody has asked it anything");
}

/// Proves: D10.
#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    use std::io::Write as _;
    let project = project();
    let served = serve(&project, &[]);
    let mut state = state_of(&project);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    state["url"] = json!(format!("http://{}/mcp", other.local_addr().unwrap()));
    project.write(STATE, state.to_string());
    let flooding = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
        stream.write_all(head).unwrap();
        let piece = [b' '; 65536];
        let mut sent = 0;
        // Until it is closed.
        while sent < 1 << 30 && stream.write_all(&piece).is_ok() {
            sent += piece.len();
        }
        sent
    });
    assert_eq!(found(&served, &project, &[]).code, 1);
    let sent = flooding.join().unwrap();
    assert!(sent < 50_000_000, "{sent}");
}

/// Proves: P3.
#[test]
fn a_url_that_leads_nowhere_is_named_without_its_key() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}/mcp?key=0123456789abcdef");
    let finished = list(&Workspace::new(), &["--url", &url]);
    assert_eq!(finished.code, 1);
    let said = finished.stderr;
    let expected =
        format!("error: http://{free}/mcp cannot be used: nothing answers there\nhint: ");
    assert!(said.starts_with(&expected), "{said}");
    assert!(!said.contains("0123456789abcdef"), "{said}");
}

/// Proves: D10.
#[test]
fn a_file_that_leads_elsewhere_is_refused() {
    let project = Workspace::new();
    for url in [
        "http://evil.example:80/mcp",
        "https://127.0.0.1:4242/mcp",
        "x",
    ] {
        let root = project.path().canonicalize().unwrap();
        let state = json!({ "url": url, "pid": std::process::id(), "project": { "root": root } });
        project.write(STATE, state.to_string());
        let refused = list(&project, &[]);
        assert_eq!(refused.code, 1, "{url}");
        assert!(
            refused.stderr.contains("`url`"),
            "{url}: {}",
            refused.stderr
        );
    }
    project.write(STATE, "{");
    let refused = list(&project, &[]);
    assert!(refused.stderr.contains(STATE), "{}", refused.stderr);
}

/// Proves: D10, H24.
#[test]
fn a_server_at_a_socket_is_found_by_its_file() {
    let (project, place) = (project(), Workspace::new());
    let socket = place.path().join("ahma.sock");
    let served = serve(&project, &["--http-socket", socket.to_str().unwrap()]);
    lists_own_tools(&found(&served, &project, &[]));
    // A file that names another place, where somebody stands who does not know the token.
    let text = fs::read_to_string(project.path().join(STATE)).unwrap();
    let mut state: Value = serde_json::from_str(&text).unwrap();
    std::os::unix::fs::symlink(&socket, place.path().join("relayed.sock")).unwrap();
    state["socket"] = json!(place.path().join("relayed.sock"));
    fs::write(project.path().join(STATE), state.to_string()).unwrap();
    let relayed = found(&served, &project, &[]);
    assert_eq!(relayed.code, 1, "{}", relayed.stdout);
    assert!(
        relayed.stderr.contains("cannot prove"),
        "{}",
        relayed.stderr
    );
}

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

fn lists_own_tools(finished: &Finished) {
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let text = &finished.stdout;
    assert!(text.contains("\nown (2)\n  own_first\n"), "{text}");
}

fn url(served: &HttpProcess) -> String {
    let token = served.token.as_deref().unwrap();
    format!("http://{}/mcp?key={token}", served.address)
}

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

#[test]
fn the_server_of_a_project_is_found_from_any_directory_in_it() {
    let project = project();
    project.make_directory("a/b");
    let _served = serve(&project, &[]);
    for directory in [".", "a/b"] {
        let arguments = [
            "-c",
            "cd \"$1\" && exec \"$2\"",
            "sh",
            directory,
            AHMA_LIST_TOOLS,
        ];
        lists_own_tools(&project.run("sh", &arguments));
    }
}

#[test]
fn a_token_that_no_file_holds_is_taken_from_the_variable() {
    let project = project();
    let token = "0123456789abcdef";
    let _served = serve(&project, &["--http-token", token]);
    let with = project.run_with(AHMA_LIST_TOOLS, &[], &[("AHMA_HTTP_TOKEN", token)]);
    lists_own_tools(&with);
    let without = list(&project, &[]);
    assert_eq!(without.code, 1, "{}", without.stdout);
    let said = without.stderr;
    assert!(
        said.contains("/mcp cannot be used: it wants a token"),
        "{said}"
    );
    let wrong = [("AHMA_HTTP_TOKEN", "fedcba9876543210")];
    let wrong = project.run_with(AHMA_LIST_TOOLS, &[], &wrong);
    assert_eq!(wrong.code, 1, "{}", wrong.stdout);
    let said = wrong.stderr;
    assert!(
        said.contains("cannot prove that it knows the token"),
        "{said}"
    );
}

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
    let left = fs::read_to_string(project.path().join(STATE)).unwrap();
    served.signal("KILL");
    served.wait();
    project.write(STATE, left);
    let stale = list(&project, &[]);
    assert_eq!(stale.code, 1);
    assert!(stale.stderr.contains("is left over"), "{}", stale.stderr);
}

#[test]
fn a_server_that_does_not_know_the_token_is_not_shown_it() {
    let project = project();
    let served = serve(&project, &[]);
    let text = fs::read_to_string(project.path().join(STATE)).unwrap();
    let mut state: Value = serde_json::from_str(&text).unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    state["url"] = json!(format!("http://{address}/mcp"));
    let elsewhere = Workspace::new();
    elsewhere.write(STATE, state.to_string());
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
    let finished = list(&elsewhere, &[]);
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

#[test]
fn a_file_that_leads_elsewhere_is_refused() {
    let project = Workspace::new();
    for url in [
        "http://evil.example:80/mcp",
        "https://127.0.0.1:4242/mcp",
        "x",
    ] {
        let state = json!({ "url": url, "pid": std::process::id(), "token_file": null });
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

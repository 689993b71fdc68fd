//! Servers behind ours that want to know who asks: what calls and owners get until somebody has signed in, and afterwards.
//!
//! The authorization server is a process of the test's on a loopback port.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Finished, repository, until};
use serde_json::{Value, json};

use super::behind::{Behind, info, names, script};
use super::{AHMA_MCP, modern_with};

/// A server that wants a token, and a file that names it.
struct World {
    behind: Behind,
    url: String,
    server: Child,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl World {
    fn new() -> Self {
        Self::with(3600)
    }

    /// With tokens that live so many seconds.
    fn with(life: u32) -> Self {
        let behind = Behind::new(&json!({}));
        let log = behind.log();
        let mut server = Command::new("python3")
            .args([script(), "--http=0".to_owned(), format!("--oauth={life}")])
            .arg(format!("--log={}", log.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = server.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        behind.name(&json!({ "notes": { "type": "http", "url": url } }));
        World {
            behind,
            url,
            server,
        }
    }

    fn state(&self) -> String {
        self.behind
            .place
            .path()
            .join("state")
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// The owner's command line, with a browser that goes where it is sent.
    fn auth_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(AHMA_MCP);
        command
            .arg("--sandbox-scope")
            .arg(self.behind.project())
            .arg("--mcp-config")
            .arg(self.behind.place.path().join("mcp.json"))
            .arg("auth")
            .args(arguments)
            .current_dir(self.behind.project())
            .env("XDG_STATE_HOME", self.state())
            .env("BROWSER", browser())
            // Nobody's keyring.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
        command
    }

    fn auth(&self, arguments: &[&str]) -> Finished {
        let output = self.auth_command(arguments).stdin(Stdio::null()).output();
        let output = output.unwrap();
        Finished {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn login(&self) {
        let done = self.auth(&["login", "notes"]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    fn start(&self) -> McpProcess {
        let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
        self.behind.start_with(&[], &[bus])
    }

    /// A client with these capabilities, in the way of 2025-11-25 or without a handshake.
    fn start_asked(&self, elicitation: Option<&Value>) -> McpProcess {
        let config = self.behind.place.path().join("mcp.json");
        let arguments = [
            "--sandbox-scope",
            self.behind.project().to_str().unwrap(),
            "--mcp-config",
            config.to_str().unwrap(),
        ];
        let state = self.state();
        let variables = [
            ("XDG_STATE_HOME", state.as_str()),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent"),
        ];
        let mut client = McpProcess::start(AHMA_MCP, &arguments, self.behind.project(), &variables);
        if let Some(elicitation) = elicitation {
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": { "elicitation": elicitation },
                "clientInfo": { "name": "test", "version": "1" }
            });
            client.request("initialize", &params);
            client.notify("notifications/initialized", &json!({}));
        }
        client
    }

    /// Has the tools of the server known, and nobody signed in.
    fn known_and_signed_out(&self) {
        self.login();
        let mut client = self.start();
        until(|| names(&mut client).contains(&"notes_echo".to_owned()));
        client.close();
        assert_eq!(self.auth(&["logout", "notes"]).code, 0);
    }

    fn tokens(&self) -> PathBuf {
        self.behind.place.path().join("state/ahma_mcp/auth")
    }
}

fn browser() -> String {
    repository()
        .join("tests/fixtures/upstream/browser.py")
        .to_str()
        .unwrap()
        .to_owned()
}

/// Does what a person does with a URL.
fn open(url: &str) -> String {
    let output = Command::new(browser()).arg(url).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn url_in(text: &str) -> String {
    let mut words = text.split_whitespace();
    words
        .find(|it| it.contains("/authorize?"))
        .unwrap()
        .to_owned()
}

/// Where an authorization server sends the browser.
fn sent_to(url: &str) -> String {
    let ask = "import sys, urllib.request as r\n\
               class No(r.HTTPRedirectHandler):\n\
               \x20   def redirect_request(self, *_): return None\n\
               try: r.build_opener(No).open(sys.argv[1])\n\
               except r.HTTPError as error: print(error.headers['Location'])";
    let sent = Command::new("python3")
        .args(["-c", ask, url])
        .output()
        .unwrap();
    let sent = String::from_utf8(sent.stdout).unwrap();
    sent.trim().to_owned()
}

/// Everything that was ever given out as a token.
fn is_secret_free(text: &str) -> bool {
    !text.contains("access-") && !text.contains("refresh-")
}

/// Proves: C2, C69.
#[test]
fn an_owner_signs_in_with_a_browser_and_every_server_of_ours_has_the_token() {
    let world = World::new();
    let mut client = world.start();
    until(|| info(&mut client)[0]["status"] == "needs_sign_in");
    let described = &info(&mut client)[0];
    let error = described["error"].as_str().unwrap();
    assert!(error.contains("ahma_mcp auth login notes"), "{error}");
    let done = world.auth(&["login", "notes"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stdout.contains("signed in with http://127.0.0.1:"),
        "{done:?}"
    );
    assert!(
        is_secret_free(&done.stdout) && is_secret_free(&done.stderr),
        "{done:?}"
    );
    // One that runs already finds it by itself.
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    let echoed = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(
        !echoed.is_error && echoed.text.contains("hello"),
        "{echoed:?}"
    );
    assert_eq!(info(&mut client)[0]["status"], "connected");
    let told = client
        .call("get_server_info", &json!({}))
        .structured
        .to_string();
    assert!(is_secret_free(&told), "{told}");
    // So does the next one, without anybody.
    client.close();
    let mut client = world.start();
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "again" }))
            .is_error
    );
    assert_eq!(world.behind.count("authorize right"), 1);
}

/// Proves: C66, C70.
#[test]
fn tokens_are_out_of_reach_of_commands_and_in_no_log() {
    let world = World::new();
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    client.call("notes_echo", &json!({ "text": "hello" }));
    let directory = fs::metadata(world.tokens()).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    let mut records = 0;
    for entry in fs::read_dir(world.tokens()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_default();
        records += usize::from(text.contains("access-"));
        // What proves this finds what it looks for.
        let script = format!("cat {}", path.display());
        let read = client.call("sandboxed_shell", &json!({ "command": script }));
        assert!(read.is_error && is_secret_free(&read.text), "{read:?}");
    }
    assert_eq!(records, 1);
    client.close();
    for log in walk(client.cache()) {
        let text = fs::read(&log).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(is_secret_free(&text), "{}: {text}", log.display());
        assert!(!text.contains("/authorize?"), "{}: {text}", log.display());
    }
}

fn walk(top: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(walk(&path)),
            false if path.is_file() => found.push(path),
            false => {}
        }
    }
    found
}

/// Proves: C69.
#[test]
fn while_nobody_is_signed_in_tools_stay_listed_and_a_call_answers_with_the_url() {
    let world = World::new();
    world.known_and_signed_out();
    // Not even where all is logged.
    let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    let mut client = world.behind.start_with(&["--debug"], &[bus]);
    assert!(names(&mut client).contains(&"notes_echo".to_owned()));
    let refused = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(refused.is_error, "{refused:?}");
    let url = url_in(&refused.text);
    assert!(
        refused.text.contains("ahma_mcp auth login notes"),
        "{refused:?}"
    );
    assert_eq!(info(&mut client)[0]["status"], "needs_sign_in");
    // Whoever calls meanwhile is given the same.
    let again = client.call("notes_echo", &json!({ "text": "hello" }));
    assert_eq!(url_in(&again.text), url);
    let page = open(&url);
    assert!(page.contains("<h1>Signed in</h1>"), "{page}");
    until(|| {
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    });
    // The URL is for whoever called, and in no log.
    client.close();
    for log in walk(client.cache()) {
        let text = fs::read(&log).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(
            !text.contains("code_challenge"),
            "{}: {text}",
            log.display()
        );
    }
}

/// Proves: C69.
#[test]
fn a_client_that_opens_urls_is_asked_and_the_call_goes_on() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "form": {}, "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    assert_eq!(question["params"]["mode"], "url", "{question}");
    assert!(
        question["params"]["elicitationId"].is_string(),
        "{question}"
    );
    open(question["params"]["url"].as_str().unwrap());
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
    client.send_line(line.to_string().as_bytes());
    let result = CallResult::of(&client.answer(call));
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{result:?}"
    );
}

/// Proves: C69.
#[test]
fn a_client_that_declines_is_told_what_else_can_be_done() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    client.send_line(line.to_string().as_bytes());
    let result = CallResult::of(&client.answer(call));
    assert!(
        result.is_error && result.text.contains("auth login notes"),
        "{result:?}"
    );
}

/// Proves: C69.
#[test]
fn a_client_without_sessions_is_asked_by_a_result() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(None);
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut call = |further: Value| {
        let mut params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
        let fields = params.as_object_mut().unwrap();
        fields.extend(further.as_object().unwrap().clone());
        client.request("tools/call", &modern_with(params, &capabilities))
    };
    let asked = call(json!({}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let question = &result["inputRequests"]["ahma_sign_in"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "url");
    open(question["params"]["url"].as_str().unwrap());
    let answered = call(json!({ "inputResponses": { "ahma_sign_in": { "action": "accept" } } }));
    let result = CallResult::of(&answered);
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{answered}"
    );
}

/// Proves: C2, C67.
#[test]
fn without_a_browser_the_url_is_one_line_and_the_answer_can_be_pasted() {
    let world = World::new();
    let mut login = world
        .auth_command(&["login", "notes", "--no-browser"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(login.stdout.take().unwrap());
    let mut url = String::new();
    output.read_line(&mut url).unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:") && url.contains("/authorize?"),
        "{url}"
    );
    let sent = sent_to(url.trim());
    assert!(sent.contains("/callback?code="), "{sent}");
    let mut input = login.stdin.take().unwrap();
    // A line that is not the answer costs nothing.
    writeln!(input, "https://example.com/\n{}", sent.trim()).unwrap();
    let done = login.wait_with_output().unwrap();
    let complaints = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{complaints}");
    assert!(complaints.contains("paste the whole URL"), "{complaints}");
    let mut said = String::new();
    output.read_line(&mut said).unwrap();
    assert!(said.contains("signed in with"), "{said}");
}

/// Proves: C71.
#[test]
fn the_owner_sees_who_is_signed_in_where_and_signs_out() {
    let world = World::new();
    let token = json!({ "Authorization": "Bearer x" });
    world.behind.name(&json!({
        "notes": { "url": world.url },
        "other": { "url": "http://127.0.0.1:1/mcp", "headers": token },
        "local": { "command": "true" }
    }));
    let shown = |world: &World| world.auth(&["status"]).stdout;
    let expected = format!(
        "notes ({}): nobody is signed in\nother (http://127.0.0.1:1/mcp): has a token in `headers`\n",
        world.url
    );
    assert_eq!(shown(&world), expected);
    world.login();
    let text = shown(&world);
    for part in [
        "signed in with http",
        "for notes:read",
        "renewed by itself",
        "kept in /",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value =
        serde_json::from_str(&world.auth(&["status", "--format", "json"]).stdout).unwrap();
    let notes = &json["servers"][0];
    assert_eq!(notes["signed_in"], true, "{json}");
    assert_eq!(notes["scopes"], json!(["notes:read"]));
    assert!(is_secret_free(&json.to_string()) && is_secret_free(&text));
    let out = world.auth(&["logout", "notes"]);
    assert_eq!((out.code, out.stderr.as_str()), (0, ""), "{out:?}");
    assert_eq!(shown(&world), expected);
    let again = world.auth(&["logout", "notes"]);
    assert_eq!(again.stdout, "notes: nobody was signed in\n");
    // Names that there are not, and servers that nobody signs in to.
    for (name, why) in [
        ("nothing", "there is no usable server `nothing`"),
        ("local", "it is not reached over HTTP"),
        ("other", "has a token in `headers`"),
    ] {
        let refused = world.auth(&["login", name]);
        assert!(
            refused.code != 0 && refused.stderr.contains(why),
            "{refused:?}"
        );
    }
}

/// Proves: C65, C69.
#[test]
fn a_token_that_is_taken_back_leads_to_another_sign_in() {
    let world = World::new();
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    );
    open(&world.url.replace("/mcp", "/test/revoke"));
    let refused = client.call("notes_echo", &json!({ "text": "hello" }));
    assert!(refused.is_error, "{refused:?}");
    open(&url_in(&refused.text));
    until(|| {
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    });
}

/// Proves: C65.
#[test]
fn a_token_is_renewed_while_a_server_runs_without_anybody_signing_in() {
    let world = World::with(3);
    world.login();
    let mut client = world.start();
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
    // Three lives of a token.
    until(|| world.behind.count("token refresh_token") >= 3);
    assert!(
        !client
            .call("notes_echo", &json!({ "text": "hello" }))
            .is_error
    );
    assert_eq!(world.behind.count("authorize right"), 1);
}

/// Proves: C69.
#[test]
fn a_call_that_waits_for_its_client_goes_on_when_the_owner_signs_in_elsewhere() {
    let world = World::new();
    world.known_and_signed_out();
    let mut client = world.start_asked(Some(&json!({ "url": {} })));
    let params = json!({ "name": "notes_echo", "arguments": { "text": "hello" } });
    let call = client.send("tools/call", &params);
    // It is never answered.
    let question = client.notification("elicitation/create");
    world.login();
    let result = CallResult::of(&client.answer(call));
    assert!(
        !result.is_error && result.text.contains("hello"),
        "{result:?}"
    );
    let cancelled = client.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
}

/// Proves: C72.
#[test]
fn a_keyring_that_cannot_be_used_is_named_and_keeps_nobody_from_signing_in_anew() {
    let world = World::new();
    world.login();
    for entry in fs::read_dir(world.tokens()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "json") {
            let text = fs::read_to_string(&path).unwrap();
            let mut record: Value = serde_json::from_str(&text).unwrap();
            record["place"] = json!("keyring");
            record["tokens"] = Value::Null;
            fs::write(&path, record.to_string()).unwrap();
        }
    }
    let why = "its tokens are in the keyring, which cannot be used";
    let status = world.auth(&["status"]).stdout;
    assert!(status.contains(why), "{status}");
    let mut client = world.start();
    until(|| info(&mut client)[0]["status"] == "error");
    let error = info(&mut client)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains(why), "{error}");
    let again = world.auth(&["login", "notes", "--no-keyring"]);
    assert_eq!(again.code, 0, "{again:?}");
    until(|| names(&mut client).contains(&"notes_echo".to_owned()));
}

/// Proves: C71.
#[test]
fn with_a_redirect_uri_whose_port_is_taken_the_answer_is_pasted() {
    let world = World::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let oauth = json!({ "redirect_uri": redirect });
    world
        .behind
        .name(&json!({ "notes": { "url": world.url, "oauth": oauth } }));
    let mut login = world
        .auth_command(&["login", "notes", "--no-browser"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut output = BufReader::new(login.stdout.take().unwrap());
    output.read_line(&mut url).unwrap();
    let sent = sent_to(url.trim());
    assert!(sent.starts_with(&redirect), "{sent}");
    writeln!(login.stdin.take().unwrap(), "{sent}").unwrap();
    let done = login.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

//! A server that wants to know who asks, with an authorization server beside it: processes of the test's on loopback ports.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ahma_tests::http_process::HttpProcess;
use ahma_tests::mcp::McpProcess;
use ahma_tests::{Finished, repository, until};
use serde_json::{Value, json};

use super::AHMA_MCP;
use super::behind::{Behind, names, script};

/// A server that wants a token, and a file that names it.
pub(crate) struct World {
    pub(super) behind: Behind,
    pub(crate) url: String,
    /// Of every program of ours.
    pub(crate) variables: BTreeMap<&'static str, String>,
    server: Child,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(3600)
    }

    /// With tokens that live so many seconds.
    pub(crate) fn with(life: u32) -> Self {
        Self::behaving(life, &[])
    }

    /// The same, with a server that is told to behave so.
    pub(crate) fn behaving(life: u32, options: &[&str]) -> Self {
        let behind = Behind::new(&json!({}));
        let log = behind.log();
        let mut server = Command::new("python3")
            .args([script(), "--http=0".to_owned(), format!("--oauth={life}")])
            .arg(format!("--log={}", log.display()))
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = server.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        let state = behind.place.path().join("state");
        let variables = BTreeMap::from([
            ("XDG_STATE_HOME", state.to_str().unwrap().to_owned()),
            // Nobody's keyring.
            (
                "DBUS_SESSION_BUS_ADDRESS",
                "unix:path=/nonexistent".to_owned(),
            ),
        ]);
        let world = World {
            behind,
            url,
            variables,
            server,
        };
        world.name(json!({}));
        world
    }

    /// Names the server, with further fields of its entry.
    pub(crate) fn name(&self, further: Value) {
        let mut entry = further;
        entry["type"] = json!("http");
        entry["url"] = json!(self.url);
        self.behind.name(&json!({ "notes": entry }));
    }

    pub(crate) fn variables(&self) -> Vec<(&str, &str)> {
        let variables = self.variables.iter();
        variables.map(|(name, it)| (*name, it.as_str())).collect()
    }

    /// The owner's command line, with a browser that goes where it is sent.
    pub(crate) fn auth_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(AHMA_MCP);
        command
            .args(self.arguments())
            .arg("auth")
            .args(arguments)
            .current_dir(self.behind.project())
            .env("BROWSER", browser())
            .envs(&self.variables);
        command
    }

    pub(crate) fn auth(&self, arguments: &[&str]) -> Finished {
        let output = self.auth_command(arguments).stdin(Stdio::null()).output();
        let output = output.unwrap();
        Finished {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn login(&self) {
        let done = self.auth(&["login", "notes"]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    pub(crate) fn start(&self) -> McpProcess {
        self.behind.start_with(&[], &self.variables())
    }

    /// One of ours that is reached over HTTP.
    pub(crate) fn serve(&self) -> HttpProcess {
        let arguments = self.arguments();
        let arguments = arguments.each_ref().map(String::as_str);
        let (project, variables) = (self.behind.project(), self.variables());
        HttpProcess::start_with(AHMA_MCP, &arguments, project, &variables)
    }

    fn arguments(&self) -> [String; 4] {
        let config = self.behind.place.path().join("mcp.json");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        [
            "--sandbox-scope".to_owned(),
            text(self.behind.project()),
            "--mcp-config".to_owned(),
            text(&config),
        ]
    }

    /// A client with these capabilities, in the way of 2025-11-25 or without a handshake.
    pub(crate) fn start_asked(&self, elicitation: Option<&Value>) -> McpProcess {
        let arguments = self.arguments();
        let arguments = arguments.each_ref().map(String::as_str);
        let (project, variables) = (self.behind.project(), self.variables());
        let mut client = McpProcess::start(AHMA_MCP, &arguments, project, &variables);
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
    pub(crate) fn known_and_signed_out(&self) {
        self.login();
        let mut client = self.start();
        until(|| names(&mut client).contains(&"notes_echo".to_owned()));
        client.close();
        assert_eq!(self.auth(&["logout", "notes"]).code, 0);
    }

    /// Has the records say that a keyring holds their tokens.
    pub(crate) fn have_tokens_in_keyring(&self) {
        for entry in fs::read_dir(self.tokens()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "json") {
                let text = fs::read_to_string(&path).unwrap();
                let mut record: Value = serde_json::from_str(&text).unwrap();
                record["place"] = json!("keyring");
                record["tokens"] = Value::Null;
                fs::write(&path, record.to_string()).unwrap();
            }
        }
    }

    /// How often somebody has opened a page to sign in.
    pub(crate) fn sign_ins(&self) -> usize {
        self.behind.count("authorize right")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
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
pub(crate) fn open(url: &str) -> String {
    let output = Command::new(browser()).arg(url).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn url_in(text: &str) -> String {
    let mut words = text.split_whitespace();
    words
        .find(|it| it.contains("/authorize?"))
        .unwrap()
        .to_owned()
}

/// Where an authorization server sends the browser.
pub(crate) fn sent_to(url: &str) -> String {
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

/// Without anything that was ever given out as a code or a token, and without secrets of clients.
pub(crate) fn is_secret_free(text: &str) -> bool {
    let secrets = ["authcode-", "access-", "refresh-", "s3cret-"];
    secrets.iter().all(|it| !text.contains(it))
}

pub(crate) fn walk(top: &Path) -> Vec<PathBuf> {
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

/// `auth login` of somebody who pastes: what has to be opened, and the rest of the program. It ends with this.
pub(crate) struct Pasting {
    pub(crate) url: String,
    login: Child,
    output: BufReader<ChildStdout>,
    complaints: Arc<Mutex<String>>,
    listening: Option<JoinHandle<()>>,
}

impl Pasting {
    pub(crate) fn begin(world: &World) -> Self {
        Self::begin_with(world, &["--no-browser"])
    }

    pub(crate) fn begin_with(world: &World, further: &[&str]) -> Self {
        let mut login = world
            .auth_command(&["login", "notes"])
            .args(further)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (complaints, errors) = (Arc::<Mutex<String>>::default(), login.stderr.take());
        let all = Arc::clone(&complaints);
        let listening = std::thread::spawn(move || {
            for line in BufReader::new(errors.unwrap()).lines() {
                let mut all = all.lock().unwrap();
                all.push_str(&line.unwrap());
                all.push('\n');
            }
        });
        let mut output = BufReader::new(login.stdout.take().unwrap());
        let mut url = String::new();
        output.read_line(&mut url).unwrap();
        Pasting {
            url: url.trim().to_owned(),
            login,
            output,
            complaints,
            listening: Some(listening),
        }
    }

    /// What it has told people so far.
    pub(crate) fn complaints(&self) -> String {
        self.complaints.lock().unwrap().clone()
    }

    /// Pastes lines; what is said in the end, and what was complained of before.
    pub(crate) fn paste(mut self, lines: &str) -> (String, String) {
        let mut input = self.login.stdin.take().unwrap();
        writeln!(input, "{lines}").unwrap();
        let mut said = String::new();
        self.output.read_line(&mut said).unwrap();
        let status = self.login.wait().unwrap();
        self.listening.take().unwrap().join().unwrap();
        let complaints = self.complaints();
        assert!(status.success(), "{complaints}");
        (said, complaints)
    }
}

impl Drop for Pasting {
    fn drop(&mut self) {
        let _ = self.login.kill();
        let _ = self.login.wait();
    }
}

//! A server process that is reached over HTTP.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::Workspace;
use crate::http::Client;
use crate::served::in_background;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A server process in HTTP mode. It keeps its token, its log and its private directories to itself.
pub struct HttpProcess {
    child: Child,
    stderr: Receiver<String>,
    /// What it said until it served.
    pub said: String,
    /// Where it listens; port 0 when that is a socket.
    pub address: SocketAddr,
    /// Its token; none when that is switched off.
    pub token: Option<String>,
    /// The tokens of all its endpoints, by path.
    pub tokens: BTreeMap<String, String>,
    home: Workspace,
}

impl HttpProcess {
    /// Starts a server in a directory and waits until it has said where it is.
    pub fn start(program: &str, arguments: &[&str], directory: &Path) -> Self {
        Self::start_with(program, arguments, directory, &[])
    }

    /// The same with these variables.
    pub fn start_with(
        program: &str,
        arguments: &[&str],
        directory: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        let home = Workspace::new();
        home.make_directory("tmp");
        let mut child = Command::new(program)
            .args(["--mode", "http"])
            .args(in_background(arguments))
            .current_dir(directory)
            .env("XDG_CACHE_HOME", home.path().join("cache"))
            .env("XDG_STATE_HOME", home.path().join("state"))
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .env("TMPDIR", home.path().join("tmp"))
            .env_remove("AHMA_HTTP_TOKEN")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, stderr) = channel();
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut process = HttpProcess {
            child,
            stderr,
            said: String::new(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: None,
            tokens: BTreeMap::new(),
            home,
        };
        process.listen_for_address();
        process
    }

    fn listen_for_address(&mut self) {
        loop {
            let line = self.stderr.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|_| panic!("the server did not start: {}", self.said));
            self.said += &line;
            self.said += "\n";
            if let Some((_, url)) = line.split_once("URL with its key") {
                let url = url.trim().strip_prefix("http://").expect("a URL");
                let (address, rest) = url.split_once('/').expect("a path");
                if address != "localhost" {
                    self.address = address.parse().expect("an address");
                }
                self.token = rest.strip_prefix("mcp?key=").map(str::to_owned);
                if let Some(token) = &self.token {
                    self.tokens.insert("/mcp".to_owned(), token.clone());
                }
            }
            if let Some((_, url)) = line.split_once("  workspace  ") {
                let url = url.trim().strip_prefix("http://").expect("a URL");
                let (_, rest) = url.split_once('/').expect("a path");
                if let Some((path, key)) = rest.split_once("?key=") {
                    self.tokens.insert(format!("/{path}"), key.to_owned());
                }
            }
            if line.contains("state file  ") {
                return;
            }
        }
    }

    /// Everything it has said on stderr so far.
    pub fn stderr(&mut self) -> String {
        while let Ok(line) = self.stderr.try_recv() {
            self.said += &line;
            self.said += "\n";
        }
        self.said.clone()
    }

    /// A session.
    pub fn connect(&self) -> Client {
        Client::connect(self.address, self.token.as_deref())
    }

    /// A client without one.
    pub fn stateless(&self) -> Client {
        Client {
            tokens: self.tokens.clone(),
            ..Client::stateless(self.address, self.token.as_deref())
        }
    }

    /// The home of its user.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        assert!(crate::signal(name, self.pid()));
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the server did not end");
    }
}

impl Drop for HttpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

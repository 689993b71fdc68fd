//! A client that speaks MCP with a server process line by line, and sees everything on its stdout.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Workspace;

/// No test waits longer than this for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The file in the cache that a server's stderr goes to.
const STDERR: &str = "stderr";

/// A server process and the connection to it.
pub struct McpProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// Where the server logs, so that it does not do so in the cache of whoever runs the tests.
    cache: Workspace,
    /// Those that came and nobody has asked for.
    notifications: VecDeque<Value>,
    /// Answers that came before those that were waited for.
    early: VecDeque<Value>,
}

impl McpProcess {
    /// Starts a server without talking to it.
    pub fn start(
        program: &str,
        arguments: &[&str],
        directory: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        Self::start_with(program, arguments, directory, environment, None)
    }

    /// The same, with a stderr that nobody reads.
    pub fn start_unread(program: &str, arguments: &[&str], directory: &Path) -> Self {
        Self::start_with(program, arguments, directory, &[], Some(Stdio::piped()))
    }

    fn start_with(
        program: &str,
        arguments: &[&str],
        directory: &Path,
        environment: &[(&str, &str)],
        stderr: Option<Stdio>,
    ) -> Self {
        let cache = Workspace::new();
        let stderr = stderr.unwrap_or_else(|| {
            let file = File::create(cache.path().join(STDERR));
            file.expect("a file can be made").into()
        });
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .env("XDG_CACHE_HOME", cache.path())
            .env("XDG_STATE_HOME", cache.path().join("state"))
            .env("XDG_CONFIG_HOME", cache.path().join("config"))
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the server can be started");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        McpProcess {
            child,
            input,
            lines,
            next_id: 1,
            cache,
            notifications: VecDeque::new(),
            early: VecDeque::new(),
        }
    }

    /// Starts a server and initializes as a client of 2025-06-18.
    pub fn connect(
        program: &str,
        arguments: &[&str],
        directory: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut process = Self::start(program, arguments, directory, environment);
        let answer = process.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" }
            }),
        );
        assert_eq!(
            answer["result"]["serverInfo"]["name"], "ahma_mcp",
            "{answer}"
        );
        process.notify("notifications/initialized", &json!({}));
        process
    }

    /// What the server has written to stderr so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.cache.path().join(STDERR)).expect("it goes to a file")
    }

    /// The user's cache directory, as the server sees it.
    pub fn cache(&self) -> &Path {
        self.cache.path()
    }

    /// The process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a line, whatever it holds.
    pub fn send_line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the connection is open");
        let whole = [line, b"\n"].concat();
        input.write_all(&whole).expect("the server reads");
    }

    /// Waits for the next answer, whatever it answers.
    pub fn any_answer(&mut self) -> Value {
        let end = Instant::now() + TIMEOUT;
        loop {
            let message = self.next_message(end, 0);
            if message.get("method").is_none() {
                return message;
            }
            self.notifications.push_back(message);
        }
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the connection is open");
        writeln!(input, "{message}").expect("the server reads");
    }

    /// Waits for the answer to a request; other messages are kept until they are asked for.
    pub fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"].as_u64() == Some(id);
        if let Some(at) = self.early.iter().position(is_it) {
            return self.early.remove(at).expect("it was found");
        }
        let end = Instant::now() + TIMEOUT;
        loop {
            let message = self.next_message(end, id);
            // Requests of the server have ids of their own.
            let id = message["id"].as_u64();
            match id.filter(|_| message.get("method").is_none()) {
                Some(_) if is_it(&message) => return message,
                Some(_) => self.early.push_back(message),
                None => self.notifications.push_back(message),
            }
        }
    }

    /// Waits for a notification of this kind; others that came before it are dropped.
    pub fn notification(&mut self, method: &str) -> Value {
        let end = Instant::now() + TIMEOUT;
        loop {
            let message = match self.notifications.pop_front() {
                Some(message) => message,
                None => self.next_message(end, 0),
            };
            if message["method"] == method {
                return message;
            }
        }
    }

    /// How many notifications of this kind have come by the time a request is answered.
    pub fn notifications_so_far(&mut self, method: &str) -> usize {
        self.request("ping", &json!({}));
        self.notifications_received(method)
    }

    /// How many notifications of this kind have been received and not asked for.
    pub fn notifications_received(&self, method: &str) -> usize {
        let all = self.notifications.iter();
        all.filter(|message| message["method"] == method).count()
    }

    fn next_message(&mut self, end: Instant, id: u64) -> Value {
        let line = match self
            .lines
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("no answer to request {id}"),
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the server ended before it answered {id}")
            }
        };
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("not a message on stdout: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool and returns its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> CallResult {
        let answer = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        CallResult::of(&answer)
    }

    /// Closes the connection; the server is expected to end by itself.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the server.
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

    /// Ends the server as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a tool call.
#[derive(Debug, Clone)]
pub struct CallResult {
    /// Its text.
    pub text: String,
    /// Whether it is an error result.
    pub is_error: bool,
    /// The operation record, where there is one.
    pub record: Value,
    /// What the user should look at, for programs.
    pub warnings: Value,
    /// The structured content, where there is some.
    pub structured: Value,
}

impl CallResult {
    /// Reads the answer to a `tools/call`.
    pub fn of(answer: &Value) -> Self {
        let result = &answer["result"];
        assert!(result.is_object(), "no result: {answer}");
        CallResult {
            text: result["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            is_error: result["isError"].as_bool().unwrap_or_default(),
            record: result["_meta"]["ahma/operation"].clone(),
            warnings: result["_meta"]["ahma/warnings"].clone(),
            structured: result["structuredContent"].clone(),
        }
    }

    /// The id of the operation.
    pub fn operation_id(&self) -> String {
        self.record["operation_id"]
            .as_str()
            .expect("an operation")
            .to_owned()
    }
}

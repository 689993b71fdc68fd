//! A client that speaks HTTP by hand: every header is the test's own, and what comes back is seen as it is.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::CallResult;

/// No test waits longer than this for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// What clients of both kinds of answers send.
pub const BOTH: &str = "application/json, text/event-stream";

/// A request that is not sent yet.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    has_host: bool,
}

impl Request {
    /// Without headers, except for those that HTTP needs.
    pub fn new(method: &str, target: &str) -> Self {
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            has_host: true,
        }
    }

    /// A message, as MCP clients send it.
    pub fn message(message: &Value) -> Self {
        Request::new("POST", "/mcp")
            .header("accept", BOTH)
            .json(message.to_string())
    }

    /// With one more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without the headers of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| it != name);
        self
    }

    /// Without the `Host` that is sent otherwise.
    pub fn without_host(mut self) -> Self {
        self.has_host = false;
        self
    }

    /// With this content.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With this content, which is said to be JSON.
    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", "application/json").body(body)
    }

    /// What goes over the connection.
    pub fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if self.has_host {
            text += &format!("host: {address}\r\n");
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method == "POST" {
            text += &format!("content-length: {}\r\n", self.body.len());
        }
        text += "\r\n";
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own and reads the whole answer.
    pub fn send(&self, address: SocketAddr) -> Reply {
        self.open(address).rest()
    }

    /// Sends it and reads the head of the answer; the rest comes as it comes.
    pub fn open(&self, address: SocketAddr) -> Opened {
        Connection::to(address).open(self)
    }
}

/// A connection that can be used for one request after the other.
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    /// A new one.
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a timeout can be set");
        let _ = stream.set_nodelay(true);
        Connection {
            stream: BufReader::new(stream),
            address,
        }
    }

    /// Sends bytes, whatever they are.
    pub fn write(&mut self, bytes: &[u8]) {
        // A server that refuses early may have closed its end.
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Whether the server closes the connection without another word.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.stream.read(&mut byte), Ok(0) | Err(_))
    }

    /// Reads an answer to whatever was written.
    pub fn answer(&mut self) -> Reply {
        let (status, headers) = self.head().expect("an answer");
        let mut reply = Reply {
            status,
            headers,
            body: String::new(),
        };
        let length = reply.header("content-length").expect("a length");
        let mut body = vec![0; length.parse().expect("a number")];
        self.stream.read_exact(&mut body).expect("all of it");
        reply.body = String::from_utf8(body).expect("text");
        reply
    }

    /// The status of an answer to whatever was written; none when the connection is closed instead.
    pub fn status(&mut self) -> Option<u16> {
        Some(self.head()?.0)
    }

    /// The status of the answer to a request; none when there is no answer.
    pub fn status_of(mut self, request: &Request) -> Option<u16> {
        let bytes = request.bytes(self.address);
        self.write(&bytes);
        self.status()
    }

    /// Sends a request and reads the head of the answer.
    pub fn open(mut self, request: &Request) -> Opened {
        let bytes = request.bytes(self.address);
        self.write(&bytes);
        let (status, headers) = self.head().expect("an answer");
        Opened::of(self, status, headers, request.method == "HEAD")
    }

    /// Sends a request and reads the answer.
    pub fn request(self, request: &Request) -> (Reply, Self) {
        let mut opened = self.open(request);
        let mut reply = opened.reply.clone();
        while let Some(chunk) = opened.chunk() {
            reply.body += &chunk;
        }
        (reply, opened.connection)
    }

    fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not an answer: {first}"));
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').expect("a header");
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some((status, headers))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

#[derive(Debug)]
enum Left {
    Nothing,
    Bytes(usize),
    Chunks,
    UntilClosed,
}

/// An answer whose content may still be coming.
pub struct Opened {
    connection: Connection,
    /// What has come.
    pub reply: Reply,
    left: Left,
}

impl Opened {
    fn of(
        connection: Connection,
        status: u16,
        headers: Vec<(String, String)>,
        is_head: bool,
    ) -> Self {
        let reply = Reply {
            status,
            headers,
            body: String::new(),
        };
        let left = match reply.header("content-length") {
            _ if is_head || status == 204 || status == 304 => Left::Nothing,
            Some(length) => Left::Bytes(length.parse().expect("a length")),
            None if reply.header("transfer-encoding").is_some() => Left::Chunks,
            None => Left::UntilClosed,
        };
        Opened {
            connection,
            reply,
            left,
        }
    }

    /// The next piece of content; none at the end.
    pub fn chunk(&mut self) -> Option<String> {
        let stream = &mut self.connection;
        let length = match self.left {
            Left::Nothing | Left::Bytes(0) => return None,
            Left::Bytes(length) => {
                self.left = Left::Nothing;
                length
            }
            Left::Chunks => {
                let line = stream.line()?;
                usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("no chunk: {line}"))
            }
            Left::UntilClosed => {
                self.left = Left::Nothing;
                let mut rest = Vec::new();
                let _ = stream.stream.read_to_end(&mut rest);
                return Some(String::from_utf8(rest).expect("text"));
            }
        };
        let mut piece = vec![0; length];
        stream.stream.read_exact(&mut piece).expect("all of it");
        if matches!(self.left, Left::Chunks) {
            stream.line();
        }
        if length == 0 {
            self.left = Left::Nothing;
            return None;
        }
        Some(String::from_utf8(piece).expect("text"))
    }

    /// The next message of a stream of events; none at its end. Signs of life are passed over.
    pub fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.reply.body.find("\n\n") {
                let text: String = self.reply.body.drain(..end + 2).collect();
                let event = Event::of(&text);
                if event.id.is_some() || event.data != Value::Null {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.chunk()?;
            self.reply.body += &chunk;
        }
    }

    /// Whether something has come that can be read now.
    pub fn is_ready(&self) -> bool {
        let stream = self.connection.stream.get_ref();
        stream.set_nonblocking(true).expect("a mode can be set");
        let ready = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a mode can be set");
        ready || !self.connection.stream.buffer().is_empty()
    }

    /// The next message of this kind; others are passed over.
    pub fn message(&mut self, method: &str) -> Value {
        loop {
            let event = self.event().expect("the stream goes on");
            if event.data["method"] == method {
                return event.data;
            }
        }
    }

    /// Everything that is still to come.
    pub fn rest(mut self) -> Reply {
        while let Some(chunk) = self.chunk() {
            self.reply.body += &chunk;
        }
        self.reply
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where to come back to.
    pub id: Option<String>,
    /// The message; null where there is none.
    pub data: Value,
}

impl Event {
    fn of(text: &str) -> Self {
        let field = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name).map(|it| it.trim().to_owned()))
        };
        let data = field("data:").unwrap_or_default();
        Event {
            id: field("id:"),
            data: serde_json::from_str(&data).unwrap_or(Value::Null),
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The content.
    pub body: String,
}

impl Reply {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(it, value)| (it == name).then_some(value.as_str()))
    }

    /// The content as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The sentence of an error; it has to be JSON.
    pub fn why(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        let why = &self.json()["error"]["message"];
        why.as_str()
            .unwrap_or_else(|| panic!("no sentence: {self:?}"))
            .to_owned()
    }

    /// The messages of a stream that has ended.
    pub fn events(&self) -> Vec<Value> {
        let events = self.body.split("\n\n").map(Event::of);
        events
            .map(|it| it.data)
            .filter(|it| !it.is_null())
            .collect()
    }

    /// The answer to a request, in whichever form it came.
    pub fn answer(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        match self.header("content-type") {
            Some("text/event-stream") => {
                let mut events = self.events();
                events
                    .pop()
                    .unwrap_or_else(|| panic!("no answer: {self:?}"))
            }
            _ => self.json(),
        }
    }
}

/// A session, or none in the newer lifecycle.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where the server is.
    pub address: SocketAddr,
    /// What it wants to see.
    pub token: Option<String>,
    /// The session.
    pub session: Option<String>,
}

impl Client {
    /// Speaks 2026-07-28, which has no sessions.
    pub fn stateless(address: SocketAddr, token: Option<&str>) -> Self {
        Client {
            address,
            token: token.map(str::to_owned),
            session: None,
        }
    }

    /// Opens a session of 2025-06-18.
    pub fn connect(address: SocketAddr, token: Option<&str>) -> Self {
        Client::connect_with(address, token, "2025-06-18")
    }

    /// Opens a session of a version.
    pub fn connect_with(address: SocketAddr, token: Option<&str>, version: &str) -> Self {
        let mut client = Client::begun(address, token, version);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let reply = client
            .prepared(Request::message(&initialized))
            .send(address);
        assert_eq!(reply.status, 202, "{reply:?}");
        client.address = address;
        client
    }

    /// Begins a session and does not say that it is ready.
    pub fn begun(address: SocketAddr, token: Option<&str>, version: &str) -> Self {
        let mut client = Client::stateless(address, token);
        let reply = client
            .with_token(Request::message(&initialize(version)))
            .send(address);
        assert_eq!(reply.status, 200, "{reply:?}");
        client.session = reply.header("mcp-session-id").map(str::to_owned);
        assert!(client.session.is_some(), "{reply:?}");
        client
    }

    fn with_token(&self, request: Request) -> Request {
        match &self.token {
            Some(token) => request.header("authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    /// A request with token and session.
    pub fn prepared(&self, request: Request) -> Request {
        let request = self.with_token(request);
        match &self.session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    /// A message as this client sends it.
    pub fn message(&self, id: &Value, method: &str, params: &Value) -> Request {
        let mut params = params.clone();
        let is_stateless = self.session.is_none();
        if is_stateless {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            match params.get_mut("_meta").and_then(Value::as_object_mut) {
                Some(given) => given.extend(meta.as_object().expect("an object").clone()),
                None => params["_meta"] = meta,
            }
        }
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !id.is_null() {
            message["id"] = id.clone();
        }
        let mut request = Request::message(&message);
        if is_stateless {
            request = request
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", method);
            if let Some(name) = params["name"].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        self.prepared(request)
    }

    /// Sends a request and waits for its answer.
    pub fn request(&self, method: &str, params: &Value) -> Value {
        self.message(&json!(1), method, params)
            .send(self.address)
            .answer()
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) {
        let reply = self
            .message(&Value::Null, method, params)
            .send(self.address);
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// The request of a call.
    pub fn calling(&self, tool: &str, arguments: &Value) -> Request {
        let params = json!({ "name": tool, "arguments": arguments });
        self.message(&json!(1), "tools/call", &params)
    }

    /// Calls a tool and returns its result.
    pub fn call(&self, tool: &str, arguments: &Value) -> CallResult {
        CallResult::of(&self.calling(tool, arguments).send(self.address).answer())
    }

    /// Runs a script and returns its result.
    pub fn sync(&self, command: &str) -> CallResult {
        let arguments = json!({ "command": command, "execution_mode": "sync" });
        self.call("sandboxed_shell", &arguments)
    }

    /// Starts a script in the background; the id of its operation.
    pub fn start(&self, command: &str) -> String {
        let started = self.call("sandboxed_shell", &json!({ "command": command }));
        started.operation_id()
    }

    /// Opens the stream of what belongs to no request.
    pub fn stream(&self) -> Opened {
        let request = Request::new("GET", "/mcp").header("accept", "text/event-stream");
        let opened = self.prepared(request).open(self.address);
        assert_eq!(opened.reply.status, 200, "{:?}", opened.reply);
        opened
    }

    /// The rest of a stream that broke after this event.
    pub fn stream_after(&self, event_id: &str) -> Opened {
        let request = Request::new("GET", "/mcp")
            .header("accept", "text/event-stream")
            .header("last-event-id", event_id);
        self.prepared(request).open(self.address)
    }

    /// Ends the session.
    pub fn delete(&self) -> Reply {
        self.prepared(Request::new("DELETE", "/mcp"))
            .send(self.address)
    }
}

/// The first message of a session.
pub fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" }
        }
    })
}

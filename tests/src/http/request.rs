//! What is sent, and over what.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::reply::{Opened, Reply};

/// No test waits longer than this for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
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
        Request::message_to("/mcp", message)
    }

    /// The same, to another path.
    pub fn message_to(path: &str, message: &Value) -> Self {
        Request::new("POST", path)
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
    pub(super) stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    /// A new one.
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(TIMEOUT))
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

    pub(super) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

//! A client of either lifecycle.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::reply::{Opened, Reply};
use super::request::Request;
use crate::mcp::CallResult;

/// A session, or none in the newer lifecycle.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where the server is.
    pub address: SocketAddr,
    /// What it wants to see.
    pub token: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Where MCP is spoken.
    pub path: String,
    /// What other paths want to see.
    pub tokens: BTreeMap<String, String>,
}

impl Client {
    /// Speaks 2026-07-28, which has no sessions.
    pub fn stateless(address: SocketAddr, token: Option<&str>) -> Self {
        Client {
            address,
            token: token.map(str::to_owned),
            session: None,
            path: "/mcp".to_owned(),
            tokens: BTreeMap::new(),
        }
    }

    /// Opens a session of 2025-06-18.
    pub fn connect(address: SocketAddr, token: Option<&str>) -> Self {
        Client::connect_with(address, token, "2025-06-18")
    }

    /// Opens a session of a version.
    pub fn connect_with(address: SocketAddr, token: Option<&str>, version: &str) -> Self {
        Client::stateless(address, token).connected(&initialize(version))
    }

    /// The same client at another path, with the token for it.
    pub fn at(mut self, path: &str) -> Self {
        if let Some(token) = self.tokens.get(path) {
            self.token = Some(token.clone());
        }
        self.path = path.to_owned();
        self
    }

    /// Opens a session with this first message.
    pub fn connected(&self, first: &Value) -> Self {
        let client = self.begun_as(first);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let reply = client
            .prepared(client.posted(&initialized))
            .send(client.address);
        assert_eq!(reply.status, 202, "{reply:?}");
        client
    }

    /// Begins a session and does not say that it is ready.
    pub fn begun(address: SocketAddr, token: Option<&str>, version: &str) -> Self {
        Client::stateless(address, token).begun_as(&initialize(version))
    }

    /// The same with this first message.
    pub fn begun_as(&self, first: &Value) -> Self {
        let mut client = self.clone();
        let reply = client.with_token(client.posted(first)).send(client.address);
        assert_eq!(reply.status, 200, "{reply:?}");
        client.session = reply.header("mcp-session-id").map(str::to_owned);
        assert!(client.session.is_some(), "{reply:?}");
        client
    }

    /// A message to where this client speaks.
    fn posted(&self, message: &Value) -> Request {
        Request::message_to(&self.path, message)
    }

    /// Sends a message as it is, in the session.
    pub fn send(&self, message: &Value) -> Reply {
        self.prepared(self.posted(message)).send(self.address)
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
            let mut meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            // What the caller says itself stands.
            let given = params["_meta"].as_object().cloned().unwrap_or_default();
            meta.as_object_mut().expect("an object").extend(given);
            params["_meta"] = meta;
        }
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !id.is_null() {
            message["id"] = id.clone();
        }
        let mut request = self.posted(&message);
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
        let request = Request::new("GET", &self.path).header("accept", "text/event-stream");
        let opened = self.prepared(request).open(self.address);
        assert_eq!(opened.reply.status, 200, "{:?}", opened.reply);
        opened
    }

    /// The rest of a stream that broke after this event.
    pub fn stream_after(&self, event_id: &str) -> Opened {
        let request = Request::new("GET", &self.path)
            .header("accept", "text/event-stream")
            .header("last-event-id", event_id);
        self.prepared(request).open(self.address)
    }

    /// Ends the session.
    pub fn delete(&self) -> Reply {
        self.prepared(Request::new("DELETE", &self.path))
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

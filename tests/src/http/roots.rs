//! A client that names its roots when it is asked.

use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::client::{Client, initialize};

/// The first message of a client that has roots.
pub fn initialize_with_roots() -> Value {
    let mut first = initialize("2025-06-18");
    first["params"]["capabilities"] = json!({ "roots": { "listChanged": true } });
    first
}

/// The URI of a directory.
pub fn root_of(directory: &Path) -> String {
    format!("file://{}", directory.display())
}

impl Client {
    /// Opens a session that answers every question for its roots with these, on its event stream.
    pub fn with_roots(&self, roots: &[String]) -> Client {
        let client = self.begun_with_roots();
        let mut stream = client.stream();
        let answering = client.clone();
        let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
        thread::spawn(move || {
            while let Some(event) = stream.event() {
                if event.data["method"] == "roots/list" {
                    answering.answer(&event.data["id"], &json!({ "roots": roots }));
                }
            }
        });
        client.notify("notifications/initialized", &json!({}));
        client
    }

    /// Begins a session that has roots, and says nothing more.
    pub fn begun_with_roots(&self) -> Client {
        self.begun_as(&initialize_with_roots())
    }

    /// Answers a question of the server.
    pub fn answer(&self, id: &Value, result: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let reply = self.send(&message);
        assert_eq!(reply.status, 202, "{reply:?}");
    }
}

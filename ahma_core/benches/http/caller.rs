//! A caller that costs little: one connection, one request after the other, an answer that is only looked through.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ahma_tests::http::Client;
use serde_json::json;

pub(crate) struct Caller {
    stream: TcpStream,
    client: Client,
    tool: &'static str,
    /// Its requests have this id: the plain server cannot tell equal ones apart.
    id: usize,
    /// Of the script that was sent last.
    request: (String, Vec<u8>),
    answer: Vec<u8>,
}

impl Caller {
    pub(crate) fn new(client: &Client, tool: &'static str) -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(1);
        let stream = TcpStream::connect(client.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Caller {
            stream,
            client: client.clone(),
            tool,
            id: LAST.fetch_add(1, Ordering::Relaxed),
            request: Default::default(),
            answer: Vec::new(),
        }
    }

    /// One call and its answer.
    pub(crate) fn call(&mut self, script: &str) {
        if self.request.0 != script {
            let arguments = json!({ "command": script, "execution_mode": "sync" });
            let params = json!({ "name": self.tool, "arguments": arguments });
            let id = json!(self.id);
            let request = self.client.message(&id, "tools/call", &params);
            self.request = (script.to_owned(), request.bytes(self.client.address));
        }
        self.stream.write_all(&self.request.1).unwrap();
        self.answer.clear();
        let mut piece = [0; 65536];
        // Every answer to a call is sent in chunks.
        while !self.answer.ends_with(b"\r\n0\r\n\r\n") {
            let length = self.stream.read(&mut piece).unwrap();
            assert!(length > 0, "the server closed the connection");
            self.answer.extend_from_slice(&piece[..length]);
        }
        let is_result = self.answer.windows(9).any(|it| it == b"\"result\":");
        assert!(is_result, "{}", String::from_utf8_lossy(&self.answer));
    }
}

/// Many calls, each caller one after the other.
pub(crate) fn many(callers: &mut [Caller], script: &str, count: usize) {
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for caller in callers {
            let done = &done;
            scope.spawn(move || {
                while done.fetch_add(1, Ordering::Relaxed) < count {
                    caller.call(script);
                }
            });
        }
    });
}

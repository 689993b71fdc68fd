//! What comes back: whole, or as it comes.

use std::io::Read as _;

use serde_json::Value;

use super::request::Connection;

#[derive(Debug)]
enum Left {
    Nothing,
    Bytes(usize),
    Chunks,
    UntilClosed,
}

/// An answer whose content may still be coming.
pub struct Opened {
    pub(super) connection: Connection,
    /// What has come.
    pub reply: Reply,
    left: Left,
}

impl Opened {
    pub(super) fn of(
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
    pub(super) headers: Vec<(String, String)>,
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

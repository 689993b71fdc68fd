//! JSON-RPC messages as they travel: only their envelope is read, what they carry is passed on as it came.

use std::borrow::Cow;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::request_error::ErrorAnswer;

/// What is looked at of a message that is too long, at both ends, for the request that it answers.
const ENDS: usize = 512;

/// What came from a server.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The answer to one of our requests.
    Answer {
        id: u64,
        answer: Result<Box<RawValue>, ErrorAnswer>,
    },
    /// It asks something of us.
    Request {
        id: Box<RawValue>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// It tells us something.
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// An answer to one of our requests that cannot be read.
    Unreadable { id: u64, why: String },
    /// No message at all.
    Rubbish,
}

#[derive(Deserialize)]
struct Envelope<'m> {
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow, default)]
    params: Option<&'m RawValue>,
    #[serde(borrow, default)]
    result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    error: Option<&'m RawValue>,
}

impl Incoming {
    /// Reads the envelope of a message.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let envelope: Envelope<'_> = match serde_json::from_slice(text) {
            Ok(envelope) => envelope,
            Err(error) => {
                return match answered_by(text) {
                    Some(id) => Incoming::Unreadable {
                        id,
                        why: error.to_string(),
                    },
                    None => Incoming::Rubbish,
                };
            }
        };
        let own = |it: Option<&RawValue>| it.map(ToOwned::to_owned);
        if let Some(method) = envelope.method {
            let (method, params) = (method.into_owned(), own(envelope.params));
            return match own(envelope.id) {
                Some(id) => Incoming::Request { id, method, params },
                None => Incoming::Notification { method, params },
            };
        }
        let Some(id) = envelope.id.and_then(our_id) else {
            return Incoming::Rubbish;
        };
        match (envelope.result, envelope.error) {
            (Some(result), None) => Incoming::Answer {
                id,
                answer: Ok(result.to_owned()),
            },
            (None, Some(error)) => Incoming::Answer {
                id,
                answer: Err(ErrorAnswer::parse(error)),
            },
            (Some(_), Some(_)) => Incoming::Unreadable {
                id,
                why: "it has a result and an error".to_owned(),
            },
            (None, None) => Incoming::Unreadable {
                id,
                why: "it has neither a result nor an error".to_owned(),
            },
        }
    }
}

/// One of our ids: they are numbers, which some servers give back as text.
fn our_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// Which of our requests a message answers that is too long, or is not JSON, by its beginning and its end. What it carries may
/// have ids of its own, which are of no meaning here.
pub(crate) fn answered_by(text: &[u8]) -> Option<u64> {
    let head = &text[..text.len().min(ENDS)];
    let tail = &text[text.len().saturating_sub(ENDS)..];
    let carried = [&b"\"result\""[..], b"\"error\""];
    let carried = carried.iter().filter_map(|it| find(head, it)).min();
    let before = &head[..carried.unwrap_or(head.len())];
    // These mean that it asks, and answers nothing.
    if find(before, b"\"method\"").is_some() || find(before, b"\"params\"").is_some() {
        return None;
    }
    if let Some(at) = find(before, ID) {
        return id_at(before, at).map(|(id, _)| id);
    }
    let at = tail.windows(ID.len()).rposition(|window| window == ID)?;
    let (id, rest) = id_at(tail, at)?;
    // Nothing but the message itself ends after its id.
    let ends = rest.iter().filter(|byte| **byte == b'}').count();
    (ends == 1).then_some(id)
}

const ID: &[u8] = b"\"id\"";

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The id whose name begins at a place, and what follows it.
fn id_at(text: &[u8], at: usize) -> Option<(u64, &[u8])> {
    let after = text.get(at + ID.len()..)?.trim_ascii_start();
    let value = after.strip_prefix(b":")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let digits = value.iter().take_while(|it| it.is_ascii_digit()).count();
    let (digits, rest) = value.split_at_checked(digits)?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// The parameters of a request: fields in their order, whatever they hold.
#[derive(Debug, Clone, Default)]
pub struct Params(Vec<(String, Box<RawValue>)>);

impl Params {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more. What cannot be written as JSON is left out.
    #[must_use]
    pub fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        if let Ok(value) = to_raw_value(value) {
            self.0.push((name.to_owned(), value));
        }
        self
    }

    /// The text of a field that is one.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let field = self.0.iter().find(|(it, _)| it == name)?;
        serde_json::from_str(field.1.get()).ok()
    }

    /// The fields.
    pub(crate) fn raw(&self, name: &str) -> Option<&RawValue> {
        let field = self.0.iter().find(|(it, _)| it == name)?;
        Some(&field.1)
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Sent<'m> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Id<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'m Params>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'m RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'m ErrorAnswer>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Id<'m> {
    Ours(u64),
    Theirs(&'m RawValue),
}

const EMPTY: Sent<'static> = Sent {
    jsonrpc: "2.0",
    id: None,
    method: None,
    params: None,
    result: None,
    error: None,
};

fn bytes(message: &Sent<'_>) -> Vec<u8> {
    // Nothing of it can fail to be written.
    serde_json::to_vec(message).unwrap_or_default()
}

/// A request of ours.
pub(crate) fn request(id: u64, method: &str, params: &Params) -> Vec<u8> {
    bytes(&Sent {
        id: Some(Id::Ours(id)),
        method: Some(method),
        params: Some(params),
        ..EMPTY
    })
}

/// A notification of ours.
pub(crate) fn notification(method: &str, params: &Params) -> Vec<u8> {
    bytes(&Sent {
        method: Some(method),
        params: Some(params),
        ..EMPTY
    })
}

/// Our answer to a request of the server.
pub(crate) fn answer(id: &RawValue, answer: &Result<Box<RawValue>, ErrorAnswer>) -> Vec<u8> {
    bytes(&Sent {
        id: Some(Id::Theirs(id)),
        result: answer.as_ref().ok().map(AsRef::as_ref),
        error: answer.as_ref().err(),
        ..EMPTY
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_carries_stays_as_it_came() {
        let odd = r#"{"b":1.10,"a":12345678901234567890123,"x":1E5,"t":"\u00e9"}"#;
        let text = format!(r#"{{"result":{odd},"jsonrpc":"2.0","id":7}}"#);
        let Incoming::Answer { id: 7, answer } = Incoming::parse(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!(answer.unwrap().get(), odd);
    }

    #[test]
    fn messages_are_told_apart() {
        let parse = |text: &str| Incoming::parse(text.as_bytes());
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            Incoming::Request { .. }
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#),
            Incoming::Notification { .. }
        ));
        assert!(matches!(
            parse(r#"{"id":"7","result":{}}"#),
            Incoming::Answer {
                id: 7,
                answer: Ok(_)
            }
        ));
        assert!(matches!(
            parse(r#"{"id":7,"error":{"code":-1,"message":"no"}}"#),
            Incoming::Answer {
                id: 7,
                answer: Err(_)
            }
        ));
        for text in [
            r#"{"id":7,"result":{},"error":{}}"#,
            r#"{"id":7}"#,
            r#"{"id":7,"result":{"#,
        ] {
            assert!(
                matches!(parse(text), Incoming::Unreadable { id: 7, .. }),
                "{text}"
            );
        }
        for text in [
            "42",
            "[1,2]",
            "Starting…",
            r#"{"hello":1}"#,
            r#"{"id":"x","result":1}"#,
        ] {
            assert!(matches!(parse(text), Incoming::Rubbish), "{text}");
        }
    }

    #[test]
    fn the_request_of_a_long_answer_is_found_at_either_end() {
        let long = "x".repeat(5000);
        let first = format!(r#"{{"jsonrpc":"2.0","id": 12,"result":{{"t":"{long}"#);
        assert_eq!(answered_by(first.as_bytes()), Some(12));
        let last = format!(r#"{{"result":{{"t":"{long}"}},"jsonrpc":"2.0","id":13}}"#);
        assert_eq!(answered_by(last.as_bytes()), Some(13));
        let asks = format!(r#"{{"method":"m","params":"{long}","id":14}}"#);
        assert_eq!(answered_by(asks.as_bytes()), None);
        let asks = format!(r#"{{"params":{{"result":"{long}"}},"method":"m","id":14}}"#);
        assert_eq!(answered_by(asks.as_bytes()), None);
    }

    #[test]
    fn ids_that_a_long_answer_carries_are_not_taken_for_its_own() {
        let long = "x".repeat(5000);
        let carried = format!(r#"{{"id":3,"method":"m","t":"{long}","last":{{"id":4}}}}"#);
        let last = format!(r#"{{"result":{carried},"jsonrpc":"2.0","id":"13"}}"#);
        assert_eq!(answered_by(last.as_bytes()), Some(13));
        let first = format!(r#"{{"id":12,"result":{carried},"jsonrpc":"2.0"}}"#);
        assert_eq!(answered_by(first.as_bytes()), Some(12));
        let none = format!(r#"{{"jsonrpc":"2.0","result":{carried}}}"#);
        assert_eq!(answered_by(none.as_bytes()), None);
    }

    #[test]
    fn what_is_sent_is_a_message() {
        let params = Params::new().with("name", "t").with("n", &1);
        let sent = request(3, "tools/call", &params);
        let expected =
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","n":1}}"#;
        assert_eq!(String::from_utf8(sent).unwrap(), expected);
        assert_eq!(params.text("name").as_deref(), Some("t"));
    }
}

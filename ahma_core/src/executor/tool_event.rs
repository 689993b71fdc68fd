//! One line that a command with `"output": "events"` writes. `docs/events.md` is the other side of this.

use data_encoding::BASE64;
use rmcp::model::{ContentBlock, ResourceContents};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::operation::{MessageLevel, ReportedError, Told};

/// The version of the format; the first line that a command reads names it.
pub(crate) const VERSION: u32 = 1;
/// Requests of one question.
const MAX_REQUESTS: usize = 10;
/// Bytes of a name that a command gives to a request.
const MAX_KEY_LEN: usize = 100;
/// What a command may ask a client for.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ToolEvent {
    /// Something that is told at once.
    Told(Told),
    /// A content block of the result.
    Content(Value),
    /// The structured result; the last one counts.
    Structured(Map<String, Value>),
    /// The command has failed.
    Failed(ReportedError),
    /// A question to the client.
    Ask(Map<String, Value>),
    /// A question that cannot be put, by the names of its requests.
    CannotAsk(Vec<String>),
    /// The command goes on in the background.
    Background,
}

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default = "info")]
    level: MessageLevel,
    logger: Option<String>,
    data: Value,
}

#[derive(Deserialize)]
struct Content {
    content: Value,
}

#[derive(Deserialize)]
struct Structured {
    value: Map<String, Value>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
    code: Option<i32>,
}

#[derive(Deserialize)]
struct Ask {
    questions: Map<String, Value>,
}

fn info() -> MessageLevel {
    MessageLevel::Info
}

impl ToolEvent {
    /// Reads a line; none when it is anything else than an event, and therefore text.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        if !line.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        // Not by serde's tag: what it holds back in between loses fractions.
        let mut fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        let kind = fields.shift_remove("type")?;
        let fields = Value::Object(fields);
        Some(match kind.as_str()? {
            "progress" => {
                let Progress {
                    progress,
                    total,
                    message,
                } = serde_json::from_value(fields).ok()?;
                ToolEvent::Told(Told::Progress {
                    progress,
                    total,
                    message,
                })
            }
            "log" => {
                let Log {
                    level,
                    logger,
                    data,
                } = serde_json::from_value(fields).ok()?;
                ToolEvent::Told(Told::Message {
                    level,
                    logger,
                    data,
                })
            }
            "content" => {
                let Content { content } = serde_json::from_value(fields).ok()?;
                is_block(&content).then_some(ToolEvent::Content(content))?
            }
            "structured" => {
                let Structured { value } = serde_json::from_value(fields).ok()?;
                ToolEvent::Structured(value)
            }
            "error" => {
                let Failure { message, code } = serde_json::from_value(fields).ok()?;
                ToolEvent::Failed(ReportedError { message, code })
            }
            "ask" => {
                let Ask { questions } = serde_json::from_value(fields).ok()?;
                match are_questions(&questions) {
                    true => ToolEvent::Ask(questions),
                    false => ToolEvent::CannotAsk(questions.keys().cloned().collect()),
                }
            }
            "detach" => ToolEvent::Background,
            _ => return None,
        })
    }
}

/// Whether a value is a content block of the protocol.
fn is_block(value: &Value) -> bool {
    // Most are that, and there may be many.
    let has_text = value["type"] == "text" && value["text"].is_string();
    if has_text && value.as_object().is_some_and(|it| it.len() == 2) {
        return true;
    }
    let is_base64 = |text: &str| BASE64.decode(text.as_bytes()).is_ok();
    match serde_json::from_value(value.clone()) {
        Ok(ContentBlock::Text(_) | ContentBlock::ResourceLink(_)) => true,
        Ok(ContentBlock::Image(image)) => is_base64(&image.data),
        Ok(ContentBlock::Audio(audio)) => is_base64(&audio.data),
        Ok(ContentBlock::Resource(embedded)) => match &embedded.resource {
            ResourceContents::BlobResourceContents { blob, .. } => is_base64(blob),
            _ => true,
        },
        _ => false,
    }
}

/// Whether these are requests that a client can be given.
fn are_questions(questions: &Map<String, Value>) -> bool {
    let is_one = |(key, request): (&String, &Value)| {
        let method = request["method"].as_str().unwrap_or_default();
        let params = &request["params"];
        let has_params = params.is_object() || params.is_null() && method == "roots/list";
        key.len() <= MAX_KEY_LEN && METHODS.contains(&method) && has_params
    };
    (1..=MAX_REQUESTS).contains(&questions.len()) && questions.iter().all(is_one)
}

/// How a content block is shown where there is text only.
pub(super) fn shown(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some(kind @ ("image" | "audio")) => {
            let bytes = block["data"].as_str().map_or(0, str::len) / 4 * 3;
            format!(
                "[{kind}, {}, about {bytes} bytes]",
                text(&block["mimeType"])
            )
        }
        Some("resource_link") => format!("[resource {}]", text(&block["uri"])),
        _ => match block["resource"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[resource {}]", text(&block["resource"]["uri"])),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(line: &Value) -> Option<ToolEvent> {
        ToolEvent::parse(line.to_string().as_bytes())
    }

    #[test]
    fn what_is_not_an_event_is_text() {
        for line in [
            json!("progress"),
            json!({ "progress": 1 }),
            json!({ "type": "progress" }),
            json!({ "type": "progress", "progress": "half" }),
            json!({ "type": "log", "level": "loud", "data": 1 }),
            json!({ "type": "content", "content": { "type": "text" } }),
            json!({ "type": "content", "content": { "type": "video", "data": "" } }),
            json!({ "type": "content", "content": { "type": "resource", "resource": { "uri": "a:b" } } }),
            json!({ "type": "structured", "value": [1] }),
            json!({ "type": "content", "content": { "type": "text", "text": "x", "annotations": 1 } }),
            json!({ "type": "content", "content": { "type": "image", "data": "?", "mimeType": "a/b" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }),
        ] {
            assert_eq!(parsed(&line), None, "{line}");
        }
        assert_eq!(ToolEvent::parse(b"{\"type\":\"detach\"} and more"), None);
        assert_eq!(ToolEvent::parse(b"\xff"), None);
    }

    #[test]
    fn a_question_that_cannot_be_put_is_told_from_text() {
        for (questions, keys) in [
            (json!({}), vec![]),
            (
                json!({ "a": { "method": "tools/call", "params": {} } }),
                vec!["a"],
            ),
            (
                json!({ "a": { "method": "elicitation/create" } }),
                vec!["a"],
            ),
        ] {
            let line = json!({ "type": "ask", "questions": questions });
            let keys = keys.into_iter().map(str::to_owned).collect();
            assert_eq!(parsed(&line), Some(ToolEvent::CannotAsk(keys)), "{line}");
        }
    }

    #[test]
    fn events_are_read_and_what_they_do_not_know_is_passed_over() {
        let progress = json!({ "type": "progress", "progress": 0.5, "total": 4, "later": true });
        let expected = ToolEvent::Told(Told::Progress {
            progress: 0.5,
            total: Some(4.0),
            message: None,
        });
        assert_eq!(parsed(&progress), Some(expected));
        let ask = json!({ "q": { "method": "roots/list" } });
        let line = json!({ "type": "ask", "questions": ask });
        let expected = ToolEvent::Ask(ask.as_object().unwrap().clone());
        assert_eq!(parsed(&line), Some(expected));
        assert_eq!(
            parsed(&json!({ "type": "detach" })),
            Some(ToolEvent::Background)
        );
    }
}

//! The lines of a command that writes events: cut, read, and passed on to whom they concern.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::tool_event::{ToolEvent, shown};
use crate::operation::{Dialogue, OperationHandle, Told};

/// A longer line is text.
const MAX_LINE: usize = 24 << 20;
/// Longer pieces are read beside the runtime: a command decides how long they are.
const LONG: usize = 16 * 1024;
/// Bytes of the content of one result.
const MAX_CONTENT: u64 = 24 << 20;

const NOBODY: &str = "a step of a sequence has nobody to ask";
const NO_QUESTION: &str = "a question has one to ten requests, each with a method that clients take, and with its parameters";
const ANOTHER: &str = "another question waits for its answer";

/// The keys of what is kept for the result, one value a line.
pub(crate) const LINE: &str = "line";
pub(crate) const BLOCK: &str = "block";
pub(crate) const STRUCTURED: &str = "structured";

/// Reads what a command writes.
pub(super) struct EventStream<'r> {
    dialogue: Option<&'r Arc<Dialogue>>,
    /// The beginning of a line whose end has not come yet.
    pending: Vec<u8>,
    has_too_much: bool,
}

/// One line.
enum Line {
    Event(ToolEvent),
    Text(String),
}

impl<'r> EventStream<'r> {
    pub(super) fn new(dialogue: Option<&'r Arc<Dialogue>>) -> Self {
        EventStream {
            dialogue,
            pending: Vec::new(),
            has_too_much: false,
        }
    }

    /// Takes a piece of it.
    pub(super) async fn take(&mut self, operation: &OperationHandle, chunk: Vec<u8>) {
        let Some(end) = chunk.iter().rposition(|byte| *byte == b'\n') else {
            self.pending.extend_from_slice(&chunk);
            if self.pending.len() > MAX_LINE {
                self.read(operation, Vec::new()).await;
            }
            return;
        };
        let rest = chunk[end + 1..].to_vec();
        self.pending.extend_from_slice(&chunk[..=end]);
        self.read(operation, rest).await;
    }

    /// Takes the last line, which may have no end.
    pub(super) async fn end(&mut self, operation: &OperationHandle) {
        self.read(operation, Vec::new()).await;
    }

    async fn read(&mut self, operation: &OperationHandle, rest: Vec<u8>) {
        let whole = std::mem::replace(&mut self.pending, rest);
        let lines = match whole.len() > LONG {
            false => parsed(&whole),
            true => spawn_blocking(move || parsed(&whole))
                .await
                .unwrap_or_default(),
        };
        for line in lines {
            match line {
                Line::Text(text) => self.text(operation, text).await,
                Line::Event(event) => self.event(operation, event).await,
            }
        }
    }

    async fn text(&mut self, operation: &OperationHandle, text: String) {
        self.keep(operation, &json!({ LINE: text })).await;
        operation.write(format!("{text}\n").into_bytes()).await;
    }

    async fn event(&mut self, operation: &OperationHandle, event: ToolEvent) {
        let dialogue = self.dialogue;
        match event {
            ToolEvent::Content(block) => {
                operation
                    .write(format!("{}\n", shown(&block)).into_bytes())
                    .await;
                self.keep(operation, &json!({ BLOCK: block })).await;
            }
            ToolEvent::Structured(value) => {
                self.keep(operation, &json!({ STRUCTURED: value })).await;
            }
            ToolEvent::Told(told) => {
                if let Told::Message { level, data, .. } = &told {
                    let text = data
                        .as_str()
                        .map_or_else(|| data.to_string(), str::to_owned);
                    let line = format!("{}: {text}\n", json!(level).as_str().unwrap_or_default());
                    operation.write(line.into_bytes()).await;
                }
                if let Some(dialogue) = dialogue {
                    dialogue.tell(told);
                }
            }
            ToolEvent::Failed(error) => {
                let line = format!("{}\n", error.message);
                operation.write(line.into_bytes()).await;
                self.keep(operation, &json!({ LINE: error.message })).await;
                if let Some(dialogue) = dialogue {
                    dialogue.fail(error);
                }
            }
            ToolEvent::Ask(requests) => {
                let Some(dialogue) = dialogue else { return };
                let keys: Vec<String> = requests.keys().cloned().collect();
                let why = match operation.result() {
                    // The client of a sequence does not know of its steps.
                    None => NOBODY,
                    Some(_) if dialogue.ask(requests) => return,
                    Some(_) => ANOTHER,
                };
                self.refuse(operation, keys, why).await;
            }
            ToolEvent::CannotAsk(keys) => self.refuse(operation, keys, NO_QUESTION).await,
            ToolEvent::Background => {
                if let Some(dialogue) = dialogue {
                    dialogue.goes_to_the_background();
                }
            }
        }
    }

    /// Answers a question with the reason why nobody else does.
    async fn refuse(&self, operation: &OperationHandle, keys: Vec<String>, why: &'static str) {
        operation.write(format!("{why}\n").into_bytes()).await;
        let Some(dialogue) = self.dialogue else {
            return;
        };
        let answers = keys.into_iter().map(|key| (key, json!({ "error": why })));
        let answers = json!({ "answers": answers.collect::<Map<_, _>>() });
        let dialogue = Arc::clone(dialogue);
        tokio::spawn(async move { dialogue.say(&answers).await });
    }

    /// Keeps a part of the result, as long as it is not too much.
    async fn keep(&mut self, operation: &OperationHandle, part: &Value) {
        let Some(result) = operation.result() else {
            return;
        };
        let line = format!("{part}\n").into_bytes();
        let so_far = result.product().totals().bytes;
        if so_far + line.len() as u64 <= MAX_CONTENT {
            let _ = result.product().append(line).await;
        } else if !self.has_too_much {
            self.has_too_much = true;
            let most = MAX_CONTENT >> 20;
            let why = format!("[content beyond {most} MiB is left out of the result]");
            operation.write(format!("{why}\n").into_bytes()).await;
            let line = format!("{}\n", json!({ LINE: why }));
            let _ = result.product().append(line.into_bytes()).await;
        }
    }
}

fn parsed(bytes: &[u8]) -> Vec<Line> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines
        .filter(|line| !line.is_empty())
        .map(|line| match ToolEvent::parse(line) {
            Some(event) => Line::Event(event),
            None => Line::Text(String::from_utf8_lossy(line).into_owned()),
        })
        .collect()
}

//! The lines of a command that writes events: cut, read, and passed on to whom they concern.

use std::io::Write as _;
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
    /// What goes to the output once the lines at hand are read, and what is kept for the result.
    shown: Vec<u8>,
    kept: Vec<u8>,
    /// What was kept last is text, which an empty line belongs to.
    follows_text: bool,
    has_too_much: bool,
}

/// One line.
enum Line {
    Event(ToolEvent),
    Text(String),
    Empty,
}

impl<'r> EventStream<'r> {
    pub(super) fn new(dialogue: Option<&'r Arc<Dialogue>>) -> Self {
        EventStream {
            dialogue,
            pending: Vec::new(),
            shown: Vec::new(),
            kept: Vec::new(),
            follows_text: false,
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
                Line::Text(text) => self.text(operation, &text),
                Line::Empty if self.follows_text => self.text(operation, ""),
                // Between events it makes them easier to read, and says nothing.
                Line::Empty => {}
                Line::Event(event) => self.event(operation, event),
            }
            if self.kept.len() > LONG {
                self.flush(operation).await;
            }
        }
        self.flush(operation).await;
    }

    /// Hands over what the lines have given so far: at once, as each time costs as much as many lines.
    async fn flush(&mut self, operation: &OperationHandle) {
        let (shown, kept) = (
            std::mem::take(&mut self.shown),
            std::mem::take(&mut self.kept),
        );
        if !shown.is_empty() {
            operation.write(shown).await;
        }
        if let Some(result) = operation.result()
            && !kept.is_empty()
        {
            let _ = result.product().append(kept).await;
        }
    }

    fn text(&mut self, operation: &OperationHandle, text: &str) {
        self.follows_text = true;
        self.show(text);
        self.keep(operation, &json!({ LINE: text }));
    }

    fn event(&mut self, operation: &OperationHandle, event: ToolEvent) {
        let dialogue = self.dialogue;
        match event {
            ToolEvent::Content(block) => {
                self.follows_text = false;
                self.show(&shown(&block));
                self.keep(operation, &json!({ BLOCK: block }));
            }
            ToolEvent::Structured(value) => {
                self.follows_text = false;
                self.keep(operation, &json!({ STRUCTURED: value }));
            }
            ToolEvent::Told(told) => {
                if let Told::Message { level, data, .. } = &told {
                    let text = data
                        .as_str()
                        .map_or_else(|| data.to_string(), str::to_owned);
                    let level = json!(level);
                    self.show(&format!("{}: {text}", level.as_str().unwrap_or_default()));
                }
                if let Some(dialogue) = dialogue {
                    dialogue.tell(told);
                }
            }
            ToolEvent::Failed(error) => {
                self.show(&error.message);
                self.keep(operation, &json!({ LINE: error.message }));
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
                self.refuse(keys, why);
            }
            ToolEvent::CannotAsk(keys) => self.refuse(keys, NO_QUESTION),
            ToolEvent::Background => {
                if let Some(dialogue) = dialogue {
                    dialogue.goes_to_the_background();
                }
            }
        }
    }

    /// Answers a question with the reason why nobody else does.
    fn refuse(&mut self, keys: Vec<String>, why: &'static str) {
        self.show(why);
        let Some(dialogue) = self.dialogue else {
            return;
        };
        let answers = keys.into_iter().map(|key| (key, json!({ "error": why })));
        let answers = json!({ "answers": answers.collect::<Map<_, _>>() });
        let dialogue = Arc::clone(dialogue);
        tokio::spawn(async move { dialogue.say(&answers).await });
    }

    /// Shows a line in the output.
    fn show(&mut self, line: &str) {
        self.shown.extend_from_slice(line.as_bytes());
        self.shown.push(b'\n');
    }

    /// Keeps a part of the result, as long as it is not too much.
    fn keep(&mut self, operation: &OperationHandle, part: &Value) {
        let Some(result) = operation.result() else {
            return;
        };
        let begin = self.kept.len();
        // Writing to memory does not fail.
        let _ = writeln!(self.kept, "{part}");
        let so_far = result.product().totals().bytes;
        if so_far + self.kept.len() as u64 > MAX_CONTENT {
            self.kept.truncate(begin);
            if !self.has_too_much {
                self.has_too_much = true;
                let most = MAX_CONTENT >> 20;
                let why = format!("[content beyond {most} MiB is left out of the result]");
                self.show(&why);
                let _ = writeln!(self.kept, "{}", json!({ LINE: why }));
            }
        }
    }
}

fn parsed(bytes: &[u8]) -> Vec<Line> {
    if bytes.is_empty() {
        return Vec::new();
    }
    // Behind the end of the last line is no other one.
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.map(|line| match ToolEvent::parse(line) {
        _ if line.is_empty() => Line::Empty,
        Some(event) => Line::Event(event),
        None => Line::Text(String::from_utf8_lossy(line).into_owned()),
    });
    lines.collect()
}

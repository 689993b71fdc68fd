//! Messages on their way to a client, in the order they were sent.
//!
//! Whoever puts a message in never waits: one reader that is slow holds up nobody else. What a slow reader loses
//! is news, oldest first; an answer is never lost. A message is handed out once. When several read, the newest
//! reader gets it: of two connections of one client, the older is the one that broke.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;

/// News that wait for a reader; of more, the oldest are dropped.
const MAX_NOTIFICATIONS: usize = 64;
/// The same in letters; the newest is kept whatever it has.
const MAX_NOTIFICATION_BYTES: usize = 512 * 1024;
/// Messages that were handed out and can be asked for again, by a client whose connection broke.
const REMEMBERED: usize = 16;
/// When a client whose stream ended should come back.
const COME_BACK: Duration = Duration::from_secs(3);

/// The messages of one stream.
#[derive(Debug)]
pub(crate) struct Outbox {
    number: u64,
    /// Nothing is kept of it once it was read to its end.
    is_forgetful: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Those that were handed out and are remembered, then those that wait.
    messages: VecDeque<(u64, Arc<ServerJsonRpcMessage>)>,
    next: u64,
    /// Messages before this one were handed out.
    handed_out: u64,
    /// Nothing more will come.
    is_finished: bool,
    /// In the order they came.
    readers: Vec<Reader>,
    next_reader: u64,
}

#[derive(Debug)]
struct Reader {
    name: u64,
    waker: Option<Waker>,
}

impl State {
    fn wake(&mut self) {
        for reader in &mut self.readers {
            if let Some(waker) = reader.waker.take() {
                waker.wake();
            }
        }
    }

    fn forget_old(&mut self) {
        let handed_out = self.handed_out;
        let old = |(index, _): &&(u64, _)| *index < handed_out;
        let remembered = self.messages.iter().take_while(old).count();
        self.messages.drain(..remembered.saturating_sub(REMEMBERED));
        let remembered = remembered.min(REMEMBERED);
        if self.messages.len() - remembered > MAX_NOTIFICATIONS {
            let mut news = self.messages.iter();
            let oldest =
                news.position(|(index, message)| *index >= handed_out && is_notification(message));
            if let Some(oldest) = oldest {
                self.messages.remove(oldest);
            }
        }
        let mut letters = self.letters();
        while letters > MAX_NOTIFICATION_BYTES {
            let mut all = self.messages.iter().rev().skip(1).rev();
            let Some(oldest) = all.position(|(_, message)| is_notification(message)) else {
                break;
            };
            let gone = self.messages.remove(oldest);
            letters -= gone.map_or(0, |(_, message)| weight(&message));
        }
    }

    fn letters(&self) -> usize {
        let news = self.messages.iter();
        news.map(|(_, message)| weight(message)).sum()
    }
}

/// About how many letters a message has; answers are not counted, because they are never dropped.
fn weight(message: &ServerJsonRpcMessage) -> usize {
    match message {
        ServerJsonRpcMessage::Notification(it) => match &it.notification {
            ServerNotification::CustomNotification(it) => it.params.as_ref().map_or(0, letters),
            _ => 0,
        },
        _ => 0,
    }
}

fn letters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(letters).sum(),
        Value::Object(fields) => fields.values().map(letters).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn is_notification(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Notification(_))
}

impl Outbox {
    pub(crate) fn new(number: u64) -> Self {
        Outbox {
            number,
            is_forgetful: false,
            state: Mutex::default(),
        }
    }

    /// One whose messages need not be fetched again by a client that has them, or had them on their way.
    pub(crate) fn forgetful(number: u64) -> Self {
        Outbox {
            is_forgetful: true,
            ..Outbox::new(number)
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; after the end nothing is added.
    pub(crate) fn put(&self, message: ServerJsonRpcMessage) {
        let mut state = self.state();
        if state.is_finished {
            return;
        }
        let index = state.next;
        state.next += 1;
        state.messages.push_back((index, Arc::new(message)));
        state.forget_old();
        state.wake();
    }

    /// Nothing more will come.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        state.is_finished = true;
        state.wake();
    }

    /// Whether somebody reads.
    pub(crate) fn is_read(&self) -> bool {
        !self.state().readers.is_empty()
    }

    /// Whether everything there will ever be was handed out.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state();
        state.is_finished && state.handed_out == state.next
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads what was not handed out yet. A client that knows how begins with where to come back to.
    pub(crate) fn read(self: &Arc<Self>, is_primed: bool) -> Messages {
        self.read_from(None, is_primed)
    }

    /// Reads what comes after a message, also what was handed out; everything when no message had come.
    pub(crate) fn read_again(self: &Arc<Self>, after: Option<u64>) -> Messages {
        let first = after.map_or(0, |after| after.saturating_add(1));
        self.read_from(Some(first), false)
    }

    fn read_from(self: &Arc<Self>, first: Option<u64>, is_primed: bool) -> Messages {
        let mut state = self.state();
        let name = state.next_reader;
        state.next_reader += 1;
        state.readers.push(Reader { name, waker: None });
        let first = first.unwrap_or(state.handed_out);
        let beginning = is_primed.then(|| {
            let id = self.event_id(first.checked_sub(1));
            ServerSseMessage::priming(id, COME_BACK)
        });
        let again = first..state.handed_out;
        drop(state);
        Messages {
            outbox: Arc::clone(self),
            name,
            again,
            beginning,
        }
    }

    /// Where in which stream.
    fn event_id(&self, index: Option<u64>) -> String {
        match index {
            Some(index) => format!("{}-{index}", self.number),
            None => format!("{}-", self.number),
        }
    }
}

/// What an event id says: which stream, and the last message that came; none came when it ends early.
pub(crate) fn parse_event_id(id: &str) -> Option<(u64, Option<u64>)> {
    let (stream, index) = id.split_once('-')?;
    let index = match index {
        "" => None,
        index => Some(index.parse().ok()?),
    };
    Some((stream.parse().ok()?, index))
}

/// The messages of a stream for one reader.
#[derive(Debug)]
pub(crate) struct Messages {
    outbox: Arc<Outbox>,
    name: u64,
    /// What this reader wants to see once more.
    again: Range<u64>,
    beginning: Option<ServerSseMessage>,
}

impl Messages {
    /// Waits until there is something to read beside where it begins, or nothing more will come.
    pub(crate) async fn first(&self) {
        std::future::poll_fn(|context| {
            let mut state = self.outbox.state();
            if state.is_finished || state.handed_out < state.next || !self.again.is_empty() {
                return Poll::Ready(());
            }
            let mut readers = state.readers.iter_mut();
            if let Some(reader) = readers.find(|it| it.name == self.name) {
                reader.waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn event(&self, index: u64, message: Arc<ServerJsonRpcMessage>) -> ServerSseMessage {
        let mut event = ServerSseMessage::default();
        event.event_id = Some(self.outbox.event_id(Some(index)));
        event.message = Some(message);
        event
    }
}

impl Stream for Messages {
    type Item = ServerSseMessage;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        let this = self.get_mut();
        if let Some(beginning) = this.beginning.take() {
            return Poll::Ready(Some(beginning));
        }
        let outbox = Arc::clone(&this.outbox);
        let mut state = outbox.state();
        let is_newest = state.readers.last().is_some_and(|it| it.name == this.name);
        let wanted = match (this.again.is_empty(), is_newest) {
            (false, _) => this.again.clone(),
            (true, true) => state.handed_out..state.next,
            (true, false) => 0..0,
        };
        let mut messages = state.messages.iter();
        let found = messages.find(|(index, _)| wanted.contains(index));
        if let Some((index, message)) = found {
            let (index, message) = (*index, Arc::clone(message));
            this.again.start = this.again.start.max(index + 1);
            state.handed_out = state.handed_out.max(index + 1);
            state.forget_old();
            return Poll::Ready(Some(this.event(index, message)));
        }
        if !this.again.is_empty() {
            // The rest of it is not remembered any more.
            this.again.start = this.again.end;
            drop(state);
            return Pin::new(this).poll_next(context);
        }
        if is_newest {
            // Those that are missing were dropped.
            state.handed_out = state.next;
        }
        if state.is_finished {
            if outbox.is_forgetful && is_newest {
                state.messages = VecDeque::new();
            }
            return Poll::Ready(None);
        }
        let name = this.name;
        if let Some(reader) = state.readers.iter_mut().find(|it| it.name == name) {
            reader.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        let mut state = self.outbox.state();
        state.readers.retain(|it| it.name != self.name);
        // Another may be the newest now.
        state.wake();
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;

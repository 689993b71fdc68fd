//! The transport: lines in, messages to the SDK; messages of the SDK, lines out.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};

use ahma_transport::{MessageError, ParsedMessage, RequestIds, cancelling, cancels, parse_message};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::descriptors::Streams;
use super::line::MessageLine;
use super::lines::{Line, Lines};
use super::original_ids::restore;

/// A longer line is refused, not held.
pub const MAX_LINE_LEN: usize = 16 * 1024 * 1024;
/// A longer line is parsed on the blocking pool.
const LONG_LINE: usize = 256 * 1024;
/// Requests in progress at the same time; more are refused. More than operations can run and wait.
pub const MAX_REQUESTS: usize = 2_000;
/// Bytes that wait for the client to read. When there are more, its requests are refused.
pub const MAX_UNREAD: usize = 32 * 1024 * 1024;
/// Refusals that wait for the client to read; more are dropped.
const MAX_REFUSALS: usize = 64;

type Writer = Arc<Mutex<Box<dyn AsyncWrite + Send + Unpin>>>;

/// One client on a pair of streams.
pub(crate) struct LineTransport {
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    writer: Writer,
    ids: Arc<Lock<RequestIds<()>>>,
    /// Messages that came of one line and are not delivered yet.
    ready: VecDeque<ClientJsonRpcMessage>,
    /// A long line that is being read. Here, because whoever waits for it may be interrupted.
    reading: Option<JoinHandle<ParsedMessage>>,
    /// The answer to a line that is not a message.
    refusal: Option<MessageError>,
    refusals: Arc<Semaphore>,
    /// Bytes that are to be written.
    unread: Arc<AtomicUsize>,
    /// Whether a request has begun the conversation.
    has_begun: bool,
    gone: CancellationToken,
}

impl LineTransport {
    /// Serves the client at the other ends of these streams. `gone` is cancelled when it closes ours.
    pub(crate) fn new(streams: Streams, gone: CancellationToken) -> Self {
        LineTransport {
            lines: Lines::new(streams.input, MAX_LINE_LEN),
            writer: Arc::new(Mutex::new(streams.output)),
            ids: Arc::default(),
            ready: VecDeque::new(),
            reading: None,
            refusal: None,
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            unread: Arc::default(),
            has_begun: false,
            gone,
        }
    }

    /// What a line amounts to.
    fn take(&mut self, parsed: ParsedMessage) {
        match parsed {
            ParsedMessage::Message(message) => self.deliver(*message),
            ParsedMessage::Nothing => {}
            ParsedMessage::Wrong(refusal) => self.refusal = Some(refusal),
        }
    }

    fn deliver(&mut self, message: ClientJsonRpcMessage) {
        let mut ids = lock(&self.ids);
        match message {
            ClientJsonRpcMessage::Request(mut request) => {
                self.has_begun |= begins_conversation(&request.request);
                let too_much = if ids.len() >= MAX_REQUESTS {
                    Some("too many requests are in progress; wait for some of them to be answered")
                } else if self.unread.load(Ordering::Relaxed) >= MAX_UNREAD {
                    Some("too many answers have not been read; read them first")
                } else {
                    None
                };
                if let Some(why) = too_much {
                    self.refusal = Some(MessageError {
                        id: Some(request.id),
                        error: ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None),
                    });
                    return;
                }
                request.id = RequestId::Number(ids.arrived(request.id, ()));
                self.ready.push_back(ClientJsonRpcMessage::Request(request));
            }
            // Before the conversation there is nothing they could be about, and the SDK would end.
            _ if !self.has_begun => {}
            message => match cancels(&message) {
                Some(params) => {
                    let cancelled = params.request_id.as_ref();
                    let cancelled = cancelled.and_then(|id| ids.cancelled(id));
                    let reason = params.reason.clone();
                    self.ready
                        .extend(cancelled.map(|(inner, ())| cancelling(inner, reason)));
                }
                None => self.ready.push_back(message),
            },
        }
    }

    /// Has the refusal written by a task: a message must not be cut where reading is interrupted. A client that
    /// does not read gets no more of them.
    fn refuse(&mut self) {
        let Some(refusal) = self.refusal.take() else {
            return;
        };
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            let message = ServerJsonRpcMessage::error(refusal.error, refusal.id);
            let write = self.write(MessageLine::of(&message));
            tokio::spawn(async move {
                // A client that is gone needs no refusal.
                let _ = write.await;
                drop(permit);
            });
        }
    }

    fn write(
        &self,
        line: io::Result<MessageLine>,
    ) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let (writer, unread) = (Arc::clone(&self.writer), Arc::clone(&self.unread));
        let length = line.as_ref().map_or(0, MessageLine::len);
        unread.fetch_add(length, Ordering::Relaxed);
        async move {
            let written = write(writer, line).await;
            unread.fetch_sub(length, Ordering::Relaxed);
            written
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let may_go = restore(&mut lock(&self.ids), &mut message);
        let write = may_go.then(|| self.write(MessageLine::of(&message)));
        async move {
            match write {
                Some(write) => write.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.refuse();
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if let Some(reading) = &mut self.reading {
                let parsed = reading.await;
                self.reading = None;
                self.take(parsed.unwrap_or(ParsedMessage::Nothing));
                continue;
            }
            match self.lines.next().await {
                Ok(Line::Whole(line)) if line.len() > LONG_LINE => {
                    self.reading = Some(spawn_blocking(move || parse_message(&line)));
                }
                Ok(Line::Whole(line)) => self.take(parse_message(&line)),
                Ok(Line::TooLong) => self.refusal = Some(too_long()),
                Ok(Line::End) | Err(_) => {
                    self.gone.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.shutdown().await
    }
}

async fn write(writer: Writer, line: io::Result<MessageLine>) -> io::Result<()> {
    let line = line?;
    let mut writer = writer.lock().await;
    line.write_to(&mut *writer).await?;
    writer.flush().await
}

fn too_long() -> MessageError {
    let why = format!(
        "a message may have at most {} MiB; send less at once, and large contents in several calls",
        MAX_LINE_LEN >> 20
    );
    MessageError {
        id: None,
        error: ErrorData::invalid_request(why, None),
    }
}

fn lock(ids: &Lock<RequestIds<()>>) -> MutexGuard<'_, RequestIds<()>> {
    // Each change of the map is whole.
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a request begins the conversation; before that, the SDK takes only requests. One of 2026-07-28 does when it
/// names its client, in a revision that exists.
fn begins_conversation(request: &ClientRequest) -> bool {
    let stateless = ProtocolVersion::V_2026_07_28;
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            let is_known = version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it));
            is_known && meta.missing_required_keys(&stateless).is_empty()
        }
    }
}

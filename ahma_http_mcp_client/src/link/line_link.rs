//! A server at the other ends of two streams: one message a line.
//!
//! Lines are written by a task of their own: a message is never cut where somebody stops waiting for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::line_reader::{Line, LineReader};
use crate::exchange::Exchange;
use crate::request_error::RequestError;

/// Messages that wait for a server to read.
const MAX_UNREAD: usize = 32;
/// How long a server that reads no more may still say something.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// One pair of streams.
pub(crate) struct LineLink {
    lines: mpsc::Sender<Vec<u8>>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl LineLink {
    /// Speaks with the server at the other ends; no message of it may be longer than `max`.
    pub(crate) fn start(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        exchange: &Arc<Exchange>,
        replies: mpsc::Receiver<Vec<u8>>,
        max: usize,
    ) -> Self {
        let (lines, to_write) = mpsc::channel(MAX_UNREAD);
        let of_reader = Arc::clone(exchange);
        let reading = tokio::spawn(async move {
            let mut reader = LineReader::new(input, max);
            let why = loop {
                match reader.next().await {
                    Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
                    Ok(Some(Line::Whole(line))) => of_reader.receive_any(line).await,
                    Ok(Some(Line::TooLong(ends))) => of_reader.too_long(&ends, max),
                    Ok(None) => break "the server has closed its output".to_owned(),
                    Err(error) => break format!("the server's output cannot be read: {error}"),
                }
            };
            of_reader.end(&why);
        });
        let of_writer = Arc::clone(exchange);
        let writing = tokio::spawn(async move {
            if let Err(error) = write_all(output, to_write, replies).await {
                // One that has ended may have answered before; its output ends by itself.
                let _ = timeout(LAST_WORDS, of_writer.closed()).await;
                of_writer.end(&format!("the server does not read its input: {error}"));
            }
        });
        LineLink {
            lines,
            reading,
            writing,
        }
    }

    /// Has a line written, as soon as there is room for it.
    pub(crate) async fn send(&self, mut line: Vec<u8>) -> Result<(), RequestError> {
        line.push(b'\n');
        let gone = |_| RequestError::not_sent("the connection has ended");
        self.lines.send(line).await.map_err(gone)
    }

    /// Has a line written, if there is room for it.
    pub(crate) fn send_soon(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        // A server that does not read gets no more.
        let _ = self.lines.try_send(line);
    }

    /// Closes our end: what was written before is still read, the server sees the end of its input.
    pub(crate) fn close(&self) {
        self.writing.abort();
    }
}

impl Drop for LineLink {
    fn drop(&mut self) {
        self.reading.abort();
        self.writing.abort();
    }
}

/// Writes lines until nobody has any more.
async fn write_all(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut replies: mpsc::Receiver<Vec<u8>>,
) -> std::io::Result<()> {
    loop {
        let line = tokio::select! {
            Some(line) = lines.recv() => line,
            Some(mut reply) = replies.recv() => {
                reply.push(b'\n');
                reply
            }
            else => return Ok(()),
        };
        output.write_all(&line).await?;
        output.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_server_said_before_it_stopped_reading_is_taken() {
        let (exchange, replies) = Exchange::new(Arc::new(()));
        let (input, mut said) = tokio::io::duplex(1024);
        let (output, read) = tokio::io::duplex(1024);
        drop(read);
        let link = LineLink::start(input, output, &exchange, replies, 1 << 20);
        let mut pending = exchange.expect(None).unwrap();
        link.send(b"{}".to_vec()).await.unwrap();
        // It cannot be written.
        link.lines.closed().await;
        let answer = format!("{{\"id\":{},\"result\":{{}}}}\n", pending.id);
        said.write_all(answer.as_bytes()).await.unwrap();
        assert_eq!(pending.answer().await.unwrap().get(), "{}");
        // It says nothing more, and reads nothing.
        let why = exchange.closed().await;
        assert!(why.contains("does not read its input"), "{why}");
    }
}

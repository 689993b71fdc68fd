//! One message as the bytes of its line. Long ones are in pieces: a buffer that grows as a whole is held twice while it is moved.

use std::io;
use std::mem;

use rmcp::model::ServerJsonRpcMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Bytes of one piece.
const PIECE: usize = 256 * 1024;

/// The bytes of a line.
#[derive(Debug, Default)]
pub(super) struct MessageLine {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl MessageLine {
    /// The line of a message.
    pub(super) fn of(message: &ServerJsonRpcMessage) -> io::Result<Self> {
        let mut line = MessageLine::default();
        serde_json::to_writer(&mut line, message)?;
        line.last.push(b'\n');
        Ok(line)
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        self.full.iter().map(Vec::len).sum::<usize>() + self.last.len()
    }

    /// Writes it, and gives up each piece that was written.
    pub(super) async fn write_to(self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        for piece in self.full {
            writer.write_all(&piece).await?;
        }
        writer.write_all(&self.last).await
    }
}

impl io::Write for MessageLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.len() >= PIECE {
            let next = Vec::with_capacity(PIECE);
            self.full.push(mem::replace(&mut self.last, next));
        }
        // A piece takes no more than it has room for, so that it is never moved.
        let room = match self.full.is_empty() && self.last.len() + bytes.len() <= PIECE {
            true => bytes.len(),
            false => bytes.len().min(PIECE - self.last.len()),
        };
        let (now, _) = bytes.split_at(room);
        self.last.extend_from_slice(now);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ErrorData, RequestId};

    use super::*;

    #[tokio::test]
    async fn a_line_is_the_message_however_long_it_is() {
        for length in [0, 10, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 7] {
            let error = ErrorData::internal_error("ä".repeat(length / 2) + "x", None);
            let message = ServerJsonRpcMessage::error(error, Some(RequestId::Number(1)));
            let mut expected = serde_json::to_vec(&message).unwrap();
            expected.push(b'\n');
            let line = MessageLine::of(&message).unwrap();
            assert_eq!(line.len(), expected.len());
            let mut written = Vec::new();
            line.write_to(&mut written).await.unwrap();
            assert!(written == expected, "{length}");
        }
    }
}

//! Lines of a stream, each up to a length. Of a longer one the beginning and the end are kept.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// What is kept of each end of a line that is too long.
const ENDS: usize = 512;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// Its beginning and its end.
    TooLong(Vec<u8>),
}

/// Reads lines.
pub(super) struct LineReader<R> {
    stream: BufReader<R>,
    max: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(stream: R, max: usize) -> Self {
        LineReader {
            stream: BufReader::with_capacity(64 * 1024, stream),
            max,
        }
    }

    /// The next line; none at the end of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        let (mut line, mut is_too_long) = (Vec::new(), false);
        loop {
            let piece = self.stream.fill_buf().await?;
            if piece.is_empty() {
                // A last line without an end was cut off.
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (length, is_last) = match end {
                Some(end) => (end, true),
                None => (piece.len(), false),
            };
            line.extend_from_slice(&piece[..length]);
            self.stream.consume(length + usize::from(is_last));
            if line.len() > self.max || is_too_long && line.len() > 4 * ENDS {
                is_too_long = true;
                let tail = line.len() - ENDS;
                line.drain(ENDS..tail);
                line.shrink_to(4 * ENDS);
            }
            if is_last {
                return Ok(Some(match is_too_long {
                    true => Line::TooLong(line),
                    false => Line::Whole(line),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_line_loses_its_middle_and_the_next_one_nothing() {
        let long = format!("BEGIN{}END", "x".repeat(300_000));
        let text = format!("one\n{long}\n\ntwo\ncut");
        let mut reader = LineReader::new(text.as_bytes(), 100_000);
        let whole = |text: &str| Some(Line::Whole(text.into()));
        assert_eq!(reader.next().await.unwrap(), whole("one"));
        let Some(Line::TooLong(ends)) = reader.next().await.unwrap() else {
            panic!("it is too long");
        };
        assert!(ends.starts_with(b"BEGIN") && ends.ends_with(b"END") && ends.len() < 4096);
        assert_eq!(reader.next().await.unwrap(), whole(""));
        assert_eq!(reader.next().await.unwrap(), whole("two"));
        assert_eq!(reader.next().await.unwrap(), None);
    }
}

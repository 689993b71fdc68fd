//! Lines of bounded length.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that is too long; it is dropped.
    TooLong,
    /// Nothing more will come.
    End,
}

/// Reads lines. A read that is interrupted loses nothing.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    longest: usize,
    /// The beginning of the next line.
    begun: Vec<u8>,
    /// Whether the rest of a line that is too long is still to come.
    is_dropping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, longest: usize) -> Self {
        Lines {
            reader: BufReader::with_capacity(64 * 1024, reader),
            longest,
            begun: Vec::new(),
            is_dropping: false,
        }
    }

    /// The next line. What comes after the last line end is no line.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(Line::End);
            }
            // From here on nothing waits, so what is taken is also kept.
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let consumed = end.map_or(available.len(), |end| end + 1);
            let fits = self.begun.len() + part.len() <= self.longest;
            let was_dropping = self.is_dropping;
            if fits && !was_dropping {
                self.begun.extend_from_slice(part);
            } else {
                self.begun = Vec::new();
            }
            self.is_dropping = (was_dropping || !fits) && end.is_none();
            self.reader.consume(consumed);
            if !fits && !was_dropping {
                return Ok(Line::TooLong);
            }
            if end.is_some() && !was_dropping {
                return Ok(Line::Whole(std::mem::take(&mut self.begun)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &'static [u8]) -> Vec<Line> {
        let mut lines = Lines::new(input, 5);
        let mut found = Vec::new();
        loop {
            let line = lines.next().await.unwrap();
            if line == Line::End {
                return found;
            }
            found.push(line);
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends() {
        assert_eq!(
            all(b"a\n\nbc\n").await,
            [whole("a"), whole(""), whole("bc")]
        );
        assert_eq!(all(b"a\nbc").await, [whole("a")], "the last has no end");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_told_once_and_the_next_is_read() {
        assert_eq!(all(b"12345\n").await, [whole("12345")]);
        assert_eq!(all(b"123456\nb\n").await, [Line::TooLong, whole("b")]);
        let much: &'static [u8] = [&[b'x'; 300_000][..], b"\nb\n"].concat().leak();
        assert_eq!(all(much).await, [Line::TooLong, whole("b")]);
    }
}

//! Reading an output by the numbers of its lines.

use std::io;

use tokio::task::spawn_blocking;

use super::clean::clean;
use super::store::{Output, Raw};

/// The most that is read: what fits one result.
const MAX_LEN: usize = super::INLINE_LIMIT;
const CHUNK: usize = 256 * 1024;

/// Some lines of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Their text, cleaned.
    pub text: String,
    /// How many they are.
    pub count: u64,
    /// There would have been more, but it does not fit.
    pub is_cut: bool,
}

impl Output {
    /// Reads lines from a number on, counted from 1. Lines that were not kept count as one.
    pub async fn lines(&self, first: u64, count: u64) -> io::Result<Lines> {
        let mut reading = Reading {
            skip: first.max(1) - 1,
            left: count,
            bytes: Vec::new(),
            is_cut: false,
        };
        let mut offset = 0;
        while reading.left > 0 && !reading.is_cut {
            match self.raw(offset, CHUNK).await? {
                Raw::Bytes(bytes) if bytes.is_empty() => break,
                Raw::Bytes(bytes) => {
                    offset += bytes.len() as u64;
                    // Counting takes time, and the runtime has other things to do.
                    reading = spawn_blocking(move || reading.with(&bytes)).await?;
                }
                Raw::Lost { until } => {
                    offset = until;
                    reading = reading.with(b"[\xe2\x80\xa6 not kept \xe2\x80\xa6]\n");
                }
            }
        }
        let is_whole = reading.bytes.is_empty() || reading.bytes.ends_with(b"\n");
        let ends = reading.bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(Lines {
            text: clean(&reading.bytes).into_owned(),
            count: ends + u64::from(!is_whole),
            is_cut: reading.is_cut,
        })
    }
}

struct Reading {
    /// Lines before the first that is wanted.
    skip: u64,
    /// Lines that are still wanted.
    left: u64,
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Reading {
    fn with(mut self, bytes: &[u8]) -> Self {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if self.skip > 0 {
                self.skip -= u64::from(is_end);
                continue;
            }
            if self.left == 0 {
                break;
            }
            let room = MAX_LEN - self.bytes.len();
            if piece.len() > room {
                // A line that is too long by itself is cut; one that follows others is left for the next page.
                if self.bytes.is_empty() {
                    self.bytes.extend_from_slice(&piece[..room]);
                }
                self.is_cut = true;
                break;
            }
            self.bytes.extend_from_slice(piece);
            self.left -= u64::from(is_end);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{SpoolBudget, SpoolPlace};
    use super::*;

    async fn output(text: &str) -> Output {
        let directory = tempfile::tempdir().unwrap();
        let place = SpoolPlace::new(directory.path(), Arc::new(SpoolBudget::new(8 << 20)));
        let output = Output::new(place);
        for piece in text.as_bytes().chunks(10_000) {
            output.append(piece.to_vec()).await.unwrap();
        }
        output
    }

    #[tokio::test]
    async fn lines_are_counted_from_one_wherever_they_are_kept() {
        let all: Vec<String> = (1..=20_000)
            .map(|number| format!("line {number}"))
            .collect();
        let output = output(&all.join("\n")).await;
        for (first, count, expected) in [
            (1, 2, "line 1\nline 2\n"),
            (9_999, 1, "line 9999\n"),
            (19_999, 9, "line 19999\nline 20000"),
            (20_001, 9, ""),
        ] {
            let found = output.lines(first, count).await.unwrap();
            assert_eq!(found.text, expected);
            assert_eq!(found.count, expected.lines().count() as u64);
            assert!(!found.is_cut);
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_said() {
        let output = output(&"x\n".repeat(60_000)).await;
        let found = output.lines(1, 100_000).await.unwrap();
        assert!(found.is_cut);
        assert_eq!(found.count, (MAX_LEN / 2) as u64);
        let long = self::output(&"y".repeat(60_000)).await;
        let found = long.lines(1, 1).await.unwrap();
        assert!(found.is_cut);
        assert_eq!(found.text.len(), MAX_LEN);
    }
}

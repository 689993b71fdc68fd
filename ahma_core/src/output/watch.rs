//! Waiting for an output to say something.

use regex::Regex;
use tokio::task::spawn_blocking;

use super::clean::clean;
use super::store::{Output, Raw};

const CHUNK: usize = 64 * 1024;
/// A line is held up to this length; what is longer is looked at in pieces.
const MAX_HELD_LEN: usize = 64 * 1024;

impl Output {
    /// Waits until a line matches, complete or not; for ever when none does.
    pub async fn line_matches(&self, pattern: &Regex) {
        let mut looking = Looking {
            pattern: pattern.clone(),
            line: Vec::new(),
            found: false,
        };
        let mut offset = 0;
        loop {
            match self.raw(offset, CHUNK).await {
                Ok(Raw::Bytes(bytes)) if bytes.is_empty() => {
                    self.grown(offset).await;
                }
                Ok(Raw::Bytes(bytes)) => {
                    offset += bytes.len() as u64;
                    // Matching takes time, and the runtime has other things to do.
                    let looked = spawn_blocking(move || looking.at(&bytes)).await;
                    let Ok(after) = looked else { break };
                    if after.found {
                        return;
                    }
                    looking = after;
                }
                Ok(Raw::Lost { until }) => {
                    looking.line.clear();
                    offset = until;
                }
                // What cannot be read says nothing.
                Err(_) => break,
            }
        }
        std::future::pending::<()>().await;
    }
}

struct Looking {
    pattern: Regex,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    found: bool,
}

impl Looking {
    fn at(mut self, bytes: &[u8]) -> Self {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            let text = clean(&self.line);
            self.found |= self.pattern.is_match(text.trim_end_matches('\n'));
            if piece.ends_with(b"\n") || self.line.len() > MAX_HELD_LEN {
                self.line.clear();
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{SpoolBudget, SpoolPlace};
    use super::*;

    #[tokio::test]
    async fn a_line_is_found_wherever_it_is_cut_and_whether_it_has_ended_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = || SpoolPlace::new(directory.path(), Arc::new(SpoolBudget::new(1 << 20)));
        let pattern = Regex::new(r"listening on \d{4}$").unwrap();
        for pieces in [
            &["listening on 4000\n"][..],
            &["start\nliste", "ning on 4", "000"],
            &["\u{1b}[32mlistening\u{1b}[0m on 4000\r\n"],
        ] {
            let output = Arc::new(Output::new(place()));
            let waiting = Arc::clone(&output);
            let pattern = pattern.clone();
            let waiting = tokio::spawn(async move { waiting.line_matches(&pattern).await });
            for piece in pieces {
                assert!(!waiting.is_finished(), "{pieces:?}");
                output.append(piece.as_bytes().to_vec()).await.unwrap();
                tokio::task::yield_now().await;
            }
            waiting.await.unwrap();
        }
    }
}

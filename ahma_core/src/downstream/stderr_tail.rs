//! The end of what a server says on standard error. Every line goes to the log under the server's name.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// What is kept.
const KEPT: usize = 5 * 1024;
/// A longer line is cut in the log.
const MAX_LINE: usize = 500;

/// What is kept of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// Reads until the end.
    pub(super) async fn read(self, server: String, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 4096];
        let mut line = Vec::new();
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.add(&buffer[..length]);
            for byte in &buffer[..length] {
                match byte {
                    b'\n' => log(&server, &std::mem::take(&mut line)),
                    byte if line.len() < MAX_LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        log(&server, &line);
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    /// What was said.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }

    /// The last line that was said.
    pub(super) fn last_line(&self) -> Option<String> {
        let text = self.text();
        text.lines().last().map(ToOwned::to_owned)
    }
}

fn log(server: &str, line: &[u8]) {
    if !line.is_empty() {
        let line = String::from_utf8_lossy(line);
        tracing::info!(server, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C6.
    /// Scenario: 002/4.12.
    #[tokio::test]
    async fn only_the_end_of_what_a_server_says_is_kept() {
        let tail = StderrTail::default();
        let said = format!("first\n{}\nlast\n", "x".repeat(3 * KEPT));
        tail.clone().read("up".to_owned(), said.as_bytes()).await;
        let kept = tail.text();
        let expected = said[said.len() - KEPT..].trim_end();
        assert_eq!(kept, expected);
        assert_eq!(tail.last_line().as_deref(), Some("last"));
    }
}

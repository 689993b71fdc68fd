//! One output: written by one task, read by anyone, at any time.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::OnceCell;

use super::capture::{Capture, Rendered};
use super::spool::{SPOOL_LIMIT, Spool};

/// The output of one operation.
#[derive(Debug)]
pub struct Output {
    capture: Mutex<Capture>,
    spool: OnceCell<Spool>,
    directory: PathBuf,
    limit: u64,
    last_written: Mutex<Instant>,
}

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Bytes.
    pub bytes: u64,
    /// Lines, the last one counted even when it has no end.
    pub lines: u64,
}

impl Output {
    /// An empty output that spools to `directory` when it grows.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self::with_limit(directory, SPOOL_LIMIT)
    }

    /// The same, with another limit of what is kept on disk.
    pub fn with_limit(directory: impl Into<PathBuf>, limit: u64) -> Self {
        Output {
            capture: Mutex::default(),
            spool: OnceCell::new(),
            directory: directory.into(),
            limit: limit.min(SPOOL_LIMIT),
            last_written: Mutex::new(Instant::now()),
        }
    }

    /// Adds what was read from the pipe. An error means that the disk failed; counts, beginning and
    /// end are right all the same.
    pub async fn append(&self, chunk: Vec<u8>) -> io::Result<()> {
        let was_whole = {
            let mut capture = self.capture();
            let whole_before = capture.is_whole().then(|| capture.whole());
            capture.push(&chunk);
            *self
                .last_written
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Instant::now();
            if capture.is_whole() {
                return Ok(());
            }
            whole_before
        };
        match was_whole {
            // It has just become too much to hold: from now on, all of it is on disk.
            Some(before) => {
                let spool = Spool::create(self.directory.clone(), self.limit).await?;
                spool.append(before).await?;
                spool.append(chunk).await?;
                let _ = self.spool.set(spool);
                Ok(())
            }
            None => match self.spool.get() {
                Some(spool) => spool.append(chunk).await,
                None => Ok(()),
            },
        }
    }

    /// How much was written so far.
    pub fn totals(&self) -> Totals {
        let capture = self.capture();
        Totals {
            bytes: capture.bytes(),
            lines: capture.lines(),
        }
    }

    /// When something was written last; the beginning when nothing was.
    pub fn last_written(&self) -> Instant {
        *self
            .last_written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The last line that holds something.
    pub fn last_line(&self) -> Option<String> {
        self.capture().last_line()
    }

    /// The text to show, with a note in the gap where there is one.
    pub fn render(&self, how_to_read: impl FnOnce(u64, u64) -> String) -> Rendered {
        self.capture().render(how_to_read)
    }

    pub(super) fn capture(&self) -> MutexGuard<'_, Capture> {
        // Counts and bytes are consistent after any panic.
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raw bytes from an offset on: of the memory, of the disk, or of the end that is still held.
    pub(super) async fn raw(&self, offset: u64, length: usize) -> io::Result<Raw> {
        {
            let capture = self.capture();
            if capture.is_whole() {
                let whole = capture.whole();
                let from = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(whole.len());
                let to = from.saturating_add(length).min(whole.len());
                return Ok(Raw::Bytes(whole[from..to].to_vec()));
            }
        }
        let kept = self.spool.get().map_or(0, Spool::kept);
        if let Some(spool) = self.spool.get().filter(|_| offset < kept) {
            return spool.read(offset, length).await.map(Raw::Bytes);
        }
        let (tail_start, tail) = self.capture().tail();
        if offset < tail_start {
            return Ok(Raw::Lost { until: tail_start });
        }
        let from = usize::try_from(offset - tail_start)
            .unwrap_or(usize::MAX)
            .min(tail.len());
        let to = from.saturating_add(length).min(tail.len());
        Ok(Raw::Bytes(tail[from..to].to_vec()))
    }
}

/// A piece of the raw output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Bytes(Vec<u8>),
    /// Beyond what is kept; readable again from this offset on.
    Lost {
        until: u64,
    },
}

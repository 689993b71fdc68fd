//! One output: written by one task, read by anyone, at any time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, OnceCell};

use super::capture::{Capture, Rendered};
use super::spool::{SPOOL_LIMIT, Spool};
use super::spool_budget::SpoolBudget;

/// Where outputs that are too much to hold go.
#[derive(Debug, Clone)]
pub struct SpoolPlace {
    directory: Arc<Path>,
    limit: u64,
    budget: Arc<SpoolBudget>,
}

impl SpoolPlace {
    /// Files without a name in `directory`, all together within the budget.
    pub fn new(directory: impl Into<PathBuf>, budget: Arc<SpoolBudget>) -> Self {
        SpoolPlace {
            directory: directory.into().into(),
            limit: SPOOL_LIMIT,
            budget,
        }
    }

    /// The same, with another limit of each output.
    pub fn with_limit(self, limit: u64) -> Self {
        let limit = limit.min(SPOOL_LIMIT);
        SpoolPlace { limit, ..self }
    }
}

/// The output of one operation.
#[derive(Debug)]
pub struct Output {
    capture: Mutex<Capture>,
    spool: OnceCell<Arc<Spool>>,
    place: SpoolPlace,
    last_written: Mutex<Instant>,
    /// More has been written.
    written: Notify,
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
    /// An empty output that spools to disk when it grows.
    pub fn new(place: SpoolPlace) -> Self {
        Output {
            capture: Mutex::default(),
            spool: OnceCell::new(),
            place,
            last_written: Mutex::new(Instant::now()),
            written: Notify::new(),
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
            self.written.notify_waiters();
            if capture.is_whole() {
                return Ok(());
            }
            whole_before
        };
        match was_whole {
            // It has just become too much to hold: from now on, all of it is on disk.
            Some(before) => {
                let SpoolPlace {
                    directory,
                    limit,
                    budget,
                } = self.place.clone();
                let spool = Arc::new(Spool::create(directory.to_path_buf(), limit, budget).await?);
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

    /// Notes that nothing more will be written. From now on others may need the disk more.
    pub fn finish(&self) {
        if let Some(spool) = self.spool.get() {
            self.place.budget.finished(spool);
        }
    }

    /// Waits until more than `seen` bytes were written; how many.
    pub async fn grown(&self, seen: u64) -> u64 {
        loop {
            // What is written after this is not missed, whenever it is waited for.
            let written = self.written.notified();
            let bytes = self.totals().bytes;
            if bytes > seen {
                return bytes;
            }
            written.await;
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

    /// Whether all of it is at hand, so that a result can show the whole.
    pub fn is_whole(&self) -> bool {
        self.capture().is_whole()
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

    /// The last lines, or as much of them as is worth showing of what goes on; none when nothing was written.
    pub fn last_lines(&self, count: usize) -> Option<String> {
        self.capture().last_lines(count)
    }

    /// The text to show, with a note in the gap where there is one.
    pub fn render(&self, how_to_read: impl FnOnce(u64, u64) -> String) -> Rendered {
        self.capture().render(how_to_read)
    }

    pub(super) fn capture(&self) -> MutexGuard<'_, Capture> {
        // Counts and bytes are consistent after any panic.
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, or the first `most` bytes. An error when a part was not kept.
    pub(crate) async fn all(&self, most: u64) -> io::Result<Vec<u8>> {
        let total = self.totals().bytes.min(most);
        let mut all = Vec::with_capacity(usize::try_from(total).unwrap_or_default());
        while (all.len() as u64) < total {
            let left = usize::try_from(total).unwrap_or(usize::MAX) - all.len();
            let piece = self.piece(all.len() as u64, left).await?;
            if piece.is_empty() {
                break;
            }
            all.extend(piece);
        }
        Ok(all)
    }

    /// A piece of it from an offset on, which may be shorter than asked for; empty at the end. An error when it was not kept.
    pub(crate) async fn piece(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match self.raw(offset, length).await? {
            Raw::Bytes(bytes) => Ok(bytes),
            Raw::Lost { .. } => Err(io::Error::other("a part of it was not kept")),
        }
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
        let kept = self.spool.get().map_or(0, |spool| spool.kept());
        if let Some(spool) = self.spool.get().filter(|_| offset < kept) {
            match spool.read(offset, length).await {
                // Given away to another output in this moment.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                read => return read.map(Raw::Bytes),
            }
        }
        let capture = self.capture();
        let head = capture.head();
        if let Some(rest) = usize::try_from(offset)
            .ok()
            .and_then(|from| head.get(from..))
            && !rest.is_empty()
        {
            return Ok(Raw::Bytes(rest[..length.min(rest.len())].to_vec()));
        }
        let (tail_start, tail) = capture.tail();
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

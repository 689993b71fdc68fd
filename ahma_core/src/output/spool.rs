//! The whole output on disk, in a file that has no name: it is gone with the last handle on it,
//! whatever happens to the server.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use super::spool_budget::SpoolBudget;

/// What is kept of one output; what comes after it is counted and dropped.
pub const SPOOL_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// Bytes from the first one on that can be read back.
    kept: AtomicU64,
    limit: u64,
    budget: Arc<SpoolBudget>,
    /// Held while bytes are added or all are discarded. Set when no more are wanted.
    closed: Mutex<bool>,
}

impl Spool {
    pub(super) async fn create(
        directory: PathBuf,
        limit: u64,
        budget: Arc<SpoolBudget>,
    ) -> io::Result<Self> {
        // Opening is a quick call, but one that may block on a busy disk.
        let file = spawn_blocking(move || tempfile::tempfile_in(directory)).await??;
        Ok(Spool {
            file,
            kept: AtomicU64::new(0),
            limit,
            budget,
            closed: Mutex::new(false),
        })
    }

    /// How many bytes, from the first one on, can be read back.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// Appends as much as fits. One writer at a time.
    pub(super) async fn append(self: &Arc<Self>, chunk: Vec<u8>) -> io::Result<()> {
        if self.kept() == self.limit {
            return Ok(());
        }
        let spool = Arc::clone(self);
        spawn_blocking(move || spool.write(&chunk)).await?
    }

    fn write(&self, chunk: &[u8]) -> io::Result<()> {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if *closed {
            return Ok(());
        }
        let offset = self.kept();
        let wanted = (chunk.len() as u64).min(self.limit - offset);
        let taken = self.budget.take(wanted);
        // What is kept is the beginning without a gap; so the first byte that does not fit is the end.
        *closed = taken < chunk.len() as u64;
        let fitting = usize::try_from(taken).map_or(chunk, |taken| &chunk[..taken]);
        let written = self.file.write_all_at(fitting, offset);
        if written.is_ok() {
            self.kept.store(offset + taken, Ordering::Release);
        } else {
            *closed = true;
            self.budget.give_back(taken);
        }
        written
    }

    /// Keeps nothing any more. May block.
    pub(super) fn discard(&self) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        *closed = true;
        self.budget.give_back(self.kept.swap(0, Ordering::AcqRel));
        // A file that cannot be emptied is gone with the output all the same.
        let _ = self.file.set_len(0);
    }

    /// Reads a piece; shorter where the kept part ends.
    pub(super) async fn read(self: &Arc<Self>, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let available = usize::try_from(self.kept().saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(available)];
        let spool = Arc::clone(self);
        spawn_blocking(move || {
            spool.file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        })
        .await?
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.budget.give_back(*self.kept.get_mut());
    }
}

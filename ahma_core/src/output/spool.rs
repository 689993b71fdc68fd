//! The whole output on disk, in a file that has no name: it is gone with the last handle on it,
//! whatever happens to the server.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::spawn_blocking;

/// What is kept of one output; what comes after it is counted and dropped.
pub const SPOOL_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Spool {
    file: Arc<File>,
    kept: Arc<AtomicU64>,
    limit: u64,
}

impl Spool {
    pub(super) async fn create(directory: PathBuf, limit: u64) -> io::Result<Self> {
        // Opening is a quick call, but one that may block on a busy disk.
        let file = spawn_blocking(move || tempfile::tempfile_in(directory)).await??;
        Ok(Spool {
            file: Arc::new(file),
            kept: Arc::default(),
            limit,
        })
    }

    /// How many bytes, from the first one on, can be read back.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// Appends as much as fits. One writer at a time.
    pub(super) async fn append(&self, mut chunk: Vec<u8>) -> io::Result<()> {
        let offset = self.kept();
        let room = usize::try_from(self.limit - offset).unwrap_or(usize::MAX);
        chunk.truncate(room);
        if chunk.is_empty() {
            return Ok(());
        }
        let length = chunk.len() as u64;
        let file = Arc::clone(&self.file);
        spawn_blocking(move || file.write_all_at(&chunk, offset)).await??;
        self.kept.store(offset + length, Ordering::Release);
        Ok(())
    }

    /// Reads a piece; shorter where the kept part ends.
    pub(super) async fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let available = usize::try_from(self.kept().saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(available)];
        let file = Arc::clone(&self.file);
        spawn_blocking(move || {
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        })
        .await?
    }
}

//! The writer of the audit log: lines in the background, many at once, and none lost.
//!
//! The thread that writes is woken by the first line and takes along what came in the meantime; a caller that is much
//! faster than the disk waits for it. By hand, because the guard of `tracing_appender`'s writer gives up after a second
//! and a record must not be lost when the server ends.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Lines that wait; more have to.
const MAX_WAITING: usize = 1000;
/// How long lines are collected.
const COLLECTING: Duration = Duration::from_millis(50);

/// Takes lines.
pub(super) struct BatchWriter {
    lines: SyncSender<Vec<u8>>,
}

/// Dropping it waits until everything is written; the writer must be gone by then.
pub(super) struct BatchGuard {
    thread: Option<JoinHandle<()>>,
    stop: SyncSender<Vec<u8>>,
}

impl BatchWriter {
    pub(super) fn start(writer: impl Write + Send + 'static) -> (Self, BatchGuard) {
        let (lines, received) = sync_channel(MAX_WAITING);
        let stop = lines.clone();
        let thread = thread::spawn(move || write_all(writer, &received));
        let guard = BatchGuard {
            thread: Some(thread),
            stop,
        };
        (BatchWriter { lines }, guard)
    }
}

impl Write for BatchWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.lines.send(line.to_vec()).map_err(gone)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An empty line means the end.
fn write_all(mut writer: impl Write, lines: &Receiver<Vec<u8>>) {
    while let Ok(first) = lines.recv() {
        let mut is_last = first.is_empty();
        if !is_last {
            thread::sleep(COLLECTING);
        }
        let mut batch = first;
        for line in lines.try_iter() {
            is_last |= line.is_empty();
            batch.extend(line);
        }
        if let Err(error) = writer.write_all(&batch).and_then(|()| writer.flush()) {
            tracing::error!(%error, "records of the audit log could not be written");
        }
        if is_last {
            return;
        }
    }
}

impl Drop for BatchGuard {
    fn drop(&mut self) {
        let _ = self.stop.send(Vec::new());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! What is known of a server, for all processes of it together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::packed_record::PackedRecord;
use super::record::Record;

/// The record of one server.
#[derive(Debug, Default)]
pub(super) struct SharedRecord {
    record: Mutex<Option<Arc<PackedRecord>>>,
    /// Held while what a process of it offers is being noted.
    pub(super) keeping: tokio::sync::Mutex<()>,
}

impl SharedRecord {
    /// One that begins with this.
    pub(super) fn new(record: Option<Record>) -> Arc<Self> {
        Arc::new(SharedRecord {
            record: Mutex::new(record.map(|it| Arc::new(PackedRecord::of(&it)))),
            ..SharedRecord::default()
        })
    }

    fn record(&self) -> MutexGuard<'_, Option<Arc<PackedRecord>>> {
        // A pointer is whole after any panic.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known; nothing when the server was never asked.
    pub(super) fn get(&self) -> Option<Arc<PackedRecord>> {
        self.record().clone()
    }

    /// Puts this in its place; what was known before.
    pub(super) fn put(&self, record: Option<Arc<PackedRecord>>) -> Option<Arc<PackedRecord>> {
        std::mem::replace(&mut *self.record(), record)
    }
}

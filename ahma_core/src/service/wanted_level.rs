//! Which messages a client of 2025-11-25 or earlier wants.

#![expect(
    deprecated,
    reason = "clients of 2025-11-25 and earlier want messages with levels"
)]

use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::LoggingLevel;

use crate::operation::MessageLevel;

const LEVELS: [MessageLevel; 8] = [
    MessageLevel::Debug,
    MessageLevel::Info,
    MessageLevel::Notice,
    MessageLevel::Warning,
    MessageLevel::Error,
    MessageLevel::Critical,
    MessageLevel::Alert,
    MessageLevel::Emergency,
];

/// The least level that a client wants to hear of.
#[derive(Debug)]
pub(super) struct WantedLevel(AtomicU8);

impl Default for WantedLevel {
    /// Ordinary events, as long as the client says nothing else.
    fn default() -> Self {
        WantedLevel(AtomicU8::new(MessageLevel::Info as u8))
    }
}

impl WantedLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        self.0.store(level_of(level) as u8, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> MessageLevel {
        let stored = usize::from(self.0.load(Ordering::Relaxed));
        LEVELS.get(stored).copied().unwrap_or(MessageLevel::Info)
    }

    /// Whether it wants to hear of ordinary events.
    pub(super) fn wants_ordinary(&self) -> bool {
        self.get() <= MessageLevel::Info
    }
}

/// A level of the SDK's.
pub(super) fn level_of(level: LoggingLevel) -> MessageLevel {
    match level {
        LoggingLevel::Debug => MessageLevel::Debug,
        LoggingLevel::Info => MessageLevel::Info,
        LoggingLevel::Notice => MessageLevel::Notice,
        LoggingLevel::Warning => MessageLevel::Warning,
        LoggingLevel::Error => MessageLevel::Error,
        LoggingLevel::Critical => MessageLevel::Critical,
        LoggingLevel::Alert => MessageLevel::Alert,
        LoggingLevel::Emergency => MessageLevel::Emergency,
    }
}

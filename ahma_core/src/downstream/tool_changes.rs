//! Whether a server has said that its tools have changed, and nobody has looked since. Must not look itself.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts changes of the tools of one server.
#[derive(Debug, Default)]
pub(super) struct ToolChanges {
    said: AtomicU64,
    looked_at: AtomicU64,
}

impl ToolChanges {
    /// The server says that something has changed.
    pub(super) fn say(&self) {
        self.said.fetch_add(1, Ordering::AcqRel);
    }

    /// How many it has said so far: to be read before its tools are asked for.
    pub(super) fn said(&self) -> u64 {
        self.said.load(Ordering::Acquire)
    }

    /// Its tools are known as they were after so many changes.
    pub(super) fn look_at(&self, said: u64) {
        self.looked_at.fetch_max(said, Ordering::AcqRel);
    }

    /// Whether it has said something that nobody has looked at.
    pub(super) fn is_open(&self) -> bool {
        self.looked_at.load(Ordering::Acquire) < self.said()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C46.
    #[test]
    fn a_change_that_comes_while_another_is_looked_at_stays_open() {
        let changes = ToolChanges::default();
        assert!(!changes.is_open());
        changes.say();
        let said = changes.said();
        changes.say();
        changes.look_at(said);
        assert!(changes.is_open());
        changes.look_at(changes.said());
        changes.look_at(said);
        assert!(!changes.is_open());
    }
}

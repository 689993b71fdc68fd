//! How much all outputs together may keep on disk. When it is used up, the outputs that were finished
//! first give theirs away.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::spool::Spool;

/// What all outputs together keep on disk unless the operator says otherwise.
pub(crate) const SPOOL_TOTAL: u64 = 1024 * 1024 * 1024;

/// The bound that outputs share.
#[derive(Debug)]
pub struct SpoolBudget {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    /// Outputs that are complete, the oldest first.
    finished: VecDeque<Weak<Spool>>,
}

impl Default for SpoolBudget {
    fn default() -> Self {
        SpoolBudget::new(SPOOL_TOTAL)
    }
}

impl SpoolBudget {
    /// At most this many bytes.
    pub fn new(limit: u64) -> Self {
        SpoolBudget {
            limit,
            state: Mutex::default(),
        }
    }

    /// How many bytes are kept now.
    pub fn used(&self) -> u64 {
        self.state().used
    }

    /// Takes up to `bytes`, from finished outputs if need be. Returns how many there were. Files of
    /// those are emptied, so this may block.
    pub(super) fn take(&self, bytes: u64) -> u64 {
        loop {
            let oldest = {
                let mut state = self.state();
                let free = self.limit.saturating_sub(state.used);
                if free < bytes && !state.finished.is_empty() {
                    state.finished.pop_front()
                } else {
                    let taken = bytes.min(free);
                    state.used += taken;
                    return taken;
                }
            };
            // Outside the lock: it gives back what it kept.
            if let Some(spool) = oldest.and_then(|spool| spool.upgrade()) {
                spool.discard();
            }
        }
    }

    pub(super) fn give_back(&self, bytes: u64) {
        let mut state = self.state();
        state.used = state.used.saturating_sub(bytes);
    }

    pub(super) fn finished(&self, spool: &Arc<Spool>) {
        let mut state = self.state();
        state.finished.retain(|spool| spool.strong_count() > 0);
        state.finished.push_back(Arc::downgrade(spool));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A number and a list, each right after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

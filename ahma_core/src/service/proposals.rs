//! What commands have printed that can be proposed for values: remembered for a moment, asked for once. Must not run them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

/// How long what it printed is used.
const FRESH: Duration = Duration::from_secs(5);
/// Commands whose values are remembered.
const MAX_REMEMBERED: usize = 32;

/// The values of a command, once it has printed them.
pub(super) type Printed = Arc<OnceCell<Arc<[String]>>>;

/// What commands have printed lately.
#[derive(Default)]
pub(crate) struct Proposals(Mutex<VecDeque<(Vec<String>, Instant, Printed)>>);

impl Proposals {
    /// The values of a command line; asked of it once, however many want to know.
    pub(super) fn printed(&self, words: &[String]) -> Printed {
        // Nothing of it is left half changed by a panic.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, asked, _)| asked.elapsed() < FRESH);
        if let Some((_, _, printed)) = all.iter().find(|(it, ..)| it == words) {
            return Arc::clone(printed);
        }
        if all.len() >= MAX_REMEMBERED {
            all.pop_front();
        }
        let printed = Printed::default();
        all.push_back((words.to_vec(), Instant::now(), Arc::clone(&printed)));
        printed
    }
}

//! What the owner of a scope is warned of: in the log, in the audit log, where the program says so, and on request.
//!
//! Tells each warning everywhere at once. Must not depend on whether a client reads its results.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::audit::AuditLog;

/// Warnings that are remembered; older ones are only counted.
const MAX_REMEMBERED: usize = 100;

/// Says a warning where the owner sees it at once, such as on a terminal.
pub type SayWarning = Arc<dyn Fn(&str) + Send + Sync>;

/// Tells the owner of a scope.
pub struct OwnerWarnings {
    scope: PathBuf,
    audit: Option<Arc<AuditLog>>,
    say: Option<SayWarning>,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    recent: VecDeque<String>,
    older: usize,
}

impl OwnerWarnings {
    /// For a scope. Nothing has been told yet.
    pub fn new(scope: &Path, audit: Option<Arc<AuditLog>>, say: Option<SayWarning>) -> Self {
        OwnerWarnings {
            scope: scope.to_owned(),
            audit,
            say,
            told: Mutex::default(),
        }
    }

    /// Tells one.
    pub fn tell(&self, warning: &str) {
        tracing::warn!(scope = %self.scope.display(), "{warning}");
        if let Some(audit) = &self.audit {
            audit.warning(&self.scope, warning);
        }
        if let Some(say) = &self.say {
            say(warning);
        }
        let mut told = self.lock();
        if told.recent.len() == MAX_REMEMBERED {
            told.recent.pop_front();
            told.older += 1;
        }
        told.recent.push_back(warning.to_owned());
    }

    /// What was told, the latest last.
    pub fn recent(&self) -> Vec<String> {
        let told = self.lock();
        let older = (told.older > 0).then(|| format!("and {} before that", told.older));
        older
            .into_iter()
            .chain(told.recent.iter().cloned())
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Told> {
        // A list of texts is consistent after any panic.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_remembered_within_bounds() {
        let said = Arc::new(Mutex::new(0));
        let count = Arc::clone(&said);
        let say: SayWarning = Arc::new(move |_| *count.lock().unwrap() += 1);
        let warnings = OwnerWarnings::new(Path::new("/scope"), None, Some(say));
        for number in 0..=MAX_REMEMBERED {
            warnings.tell(&format!("number {number}"));
        }
        let recent = warnings.recent();
        assert_eq!(recent.len(), MAX_REMEMBERED + 1);
        assert_eq!(recent[..2], ["and 1 before that", "number 1"]);
        assert_eq!(*said.lock().unwrap(), MAX_REMEMBERED + 1);
    }
}

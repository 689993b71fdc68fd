//! What checks of availability found last time, so that the first list of a server is complete at once.
//!
//! Only a first answer: every check is made again. Must not be where commands can write.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::config::AvailabilityCheck;
use crate::registry::ProbeResults;

/// Results that are kept; a file with more is begun anew.
const MAX_RESULTS: usize = 500;
/// A larger file is not ours.
const MAX_BYTES: u64 = 256 * 1024;

/// Results in a file, for one PATH.
#[derive(Debug, Clone, Default)]
pub(super) struct AvailabilityCache {
    file: Option<Arc<PathBuf>>,
    path: OsString,
}

type Kept = BTreeMap<String, bool>;

impl AvailabilityCache {
    /// In this file, where there is one, for commands with this PATH.
    pub(super) fn new(file: Option<PathBuf>, path: OsString) -> Self {
        AvailabilityCache {
            file: file.map(Arc::new),
            path,
        }
    }

    /// What these checks found last time. Blocks.
    pub(super) fn last(&self, checks: &[AvailabilityCheck]) -> ProbeResults {
        let kept = self.read();
        let known = checks.iter().filter_map(|check| {
            let passed = kept.get(&self.key(check))?;
            Some((check.clone(), *passed))
        });
        known.collect()
    }

    /// Keeps results for the next time. Blocks. Without success nothing is lost but time.
    pub(super) fn keep(&self, results: &ProbeResults) {
        let (Some(file), false) = (&self.file, results.is_empty()) else {
            return;
        };
        let before = self.read();
        let mut kept = before.clone();
        kept.extend(
            results
                .iter()
                .map(|(check, passed)| (self.key(check), *passed)),
        );
        if kept == before {
            return;
        }
        if kept.len() > MAX_RESULTS {
            let new = results
                .iter()
                .map(|(check, passed)| (self.key(check), *passed));
            kept = new.collect();
        }
        let _ = write(file, &kept);
    }

    #[expect(clippy::disallowed_methods, reason = "beside the runtime")]
    fn read(&self) -> Kept {
        let Some(file) = &self.file else {
            return Kept::new();
        };
        let is_ours = file
            .metadata()
            .is_ok_and(|it| it.is_file() && it.len() <= MAX_BYTES);
        let text = is_ours.then(|| fs::read(file.as_path()).ok()).flatten();
        let kept = text.and_then(|text| serde_json::from_slice(&text).ok());
        kept.unwrap_or_default()
    }

    fn key(&self, check: &AvailabilityCheck) -> String {
        let mut hash = Sha256::new();
        hash.update(self.path.as_encoded_bytes());
        hash.update(format!("\0{check:?}"));
        let hash = hash.finalize();
        hash.iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "beside the runtime")]
fn write(file: &PathBuf, kept: &Kept) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(file);
    fs::create_dir_all(directory)?;
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(serde_json::to_string(kept)?.as_bytes())?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    fn check(program: &str) -> AvailabilityCheck {
        AvailabilityCheck::Command {
            program: program.to_owned(),
            args: Vec::new(),
            success_exit_codes: vec![0],
            or_exists: Vec::new(),
        }
    }

    #[test]
    fn results_are_there_again_for_the_same_path_and_rubbish_is_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("deep/availability.json");
        let cache = |path: &str| AvailabilityCache::new(Some(file.clone()), path.into());
        let checks = [check("a"), check("b"), check("c")];
        let results: ProbeResults = [(check("a"), true), (check("b"), false)].into();
        assert_eq!(cache("/bin").last(&checks), ProbeResults::new());
        cache("/bin").keep(&results);
        assert_eq!(cache("/bin").last(&checks), results);
        assert_eq!(cache("/other").last(&checks), ProbeResults::new());
        for rubbish in ["", "[]", "{\"x\": 1}"] {
            fs::write(&file, rubbish).unwrap();
            assert_eq!(cache("/bin").last(&checks), ProbeResults::new());
        }
        cache("/bin").keep(&results);
        assert_eq!(cache("/bin").last(&checks), results);
    }
}

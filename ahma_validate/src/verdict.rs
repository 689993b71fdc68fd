//! The verdict over files of all kinds, whatever they declare.

use std::path::PathBuf;

use ahma_core::config::content::Loaded;
use ahma_core::config::settings::SettingsFile;
use ahma_core::config::{Catalog, Fault, RejectedFile, WarnedFile};

/// What was found.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Every file that was asked for, in that order.
    pub(crate) asked_for: Vec<PathBuf>,
    pub(crate) rejected: Vec<RejectedFile>,
    pub(crate) warned: Vec<WarnedFile>,
    pub(crate) good_files: usize,
    /// What the good files offer: how many, and of what.
    pub(crate) offered: Vec<(usize, &'static str)>,
}

impl Verdict {
    pub(crate) fn take_tools(&mut self, catalog: Catalog, asked_for: Vec<PathBuf>) {
        self.good_files += catalog.files.len();
        self.offered.push((catalog.tools().count(), "tool"));
        self.rejected.extend(catalog.rejected);
        self.warned.extend(catalog.warned);
        self.asked_for.extend(asked_for);
    }

    pub(crate) fn take<T>(
        &mut self,
        loaded: Loaded<T>,
        asked_for: Vec<PathBuf>,
        what: &'static str,
    ) {
        self.good_files += loaded.accepted.len();
        self.offered.push((loaded.accepted.len(), what));
        self.rejected.extend(loaded.rejected);
        self.warned.extend(loaded.warned);
        self.asked_for.extend(asked_for);
    }

    pub(crate) fn take_settings(&mut self, file: SettingsFile) {
        self.asked_for.push(file.path.clone());
        if file.faults.is_empty() {
            let tables = file.scopes.iter().chain(&file.profiles);
            let count = tables.map(|(_, settings)| settings.len()).sum::<usize>();
            self.good_files += 1;
            self.offered.push((file.server.len() + count, "setting"));
        } else {
            self.offered.push((0, "setting"));
            self.rejected.push(RejectedFile {
                path: file.path,
                text: file.text,
                faults: file.faults,
            });
        }
    }

    /// Whether every file is served.
    pub(crate) fn is_good(&self) -> bool {
        self.rejected.is_empty()
    }

    /// What is wrong with a file, and what is worth a look.
    pub(crate) fn faults(&self, path: &PathBuf) -> (&[Fault], &[Fault]) {
        let rejected = self.rejected.iter().find(|it| it.path == *path);
        let warned = self.warned.iter().find(|it| it.path == *path);
        (
            rejected.map(|it| it.faults.as_slice()).unwrap_or_default(),
            warned.map(|it| it.warnings.as_slice()).unwrap_or_default(),
        )
    }
}

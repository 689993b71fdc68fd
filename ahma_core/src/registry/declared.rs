//! What all tool files together offer, after the checks of availability that were made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::definition::definition;
use super::entry::{Runner, ToolEntry};
use crate::config::{AvailabilityCheck, Catalog, RejectedFile, ToolFile, ToolSpec};

/// Which checks of availability were passed; one that is missing has not been made yet.
pub(crate) type ProbeResults = HashMap<AvailabilityCheck, bool>;

/// Makes checks of availability.
pub(crate) trait Prober: Send + Sync {
    /// Makes these checks and says which were passed.
    fn probe(&self, checks: Vec<AvailabilityCheck>) -> BoxFuture<'_, ProbeResults>;
}

/// The tools of one reading of all tool files.
#[derive(Debug, Default)]
pub(crate) struct DeclaredTools {
    files: Vec<Arc<ToolFile>>,
    rejected: Arc<Vec<RejectedFile>>,
    project: PathBuf,
    results: ProbeResults,
    entries: Vec<Arc<ToolEntry>>,
    unavailable: Vec<Unavailable>,
}

/// A tool whose check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unavailable {
    /// Its name.
    pub name: String,
    /// What its file says to do.
    pub install_instructions: Option<String>,
}

impl DeclaredTools {
    /// Takes over what was loaded. A file that was valid before and is rejected now keeps its last valid version, and
    /// checks that were made before keep their results until they are made again.
    pub(crate) fn new(
        catalog: Catalog,
        project: &Path,
        before: &DeclaredTools,
        always_sync: bool,
    ) -> Self {
        let valid = catalog.files.into_iter().map(Arc::new);
        let kept = before.files.iter().filter(|kept| {
            let mut rejected = catalog.rejected.iter();
            rejected.any(|file| file.path == kept.source)
        });
        let mut files: Vec<Arc<ToolFile>> = valid.chain(kept.cloned()).collect();
        files.sort_by(|one, other| one.source.cmp(&other.source));
        let tools = DeclaredTools {
            files,
            rejected: Arc::new(catalog.rejected),
            project: project.to_owned(),
            results: before.results.clone(),
            ..DeclaredTools::default()
        };
        tools.arranged(always_sync)
    }

    /// The same files after other checks.
    pub(crate) fn with_results(&self, results: ProbeResults, always_sync: bool) -> Self {
        let tools = DeclaredTools {
            files: self.files.clone(),
            rejected: Arc::clone(&self.rejected),
            project: self.project.clone(),
            results,
            ..DeclaredTools::default()
        };
        tools.arranged(always_sync)
    }

    /// Fills in which tools are offered: those that fit the project (some are only for projects with a certain file) and
    /// whose checks were passed.
    fn arranged(mut self, always_sync: bool) -> Self {
        for tool in self.files.iter().flat_map(|file| &file.tools) {
            if !fits(tool, &self.project) {
                continue;
            }
            let check = tool.availability.as_ref();
            let passed = check.map_or(Some(true), |check| self.results.get(check).copied());
            if passed == Some(false) {
                self.unavailable.push(Unavailable {
                    name: tool.name.clone(),
                    install_instructions: tool.install_instructions.clone(),
                });
                continue;
            }
            self.entries.push(Arc::new(ToolEntry {
                definition: definition(tool, always_sync),
                runner: Runner::Declared(Arc::clone(tool)),
                // Not listed until the check passes, but already callable by name.
                is_listed: passed.is_some(),
            }));
        }
        self
    }

    /// Every check that decides about a tool of this project, once.
    pub(crate) fn checks(&self) -> Vec<AvailabilityCheck> {
        let tools = self.files.iter().flat_map(|file| &file.tools);
        let fitting = tools.filter(|tool| fits(tool, &self.project));
        let checks: HashSet<_> = fitting
            .filter_map(|tool| tool.availability.clone())
            .collect();
        checks.into_iter().collect()
    }

    /// What is known of the checks.
    pub(crate) fn results(&self) -> &ProbeResults {
        &self.results
    }

    /// Every tool that can be called, in the order of the files.
    pub(crate) fn entries(&self) -> &[Arc<ToolEntry>] {
        &self.entries
    }

    /// Tools whose checks failed.
    pub(crate) fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Tools that are for other projects.
    pub(crate) fn unfitting(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        let tools = self.files.iter().flat_map(|file| &file.tools);
        tools.filter(|tool| !fits(tool, &self.project))
    }

    /// Names of tools that their files switch off.
    pub(crate) fn disabled(&self) -> Vec<&String> {
        self.files.iter().flat_map(|file| &file.disabled).collect()
    }

    /// Files that are not served, and why.
    pub(crate) fn rejected(&self) -> &[RejectedFile] {
        &self.rejected
    }
}

/// Whether the project is one the tool is meant for.
pub(crate) fn fits(tool: &ToolSpec, project: &Path) -> bool {
    let mut files = tool.only_if.iter();
    tool.only_if.is_empty() || files.any(|file| project.join(file).exists())
}

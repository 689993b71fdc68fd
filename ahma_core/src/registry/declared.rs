//! What all tool files together offer, under the circumstances of a project: the files it has, and the programs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::definition::definition;
use super::entry::{Runner, ToolEntry};
use super::surface::Surface;
use crate::config::{AvailabilityCheck, Catalog, RejectedFile, ToolFile, ToolSpec};

/// Which checks of availability were passed; one that is missing has not been made yet.
pub(crate) type ProbeResults = HashMap<AvailabilityCheck, bool>;

/// Makes checks of availability.
pub(crate) trait Prober: Send + Sync {
    /// Makes the checks that need no command, and looks which of these paths the project has. May block.
    fn look(
        &self,
        checks: &[AvailabilityCheck],
        paths: &[String],
    ) -> (ProbeResults, BTreeSet<String>);

    /// Makes these checks, with commands where they are needed, and says which were passed.
    fn probe(&self, checks: Vec<AvailabilityCheck>) -> BoxFuture<'_, ProbeResults>;
}

/// What decides about tools besides their files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// Checks that needed no command.
    pub(crate) looked: ProbeResults,
    /// Checks that commands have answered.
    pub(crate) probed: ProbeResults,
    /// Paths that tools ask for and that are there.
    pub(crate) present: BTreeSet<String>,
}

impl Circumstances {
    /// Whether a check was passed, where that is known.
    fn passed(&self, check: &AvailabilityCheck) -> Option<bool> {
        let looked = self.looked.get(check);
        looked.or_else(|| self.probed.get(check)).copied()
    }
}

/// How tools are offered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Presentation {
    /// Whether every call waits, which descriptions say.
    pub(crate) always_sync: bool,
    /// Which tools are listed.
    pub(crate) surface: Surface,
}

/// The tools of one reading of all tool files.
#[derive(Debug, Default)]
pub(crate) struct DeclaredTools {
    files: Vec<Arc<ToolFile>>,
    rejected: Arc<Vec<RejectedFile>>,
    circumstances: Circumstances,
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
    pub(crate) fn new(catalog: Catalog, before: &DeclaredTools, how: &Presentation) -> Self {
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
            circumstances: before.circumstances.clone(),
            ..DeclaredTools::default()
        };
        tools.arranged(how)
    }

    /// The same files under other circumstances.
    pub(crate) fn under(&self, circumstances: Circumstances, how: &Presentation) -> Self {
        let tools = DeclaredTools {
            files: self.files.clone(),
            rejected: Arc::clone(&self.rejected),
            circumstances,
            ..DeclaredTools::default()
        };
        tools.arranged(how)
    }

    /// Fills in which tools are offered: those that fit the project (some are only for projects with a certain file) and
    /// whose checks were passed.
    fn arranged(self, how: &Presentation) -> Self {
        let (mut entries, mut unavailable) = (Vec::new(), Vec::new());
        for file in &self.files {
            for tool in file.tools.iter().filter(|tool| self.fits(tool)) {
                let check = tool.availability.as_ref();
                let passed = check.map_or(Some(true), |it| self.circumstances.passed(it));
                if passed == Some(false) {
                    unavailable.push(Unavailable {
                        name: tool.name.clone(),
                        install_instructions: tool.install_instructions.clone(),
                    });
                    continue;
                }
                entries.push(Arc::new(ToolEntry {
                    whole: None,
                    definition: Arc::new(definition(tool, how.always_sync)),
                    runner: Runner::Declared(Arc::clone(tool)),
                    // Not listed until the check passes, but already callable by name.
                    is_available: passed.is_some(),
                    is_listed: passed.is_some() && how.surface.lists(file, tool),
                }));
            }
        }
        DeclaredTools {
            entries,
            unavailable,
            ..self
        }
    }

    /// Whether the project is one the tool is meant for.
    fn fits(&self, tool: &ToolSpec) -> bool {
        let mut files = tool.only_if.iter();
        let present = &self.circumstances.present;
        tool.only_if.is_empty() || files.any(|file| present.contains(file))
    }

    /// Every check that decides about a tool, once.
    pub(crate) fn checks(&self) -> Vec<AvailabilityCheck> {
        let checks: HashSet<_> = self
            .tools()
            .filter_map(|tool| tool.availability.clone())
            .collect();
        checks.into_iter().collect()
    }

    /// The same for tools of this project that are not known to be available, as far as a command has to be run for it.
    pub(crate) fn open_checks(&self) -> Vec<AvailabilityCheck> {
        let fitting = self.tools().filter(|tool| self.fits(tool));
        let checks: HashSet<&AvailabilityCheck> = fitting
            .filter_map(|tool| tool.availability.as_ref())
            .filter(|check| matches!(check, AvailabilityCheck::Command { .. }))
            .collect();
        checks.into_iter().cloned().collect()
    }

    /// Whether a check that decides about a tool of this project has not been made yet.
    pub(crate) fn is_undecided(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_available)
    }

    /// Every path that a tool asks for, once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let paths: BTreeSet<&String> = self.tools().flat_map(|tool| &tool.only_if).collect();
        paths.into_iter().cloned().collect()
    }

    fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.files.iter().flat_map(|file| &file.tools)
    }

    /// What decides about tools besides their files.
    pub(crate) fn circumstances(&self) -> &Circumstances {
        &self.circumstances
    }

    /// The files that are served.
    pub(crate) fn files(&self) -> &[Arc<ToolFile>] {
        &self.files
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
        self.tools().filter(|tool| !self.fits(tool))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_beside;
    use crate::registry::{DeclaredContent, Registry, ToolFileRules};
    use crate::service::CallStyle;
    use crate::service::tools::definitions;

    /// Bytes of a list of tools for projects with these files, when all programs are there.
    fn bytes(files: &[&str]) -> usize {
        let found = ToolFileRules::default()
            .files_of(std::path::Path::new("/nowhere"))
            .read()
            .unwrap();
        let catalog = load_beside(found.own, found.shipped, &crate::server_facts());
        let how = Presentation::default();
        let declared = DeclaredTools::new(catalog, &DeclaredTools::default(), &how);
        let passed = declared.checks().into_iter().map(|check| (check, true));
        let circumstances = Circumstances {
            looked: passed.collect(),
            probed: ProbeResults::new(),
            present: files.iter().map(|it| (*it).to_owned()).collect(),
        };
        let declared = declared.under(circumstances, &how);
        let registry = Registry::new(
            definitions(CallStyle::default()),
            (declared, DeclaredContent::default()),
            how,
        );
        let current = registry.current();
        let listed = current
            .listed()
            .iter()
            .map(|it| rmcp::model::Tool::clone(it))
            .collect();
        serde_json::to_string(&rmcp::model::ListToolsResult::with_all_items(listed))
            .unwrap()
            .len()
    }

    /// Proves: T47.
    #[test]
    fn a_list_is_short_for_every_kind_of_project() {
        let all = [
            ".git",
            "Cargo.toml",
            "package.json",
            "pyproject.toml",
            "Makefile",
        ];
        for files in [
            &[".git", "Cargo.toml"][..],
            &[".git", "package.json"],
            &[".git", "pyproject.toml"],
            &[".git", "Makefile"],
            &all,
        ] {
            let tokens = bytes(files) / 4;
            assert!(tokens <= 6000, "{files:?}: {tokens} tokens");
            assert!(tokens > 2000, "{files:?}: {tokens} tokens");
        }
    }
}

//! The tools that are served now.
//!
//! A [`ToolSnapshot`] is what one reading of all tool files amounts to; it never changes. The
//! [`Registry`] holds the current one and tells when another takes its place. A call keeps the one it
//! started with. Nothing here reads files, runs commands or speaks to clients.

mod watcher;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

pub use self::watcher::Watcher;

use crate::config::{AvailabilityCheck, BUILT_IN_TOOLS, Catalog, RejectedFile, ToolFile, ToolSpec};
use crate::light_watch::LightWatch;

/// Which checks of availability were passed; one that is missing has not been made yet.
pub type ProbeResults = HashMap<AvailabilityCheck, bool>;

/// What all tool files together offer.
#[derive(Debug, Default)]
pub struct ToolSnapshot {
    files: Vec<Arc<ToolFile>>,
    tools: Vec<Arc<ToolSpec>>,
    by_name: HashMap<String, usize>,
    rejected: Arc<Vec<RejectedFile>>,
    unavailable: Vec<Unavailable>,
    /// Tools whose checks have not been made.
    pending: HashMap<String, Arc<ToolSpec>>,
    project: PathBuf,
    results: ProbeResults,
}

/// A tool whose check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// Its name.
    pub name: String,
    /// What its file says to do.
    pub install_instructions: Option<String>,
}

impl ToolSnapshot {
    /// Takes over what was loaded. A file that was good before and is rejected now keeps its last good
    /// version, and checks that were made before keep their results until they are made again.
    pub fn new(catalog: Catalog, project: &Path, before: &ToolSnapshot) -> Self {
        let good = catalog.files.into_iter().map(Arc::new);
        let kept = before.files.iter().filter(|kept| {
            let mut rejected = catalog.rejected.iter();
            rejected.any(|file| file.path == kept.source)
        });
        let mut files: Vec<Arc<ToolFile>> = good.chain(kept.cloned()).collect();
        files.sort_by(|one, other| one.source.cmp(&other.source));
        let snapshot = ToolSnapshot {
            files,
            rejected: Arc::new(catalog.rejected),
            project: project.to_owned(),
            results: before.results.clone(),
            ..ToolSnapshot::default()
        };
        snapshot.arranged()
    }

    /// The same files after other results.
    pub fn judged(&self, results: ProbeResults) -> Self {
        let snapshot = ToolSnapshot {
            files: self.files.clone(),
            rejected: Arc::clone(&self.rejected),
            project: self.project.clone(),
            results,
            ..ToolSnapshot::default()
        };
        snapshot.arranged()
    }

    /// Fills in which tools are offered: those that fit the project (some are only for projects with a
    /// certain file) and whose checks were passed.
    fn arranged(mut self) -> Self {
        for tool in self.files.iter().flat_map(|file| &file.tools) {
            // The loader sees to both; an old version of a file beside new ones of others may not fit.
            let is_taken = BUILT_IN_TOOLS.contains(&tool.name.as_str())
                || self.by_name.contains_key(&tool.name);
            if is_taken || !fits(tool, &self.project) {
                continue;
            }
            let check = tool.availability.as_ref();
            match check.map_or(Some(&true), |check| self.results.get(check)) {
                Some(true) => {
                    self.by_name.insert(tool.name.clone(), self.tools.len());
                    self.tools.push(Arc::clone(tool));
                }
                Some(false) => self.unavailable.push(Unavailable {
                    name: tool.name.clone(),
                    install_instructions: tool.install_instructions.clone(),
                }),
                // Listed once it has passed; who knows its name need not wait for that.
                None => {
                    self.pending.insert(tool.name.clone(), Arc::clone(tool));
                }
            }
        }
        self
    }

    /// Every check that decides about a tool of this project, once.
    pub fn checks(&self) -> Vec<AvailabilityCheck> {
        let tools = self.files.iter().flat_map(|file| &file.tools);
        let fitting = tools.filter(|tool| fits(tool, &self.project));
        let checks: HashSet<_> = fitting
            .filter_map(|tool| tool.availability.clone())
            .collect();
        checks.into_iter().collect()
    }

    /// What is known of the checks.
    pub fn results(&self) -> &ProbeResults {
        &self.results
    }

    /// Tools whose checks failed.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Every tool, in the order of the files.
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }

    /// The tool of that name, unless it is known not to be available.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        let listed = self.by_name.get(name);
        let listed = listed.and_then(|index| self.tools.get(*index));
        listed.or_else(|| self.pending.get(name))
    }

    /// Names of tools that their files switch off.
    pub fn disabled(&self) -> Vec<&String> {
        self.files.iter().flat_map(|file| &file.disabled).collect()
    }

    /// Files that are not served, and why.
    pub fn rejected(&self) -> &[RejectedFile] {
        &self.rejected
    }
}

/// Whether the project is one the tool is meant for.
pub(crate) fn fits(tool: &ToolSpec, project: &Path) -> bool {
    let mut files = tool.only_if.iter();
    tool.only_if.is_empty() || files.any(|file| project.join(file).exists())
}

/// The current tools.
#[derive(Debug)]
pub struct Registry {
    current: watch::Sender<Arc<ToolSnapshot>>,
    /// Whether a client has listed them.
    listed: LightWatch<bool>,
    /// Why changes of files are not taken over, when they are not.
    held_back: Mutex<Option<String>>,
}

impl Registry {
    /// Begins with these.
    pub fn new(snapshot: ToolSnapshot) -> Self {
        Registry {
            current: watch::Sender::new(Arc::new(snapshot)),
            listed: LightWatch::default(),
            held_back: Mutex::default(),
        }
    }

    /// Notes why changes of files are not taken over, or that they are.
    pub fn hold_back(&self, why: Option<&str>) {
        if let Some(why) = why {
            tracing::warn!("{why}");
        }
        let mut held_back = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held_back = why.map(str::to_owned);
    }

    /// Why changes of files are not taken over, when they are not.
    pub fn held_back(&self) -> Option<String> {
        let held_back = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        held_back.clone()
    }

    /// A client has listed the tools.
    pub fn note_listed(&self) {
        self.listed
            .change(|listed| !std::mem::replace(listed, true));
    }

    /// Waits until a client has listed the tools for the first time.
    pub async fn listed(&self) {
        self.listed.wait(|listed| listed.then_some(())).await;
    }

    /// The tools as they are now.
    pub fn current(&self) -> Arc<ToolSnapshot> {
        Arc::clone(&self.current.borrow())
    }

    /// Other tools take the place of the current ones.
    pub fn publish(&self, snapshot: ToolSnapshot) {
        self.current.send_replace(Arc::new(snapshot));
    }

    /// Tells when others take their place.
    pub fn changes(&self) -> watch::Receiver<Arc<ToolSnapshot>> {
        self.current.subscribe()
    }
}

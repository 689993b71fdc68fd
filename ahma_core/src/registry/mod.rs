//! The tools that are served now.
//!
//! A [`ToolSnapshot`] is what one reading of all tool files amounts to; it never changes. The
//! [`Registry`] holds the current one and tells when another takes its place. A call keeps the one it
//! started with. Nothing here reads files, runs commands or speaks to clients.

mod watcher;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

pub use self::watcher::Watcher;

use crate::config::{BUILT_IN_TOOLS, Catalog, LeafSpec, RejectedFile, ToolSpec};

/// What all tool files together offer.
#[derive(Debug, Default)]
pub struct ToolSnapshot {
    tools: Vec<Arc<ToolSpec>>,
    leaves: Vec<Arc<LeafSpec>>,
    by_name: HashMap<String, usize>,
    rejected: Vec<RejectedFile>,
}

impl ToolSnapshot {
    /// Takes over what was loaded and fits the project: some tools are only for projects with a certain
    /// file. A file that was good before and is rejected now keeps its last good version.
    pub fn new(catalog: Catalog, project: &Path, before: &ToolSnapshot) -> Self {
        let good = catalog.tools.into_iter().map(Arc::new);
        let kept = before.tools.iter().filter(|tool| {
            let mut rejected = catalog.rejected.iter();
            rejected.any(|file| file.path == tool.source)
        });
        let mut tools: Vec<Arc<ToolSpec>> = good.chain(kept.cloned()).collect();
        tools.sort_by(|one, other| one.source.cmp(&other.source));
        let mut snapshot = ToolSnapshot {
            tools,
            rejected: catalog.rejected,
            ..ToolSnapshot::default()
        };
        for leaf in snapshot.tools.iter().flat_map(|tool| &tool.leaves) {
            // The loader sees to both; an old version of a file beside new ones of others may not fit.
            let is_taken = BUILT_IN_TOOLS.contains(&leaf.name.as_str())
                || snapshot.by_name.contains_key(&leaf.name);
            if !is_taken && fits(leaf, project) {
                let index = snapshot.leaves.len();
                snapshot.by_name.insert(leaf.name.clone(), index);
                snapshot.leaves.push(Arc::new(leaf.clone()));
            }
        }
        snapshot
    }

    /// Every tool, in the order of the files.
    pub fn leaves(&self) -> &[Arc<LeafSpec>] {
        &self.leaves
    }

    /// The tool of that name.
    pub fn leaf(&self, name: &str) -> Option<&Arc<LeafSpec>> {
        self.leaves.get(*self.by_name.get(name)?)
    }

    /// Names of tools that their files switch off.
    pub fn disabled(&self) -> Vec<&String> {
        self.tools.iter().flat_map(|tool| &tool.disabled).collect()
    }

    /// Files that are not served, and why.
    pub fn rejected(&self) -> &[RejectedFile] {
        &self.rejected
    }
}

/// Whether the project is one the leaf is meant for.
fn fits(leaf: &LeafSpec, project: &Path) -> bool {
    let mut files = leaf.only_if.iter();
    leaf.only_if.is_empty() || files.any(|file| project.join(file).exists())
}

/// The current tools.
#[derive(Debug)]
pub struct Registry {
    current: watch::Sender<Arc<ToolSnapshot>>,
}

impl Registry {
    /// Begins with these.
    pub fn new(snapshot: ToolSnapshot) -> Self {
        Registry {
            current: watch::Sender::new(Arc::new(snapshot)),
        }
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

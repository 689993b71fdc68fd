//! The tools that are served now.
//!
//! A [`ToolSnapshot`] is what one reading of all tool files amounts to; it never changes. The
//! [`Registry`] holds the current one and tells when another takes its place. A call keeps the one it
//! started with. Nothing here reads files, runs commands or speaks to clients.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use crate::config::{Action, BUILT_IN_TOOLS, Catalog, LeafSpec, RejectedFile};

/// What all tool files together offer.
#[derive(Debug, Default)]
pub struct ToolSnapshot {
    leaves: Vec<Arc<LeafSpec>>,
    by_name: HashMap<String, usize>,
    disabled: Vec<String>,
    rejected: Vec<RejectedFile>,
}

impl ToolSnapshot {
    /// Takes over what was loaded and fits the project: some tools are only for projects with a certain
    /// file.
    pub fn new(catalog: Catalog, project: &Path) -> Self {
        let fits = |leaf: &LeafSpec| {
            let mut files = leaf.only_if.iter();
            leaf.only_if.is_empty() || files.any(|file| project.join(file).exists())
        };
        let mut snapshot = ToolSnapshot {
            rejected: catalog.rejected,
            ..ToolSnapshot::default()
        };
        for tool in catalog.tools {
            snapshot.disabled.extend(tool.disabled);
            for leaf in tool.leaves {
                // The loader refuses the names of built-in tools; this keeps it true here.
                let is_taken = BUILT_IN_TOOLS.contains(&leaf.name.as_str());
                if !is_taken && fits(&leaf) && matches!(leaf.action, Action::Run(_)) {
                    let index = snapshot.leaves.len();
                    snapshot.by_name.insert(leaf.name.clone(), index);
                    snapshot.leaves.push(Arc::new(leaf));
                }
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
    pub fn disabled(&self) -> &[String] {
        &self.disabled
    }

    /// Files that are not served, and why.
    pub fn rejected(&self) -> &[RejectedFile] {
        &self.rejected
    }
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
}

//! Which paths of a scope commands may not write.

use std::path::{Path, PathBuf};

use super::sources::{ToolArgs, ToolSources};
use crate::tamper::usually_protected;

/// Paths in a scope, whichever it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Protection {
    pub(super) protect: Vec<PathBuf>,
    pub(super) unprotect: Vec<PathBuf>,
    /// For tools that a scope has by itself.
    pub(super) args: ToolArgs,
}

impl Protection {
    /// What is usually protected and what the operator adds, without what the operator takes out, and where tools are read
    /// from.
    pub(super) fn in_scope(&self, scope: &Path, tools: &ToolSources) -> Vec<PathBuf> {
        let taken_out = self.unprotected(scope);
        let added = self.protect.iter().map(|path| scope.join(path));
        let mut paths = usually_protected(scope);
        paths.extend(added);
        paths.retain(|path| !taken_out.contains(path));
        self.add_tools(&mut paths, scope, tools);
        paths
    }

    pub(super) fn unprotected(&self, scope: &Path) -> Vec<PathBuf> {
        self.unprotect.iter().map(|path| scope.join(path)).collect()
    }

    /// Protects the directories that tools are read from: a command must not make tools.
    pub(super) fn add_tools(&self, protect: &mut Vec<PathBuf>, scope: &Path, tools: &ToolSources) {
        let unprotect = self.unprotected(scope);
        for directory in tools.directories() {
            let Ok(real) = directory.canonicalize() else {
                continue;
            };
            let is_below = |path: &PathBuf| real.starts_with(path);
            let is_inside = real.starts_with(scope) && real != scope;
            let is_decided = protect.iter().chain(&unprotect).any(is_below);
            if is_inside && !is_decided {
                protect.push(real);
            }
        }
    }
}

//! Which paths of a scope commands may not write.

use std::io;
use std::path::{Path, PathBuf};

use super::config::ScopeConfig;
use crate::registry::ToolFiles;
use crate::tamper::usually_protected;

/// What the operator adds to the usual paths and takes out, relative to a scope.
#[derive(Clone, Copy)]
struct ProtectionRules<'r> {
    protect: &'r [PathBuf],
    unprotect: &'r [PathBuf],
}

/// The protected paths of a scope: the usual ones and those the operator adds, without those the operator takes out;
/// where its tools are read from; and what it holds of other scopes. May block.
pub(super) fn protected_paths(config: &ScopeConfig, tools: &ToolFiles) -> io::Result<Vec<PathBuf>> {
    let scope = &config.directory;
    let rules = ProtectionRules {
        protect: &config.protect,
        unprotect: &config.unprotect,
    };
    let taken_out = rules.unprotected(scope);
    let mut paths = usually_protected(scope)?;
    paths.extend(rules.protect.iter().map(|path| scope.join(path)));
    paths.retain(|path| !taken_out.contains(path));
    rules.add_tools(&mut paths, scope, tools);
    // A scope may hold others of the same program: where they read tools from, and what the server keeps there.
    for other in &config.siblings.declared {
        let kept = other.join(".ahma");
        let is_decided = paths.contains(&kept) || rules.unprotected(other).contains(&kept);
        if kept.starts_with(scope) && !is_decided {
            paths.push(kept);
        }
        rules.add_tools(&mut paths, scope, &config.tool_files.files_of(other));
    }
    Ok(paths)
}

/// Where tools are read from in any of these scopes, and what the server keeps there. May block.
#[cfg(feature = "cli")]
pub(crate) fn tool_places(
    rules: &crate::registry::ToolFileRules,
    scopes: &[PathBuf],
) -> Vec<PathBuf> {
    let places = scopes.iter().flat_map(|scope| {
        let mut places = rules.files_of(scope).directories();
        places.push(scope.join(".ahma"));
        places
    });
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    places.map(real).collect()
}

impl ProtectionRules<'_> {
    fn unprotected(&self, scope: &Path) -> Vec<PathBuf> {
        self.unprotect.iter().map(|path| scope.join(path)).collect()
    }

    /// Protects the directories that tools are read from: a command must not make tools.
    fn add_tools(&self, protect: &mut Vec<PathBuf>, scope: &Path, tools: &ToolFiles) {
        let unprotect = self.unprotected(scope);
        for directory in tools.directories() {
            let Ok(real) = directory.canonicalize() else {
                continue;
            };
            let is_below = |path: &PathBuf| real.starts_with(path);
            let is_inside = real.starts_with(scope) && real != *scope;
            let is_decided = protect.iter().chain(&unprotect).any(is_below);
            if is_inside && !is_decided {
                protect.push(real);
            }
        }
    }
}

//! Which tool files flags and environment ask for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::args::Args;
use crate::registry::{Surface, ToolFileRules};

/// A flag beats a variable.
pub(super) fn tool_file_rules(
    args: &Args,
    environment: &BTreeMap<OsString, OsString>,
) -> ToolFileRules {
    let mut named = args.tools_dir.clone();
    if named.is_empty() {
        let variable = environment.get(OsStr::new("AHMA_TOOLS_DIR"));
        let paths = variable.map(std::env::split_paths).into_iter().flatten();
        named.extend(paths.filter(|path| !path.as_os_str().is_empty()));
    }
    ToolFileRules {
        directories: named,
        prompts: args.prompts_dir.clone(),
        resources: args.resources_dir.clone(),
        without_shipped: args.no_shipped_tools,
        surface: Surface::new(&args.tools),
    }
}

/// The same with absolute directories: changes of files are reported by absolute paths.
pub(super) fn absolute(rules: ToolFileRules, directory: &Path) -> ToolFileRules {
    let absolute = |path| std::path::absolute(directory.join(&path)).unwrap_or(path);
    let all = |paths: Vec<PathBuf>| paths.into_iter().map(absolute).collect();
    ToolFileRules {
        directories: all(rules.directories),
        prompts: all(rules.prompts),
        resources: all(rules.resources),
        ..rules
    }
}

//! Which tool files flags and environment ask for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

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
        without_shipped: args.no_shipped_tools,
        surface: Surface::new(&args.tools),
    }
}

/// The same with absolute directories: changes of files are reported by absolute paths.
pub(super) fn absolute(rules: ToolFileRules, directory: &Path) -> ToolFileRules {
    let absolute = |path| std::path::absolute(directory.join(&path)).unwrap_or(path);
    let directories = rules.directories.into_iter().map(absolute);
    ToolFileRules {
        directories: directories.collect(),
        ..rules
    }
}

//! Code that a command could leave in the scope for programs outside to run: which paths are
//! protected from it, and what is noticed after it.
//!
//! Decides nothing about confinement: the sandbox makes protected paths read-only where it can. This
//! names them, and looks after each operation for what could not be protected.

pub(crate) mod git_config;
mod git_syntax;
mod watch;

use std::path::{Component, Path, PathBuf};

use ahma_sandbox::read_beneath;

pub use self::watch::TamperWatch;

/// Paths of a project whose content programs outside run or obey: Git hooks, editor tasks, servers
/// for agents, our own tools.
const USUAL: [&str; 5] = [".git/hooks", ".vscode", ".idea", ".mcp.json", ".ahma"];

/// What is read of `.gitmodules`.
const MAX_MODULES_BYTES: u64 = 256 * 1024;
const MAX_SETTINGS: usize = 100;

/// What is protected in a scope unless the operator says otherwise: at its top level and in the
/// submodules that `.gitmodules` names. They need not exist.
pub(crate) fn usually_protected(scope: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = USUAL.iter().map(|name| scope.join(name)).collect();
    if scope.join(".git").is_file() {
        // In a worktree it says where the repository is; another one would have its own hooks.
        paths.push(scope.join(".git"));
    }
    // A command may have put anything there.
    let modules = read_beneath(scope, Path::new(".gitmodules"), MAX_MODULES_BYTES);
    let modules = String::from_utf8_lossy(&modules.unwrap_or_default()).into_owned();
    for setting in git_config::settings(&modules)
        .into_iter()
        .take(MAX_SETTINGS)
    {
        let is_path = setting.section == "submodule" && setting.key == "path";
        if let (true, Some(name)) = (is_path, setting.subsection) {
            let module = Path::new(".git/modules").join(&name);
            let inside = Path::new(&setting.value);
            if stays_inside(&module) && stays_inside(inside) {
                paths.push(scope.join(module).join("hooks"));
                paths.extend(USUAL[1..].iter().map(|name| scope.join(inside).join(name)));
            }
        }
    }
    paths
}

/// Whether a relative path leads nowhere but down.
fn stays_inside(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    fn names(scope: &Path) -> Vec<String> {
        let paths = usually_protected(scope);
        let inside = paths.iter().map(|path| path.strip_prefix(scope).unwrap());
        inside.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn hooks_editors_and_tools_are_protected_in_submodules_too() {
        let scope = tempfile::tempdir().unwrap();
        assert_eq!(names(scope.path()), USUAL);
        let modules = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = u\n\
                       [submodule \"../evil\"]\n\tpath = x\n[submodule \"y\"]\n\tpath = /etc\n";
        std::fs::write(scope.path().join(".gitmodules"), modules).unwrap();
        assert_eq!(
            names(scope.path())[USUAL.len()..],
            [
                ".git/modules/lib/hooks",
                "vendor/lib/.vscode",
                "vendor/lib/.idea",
                "vendor/lib/.mcp.json",
                "vendor/lib/.ahma"
            ]
        );
    }

    #[test]
    fn in_a_worktree_the_way_to_the_repository_is_protected() {
        let scope = tempfile::tempdir().unwrap();
        std::fs::write(scope.path().join(".git"), "gitdir: /elsewhere\n").unwrap();
        assert!(names(scope.path()).contains(&".git".to_owned()));
    }
}

//! Which paths of a scope are protected from commands unless the operator says otherwise.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use ahma_sandbox::{open_beneath, open_directory};
use rustix::fs::{Dir, FileType};

use super::git_config::{judge, settings};
use super::identity::read;

/// Paths of a project that programs outside start programs from, or take settings from that do: Git hooks, editors,
/// agents, our own tools. What a project also needs changed by commands, such as settings of build tools, is only watched.
const USUAL: [&str; 25] = [
    ".git/hooks",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".ahma",
    ".amazonq",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".dir-locals.el",
    ".envrc",
    ".exrc",
    ".fleet",
    ".gemini",
    ".githooks",
    ".husky",
    ".kiro",
    ".nvim.lua",
    ".opencode",
    ".roo",
    ".windsurf",
    ".zed",
];

/// The same in submodules, whose other files are watched.
const IN_SUBMODULES: [&str; 6] = [
    ".ahma",
    ".claude",
    ".cursor",
    ".idea",
    ".mcp.json",
    ".vscode",
];

/// Submodules that are looked at.
const MAX_SUBMODULES: usize = 32;
/// Directories below `.git/modules` that are looked at for repositories.
const MAX_DIRECTORIES: usize = 1000;

/// What is protected in a scope unless the operator says otherwise. It need not exist. Blocks.
pub(crate) fn usually_protected(scope: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = USUAL.iter().map(|name| scope.join(name)).collect();
    // A command may have put anything there, so nothing is read but below the scope.
    let Ok(root) = open_directory(scope) else {
        return Ok(paths);
    };
    if scope.join(".git").is_file() {
        // In a worktree it says where the repository is; another one would have its own hooks.
        paths.push(scope.join(".git"));
    }
    let modules = repositories_in(&root, Path::new(".git/modules"))?;
    paths.extend(modules.iter().map(|it| scope.join(it).join("hooks")));
    for module in submodules(&root) {
        paths.extend(
            IN_SUBMODULES
                .iter()
                .map(|name| scope.join(&module).join(name)),
        );
    }
    let config = read(&root, Path::new(".git/config")).unwrap_or_default();
    for named in judge(&String::from_utf8_lossy(&config)).points_to {
        let named = Path::new(&named);
        let inside = named.strip_prefix(scope).unwrap_or(named);
        // Only a directory is one of hooks; a file with settings is written by commands too.
        let is_directory = stays_inside(inside) && scope.join(inside).is_dir();
        if is_directory && !paths.contains(&scope.join(inside)) {
            paths.push(scope.join(inside));
        }
    }
    Ok(paths)
}

/// Repositories of submodules, and of their submodules, in a directory of another place; relative to that place.
pub(crate) fn repositories_below(place: &Path, directory: &Path) -> io::Result<Vec<PathBuf>> {
    repositories_in(&open_directory(place)?, directory)
}

fn repositories_in(root: &OwnedFd, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    let mut looked_at = 0;
    while let Some(path) = waiting.pop() {
        looked_at += 1;
        if looked_at > MAX_DIRECTORIES || found.len() >= MAX_SUBMODULES {
            break;
        }
        let names = directories(root, &path)?;
        let has = |name: &str| names.iter().any(|it| it.as_bytes() == name.as_bytes());
        if has("objects") && has("refs") {
            waiting.push(path.join("modules"));
            found.push(path);
        } else {
            waiting.extend(names.iter().map(|name| path.join(name)));
        }
    }
    Ok(found)
}

/// The directories in a directory; none where there is none. One that is closed is an error: a command may have closed it so
/// that what is in it is passed over.
fn directories(root: &OwnedFd, path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let open = match open_beneath(root, path) {
        Ok(open) => open,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let why = format!("{} cannot be looked into: {error}", path.display());
            return Err(io::Error::new(error.kind(), why));
        }
        Err(_) => return Ok(Vec::new()),
    };
    let listing = Dir::read_from(open).ok();
    let entries = listing.into_iter().flatten().flatten();
    let directories = entries.filter(|entry| {
        let itself = matches!(entry.file_name().to_bytes(), b"." | b"..");
        !itself && entry.file_type() == FileType::Directory
    });
    Ok(directories
        .take(MAX_DIRECTORIES)
        .map(|it| OsStr::from_bytes(it.file_name().to_bytes()).to_owned())
        .collect())
}

/// Where submodules are checked out, as `.gitmodules` says.
fn submodules(root: &OwnedFd) -> Vec<PathBuf> {
    let modules = read(root, Path::new(".gitmodules")).unwrap_or_default();
    let settings = settings(&String::from_utf8_lossy(&modules));
    let paths = settings.into_iter().filter_map(|setting| {
        let is_path = setting.section == "submodule" && setting.key == "path";
        let path = PathBuf::from(setting.value);
        (is_path && stays_inside(&path)).then_some(path)
    });
    paths.take(MAX_SUBMODULES).collect()
}

/// Whether a relative path leads nowhere but down.
fn stays_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;

    use super::*;

    fn names(scope: &Path) -> Vec<String> {
        let paths = usually_protected(scope).unwrap();
        let inside = paths.iter().map(|path| path.strip_prefix(scope).unwrap());
        inside.map(|path| path.display().to_string()).collect()
    }

    fn repository(path: &Path) {
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
    }

    /// Proves: S37.
    #[test]
    fn hooks_are_protected_in_submodules_of_any_depth() {
        let scope = tempfile::tempdir().unwrap();
        assert_eq!(names(scope.path()), USUAL);
        let git = scope.path().join(".git/modules");
        for module in ["a", "group/b", "a/modules/inner"] {
            repository(&git.join(module));
        }
        let mut hooks = names(scope.path())[USUAL.len()..].to_vec();
        hooks.sort();
        let expected = ["a/hooks", "a/modules/inner/hooks", "group/b/hooks"];
        assert_eq!(hooks, expected.map(|it| format!(".git/modules/{it}")));
    }

    #[test]
    fn files_of_editors_and_agents_are_protected_where_submodules_are() {
        let scope = tempfile::tempdir().unwrap();
        let many = "\tfetch = x\n".repeat(500);
        let modules = format!(
            "[submodule \"one\"]\n{many}[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = u\n\
             [submodule \"../evil\"]\n\tpath = ../x\n[submodule \"y\"]\n\tpath = /etc\n"
        );
        fs::write(scope.path().join(".gitmodules"), modules).unwrap();
        let expected = IN_SUBMODULES.map(|name| format!("vendor/lib/{name}"));
        assert_eq!(names(scope.path())[USUAL.len()..], expected);
    }

    #[test]
    fn a_directory_of_hooks_that_git_is_told_of_is_protected() {
        let scope = tempfile::tempdir().unwrap();
        for directory in [".git", "my/hooks"] {
            fs::create_dir_all(scope.path().join(directory)).unwrap();
        }
        let config = "[core]\nhooksPath = my/hooks\n[include]\npath = file\n";
        fs::write(scope.path().join(".git/config"), config).unwrap();
        fs::write(scope.path().join("file"), "").unwrap();
        assert_eq!(names(scope.path())[USUAL.len()..], ["my/hooks"]);
    }

    #[test]
    fn in_a_worktree_the_way_to_the_repository_is_protected() {
        let scope = tempfile::tempdir().unwrap();
        fs::write(scope.path().join(".git"), "gitdir: /elsewhere\n").unwrap();
        assert!(names(scope.path()).contains(&".git".to_owned()));
    }
}

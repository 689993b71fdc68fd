//! Programs that the user has installed in the home directory: what of their directories, and of what they link to, commands
//! may read and run.
//!
//! Granted are directories of the search path below the home, the environments that their links and scripts lead to (as
//! pipx, uv and npm make them), and nothing else of the home. May block.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::trusted_path::resolve_outside;
use crate::lexical_path::normal;

/// Entries of one directory that are looked at.
const MAX_ENTRIES: usize = 1000;
/// Paths that are granted at most.
const MAX_GRANTS: usize = 64;
/// Links that are followed one after the other.
const MAX_HOPS: usize = 8;
/// Of a script, the line that names its interpreter.
const FIRST_LINE: u64 = 256;

/// Parts of a home directory that hold no programs, whatever a link says.
const NEVER: [&str; 26] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".netrc",
    ".pki",
    ".git-credentials",
    ".ahma",
    ".cache",
    ".npmrc",
    ".pypirc",
    ".m2",
    ".gradle",
    ".terraform.d",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    "Documents",
    "Downloads",
];

/// The same, deeper.
const NEVER_BELOW: [&str; 3] = [
    ".local/state",
    ".local/share/keyrings",
    ".cargo/credentials",
];

/// What commands may read of the user's own programs. What they can write (`writable`) is not believed, and what must stay
/// out of their reach (`secret`) is not granted. What is granted already (`known`), such as a toolchain, is not looked at.
pub(super) fn find(
    server: &BTreeMap<OsString, OsString>,
    writable: &[PathBuf],
    secret: &[PathBuf],
    known: &[PathBuf],
) -> Vec<PathBuf> {
    let variable = |name: &str| server.get(OsStr::new(name));
    let home = variable("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    let (Some(home), Some(path)) = (home, variable("PATH")) else {
        return Vec::new();
    };
    let mut found = Found {
        home,
        writable,
        secret,
        granted: Vec::new(),
    };
    let directories: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .filter_map(|directory| resolve_outside(&directory, writable))
        .filter(|real| !known.iter().any(|it| real.starts_with(it)))
        .filter(|real| real.is_dir())
        .collect();
    for directory in &directories {
        found.grant(directory);
    }
    for directory in &directories {
        if found.granted.contains(directory) {
            found.follow_entries(directory);
        }
    }
    found.granted
}

struct Found<'f> {
    home: PathBuf,
    writable: &'f [PathBuf],
    secret: &'f [PathBuf],
    granted: Vec<PathBuf>,
}

impl Found<'_> {
    /// Grants a path of the home, unless it is too much of it.
    fn grant(&mut self, path: &Path) {
        let Ok(below) = path.strip_prefix(&self.home) else {
            return;
        };
        let first = below.components().next();
        let is_never = first.is_none_or(|first| {
            let name = first.as_os_str();
            NEVER.iter().any(|it| name == *it)
        });
        let is_secret = |it: &PathBuf| it.starts_with(path) || path.starts_with(it);
        let holds_secret = self.secret.iter().any(is_secret);
        let is_never = is_never || NEVER_BELOW.iter().any(|it| below.starts_with(it));
        let is_known = self.granted.iter().any(|it| path.starts_with(it));
        let is_plain = below
            .components()
            .all(|it| matches!(it, Component::Normal(_)));
        let has_room = self.granted.len() < MAX_GRANTS;
        if !is_never && !holds_secret && !is_known && is_plain && has_room {
            self.granted.push(path.to_owned());
        }
    }

    /// Grants what the programs of a directory need beside it.
    #[expect(clippy::disallowed_methods, reason = "called from the blocking pool")]
    fn follow_entries(&mut self, directory: &Path) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten().take(MAX_ENTRIES) {
            self.follow(&entry.path());
        }
    }

    /// Follows a program: links one after the other, and the interpreter of a script.
    fn follow(&mut self, program: &Path) {
        let mut at = program.to_owned();
        for _ in 0..MAX_HOPS {
            if at.starts_with(&self.home) && !self.is_granted(&at) && leads_to_program(&at) {
                self.grant_environment(&at);
            }
            let next = match fs::read_link(&at) {
                Ok(target) => at.parent().map(|directory| directory.join(target)),
                Err(_) => interpreter(&at),
            };
            // Each step must lead through nothing that commands could have written.
            let Some(next) = next.filter(|it| resolve_outside(it, self.writable).is_some()) else {
                return;
            };
            at = normal(&next);
        }
    }

    fn is_granted(&self, path: &Path) -> bool {
        self.granted.iter().any(|it| path.starts_with(it))
    }

    /// Grants the environment that a file belongs to, or the file itself.
    fn grant_environment(&mut self, file: &Path) {
        let root = self.environment_of(file);
        self.grant(&root);
        // An environment of Python names the one it was made from.
        if root.join("pyvenv.cfg").is_file() {
            for name in ["bin/python", "bin/python3"] {
                let python = root.join(name);
                if let Some(real) = resolve_outside(&python, self.writable) {
                    let base = self.environment_of(&real);
                    self.grant(&base);
                }
            }
        }
    }

    /// `…/NAME` of `…/NAME/bin/PROGRAM`, or all of `…/node_modules`; else the file.
    fn environment_of(&self, file: &Path) -> PathBuf {
        let depth = |path: &Path| {
            path.strip_prefix(&self.home)
                .map_or(0, |it| it.iter().count())
        };
        let modules = file.ancestors().filter(|it| it.ends_with("node_modules"));
        if let Some(outermost) = modules.last().filter(|it| depth(it) > 1) {
            return outermost.to_owned();
        }
        let above_bin = file.parent().filter(|it| it.ends_with("bin"));
        let root = above_bin.and_then(Path::parent);
        // `~/.local` and `~/go` are much more than an environment.
        match root.filter(|root| depth(root) > 1) {
            Some(root) => root.to_owned(),
            None => file.to_owned(),
        }
    }
}

/// Whether a path is, or leads to, a file that can be run: not a directory, and not any other file that a link names.
fn leads_to_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

/// The program that runs a script, where that is named by a path.
#[expect(clippy::disallowed_methods, reason = "called from the blocking pool")]
fn interpreter(script: &Path) -> Option<PathBuf> {
    let about = script
        .symlink_metadata()
        .ok()
        .filter(fs::Metadata::is_file)?;
    let mut beginning = Vec::new();
    let file = fs::File::open(script).ok()?;
    file.take(FIRST_LINE.min(about.len()))
        .read_to_end(&mut beginning)
        .ok()?;
    let line = beginning.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let text = std::str::from_utf8(line).ok()?.trim();
    let program = text.split_whitespace().next()?;
    Some(PathBuf::from(program)).filter(|it| it.is_absolute())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        _base: tempfile::TempDir,
        path: PathBuf,
    }

    impl Home {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let path = base.path().canonicalize().unwrap();
            Home { _base: base, path }
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).unwrap();
            path
        }

        fn link(&self, target: &str, name: &str) {
            let path = self.path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(self.path.join(target), path).unwrap();
        }

        fn found(&self, path: &str, writable: &[PathBuf]) -> Vec<String> {
            let path = path.replace('~', self.path.to_str().unwrap());
            let server = BTreeMap::from([
                ("HOME".into(), self.path.clone().into_os_string()),
                ("PATH".into(), path.into()),
            ]);
            let secret = [self.path.join(".local/state/ahma_mcp")];
            let found = find(&server, writable, &secret, &[]);
            let below = found.iter().map(|it| it.strip_prefix(&self.path).unwrap());
            below.map(|it| it.to_str().unwrap().to_owned()).collect()
        }
    }

    /// Proves: S66.
    #[test]
    fn directories_of_the_path_and_the_environments_of_their_programs_are_granted() {
        let home = Home::new();
        home.file(".local/bin/plain", "#!/bin/sh\n");
        home.file(".bun/bin/bun", "binary");
        home.file("go/bin/gopls", "binary");
        // As uv makes them.
        home.file(
            ".local/share/uv/python/cpython-3.12/bin/python3.12",
            "binary",
        );
        home.file(".local/share/uv/tools/ruff/pyvenv.cfg", "");
        home.link(
            ".local/share/uv/python/cpython-3.12/bin/python3.12",
            ".local/share/uv/tools/ruff/bin/python",
        );
        let python = home.path.join(".local/share/uv/tools/ruff/bin/python");
        home.file(
            ".local/share/uv/tools/ruff/bin/ruff",
            &format!("#!{}\n", python.display()),
        );
        home.link(".local/share/uv/tools/ruff/bin/ruff", ".local/bin/ruff");
        // As npm does.
        home.file(".npm-global/lib/node_modules/serve/build/main.js", "");
        home.link(
            ".npm-global/lib/node_modules/serve/build/main.js",
            ".npm-global/bin/serve",
        );
        let path = "~/.local/bin:~/.bun/bin:~/go/bin:~/.npm-global/bin:/usr/bin:~/missing:relative";
        assert_eq!(
            home.found(path, &[]),
            [
                ".local/bin",
                ".bun/bin",
                "go/bin",
                ".npm-global/bin",
                ".local/share/uv/tools/ruff",
                ".local/share/uv/python/cpython-3.12",
                ".npm-global/lib/node_modules",
            ]
        );
    }

    /// Proves: S66.
    #[test]
    fn links_grant_no_secrets_and_what_commands_can_write_grants_nothing() {
        let home = Home::new();
        home.file(".ssh/id_ed25519", "secret");
        home.file(".config/app/bin/tool", "binary");
        home.file(".local/state/ahma_mcp/token", "secret");
        home.file("project/bin/planted", "binary");
        home.file("Documents/notes", "secret");
        home.file(".local/bin/ok", "binary");
        home.link(".ssh/id_ed25519", ".local/bin/key");
        home.link(".config/app/bin/tool", ".local/bin/tool");
        home.link("project/bin/planted", ".local/bin/planted");
        let writable = [home.path.join("project")];
        assert_eq!(
            home.found("~:~/.local/bin:~/project/bin:~/.ssh", &writable),
            [".local/bin"]
        );
        // Neither a directory, nor a file that is not a program, nor what is below something secret.
        home.file("data/notes", "secret");
        let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(home.path.join("data/notes"), plain).unwrap();
        home.link("data/notes", ".local/bin/notes");
        home.link("data", ".local/bin/directory");
        home.link(".local/state/ahma_mcp/token", ".local/bin/token");
        let found = home.found("~/.local/bin:~/.local", &writable);
        assert_eq!(found, [".local/bin"], "nor ~/.local, which holds the state");
    }
}

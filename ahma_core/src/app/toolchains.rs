//! Toolchains that live outside the system's directories, found by the search path: what commands may
//! read of them, and the variables that let them find their own parts again.
//!
//! Only directories with programs and libraries are granted, never a home directory or a place for
//! credentials. Caches are private: commands have a home of their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ahma_sandbox::is_system_path;

/// What one toolchain needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    /// Paths that commands may read and execute.
    pub(super) read: Vec<PathBuf>,
    /// Variables that commands get.
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// The toolchains on the search path of the server. `private_home` is the home of commands; what they
/// can write (`writable`) is not searched, because they could have put a program there.
pub(super) fn find(
    server: &BTreeMap<OsString, OsString>,
    private_home: &Path,
    writable: &[PathBuf],
) -> Vec<Toolchain> {
    let search = Search {
        directories: server
            .get(OsStr::new("PATH"))
            .map(|path| std::env::split_paths(path).collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .filter(|directory| !is_below(directory, writable))
            .collect(),
        home: server.get(OsStr::new("HOME")).map(PathBuf::from),
        server,
    };
    [
        search.rust(private_home),
        search.python(),
        search.prefix("node", "node", &["lib/node_modules", "include/node"]),
        search.prefix(
            "go",
            "go",
            &["VERSION", "go.env", "lib", "pkg", "src", "misc"],
        ),
    ]
    .into_iter()
    .flatten()
    .filter_map(|toolchain| search.checked(toolchain))
    .collect()
}

struct Search<'s> {
    directories: Vec<PathBuf>,
    home: Option<PathBuf>,
    server: &'s BTreeMap<OsString, OsString>,
}

impl Search<'_> {
    /// The directory of the search path in which a program is found first.
    fn directory_of(&self, program: &str) -> Option<&PathBuf> {
        let mut directories = self.directories.iter();
        directories.find(|directory| directory.is_absolute() && directory.join(program).exists())
    }

    /// A directory named by a variable, else one of the home directory.
    fn named(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let named = self.server.get(OsStr::new(variable)).map(PathBuf::from);
        named.or_else(|| Some(self.home.as_ref()?.join(in_home)))
    }

    /// Cargo and the toolchains of rustup. The registry is private; the user's, and
    /// the credentials beside it, stay out of reach.
    fn rust(&self, private_home: &Path) -> Option<Toolchain> {
        let programs = self.directory_of("cargo")?.clone();
        let rustup = self.named("RUSTUP_HOME", ".rustup")?;
        Some(Toolchain {
            name: "rust",
            read: vec![programs, rustup.clone()],
            environment: vec![
                ("RUSTUP_HOME".into(), rustup.into()),
                ("CARGO_HOME".into(), private_home.join(".cargo").into()),
            ],
        })
    }

    /// Pythons of pyenv.
    fn python(&self) -> Option<Toolchain> {
        let root = self.named("PYENV_ROOT", ".pyenv")?;
        let used = self
            .directories
            .iter()
            .any(|directory| directory.starts_with(&root));
        used.then(|| Toolchain {
            name: "python",
            read: vec![root.clone()],
            environment: vec![("PYENV_ROOT".into(), root.into())],
        })
    }

    /// A program in `PREFIX/bin`, with those parts of `PREFIX` that are its own. Others may share the
    /// prefix: in `~/.local`, for example, there are keyrings.
    fn prefix(&self, name: &'static str, program: &str, parts: &[&str]) -> Option<Toolchain> {
        let directory = self.directory_of(program)?;
        let real = directory.join(program).canonicalize().ok()?;
        let programs = real.parent().filter(|bin| bin.ends_with("bin"))?;
        let prefix = programs.parent()?;
        let mut read = vec![programs.to_owned(), directory.clone()];
        read.extend(parts.iter().map(|part| prefix.join(part)));
        Some(Toolchain {
            name,
            read,
            environment: Vec::new(),
        })
    }

    /// Without what the system has anyway, and nothing when it would open a whole home directory.
    fn checked(&self, toolchain: Toolchain) -> Option<Toolchain> {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let mut read: Vec<PathBuf> = Vec::new();
        for path in &toolchain.read {
            let Ok(real) = path.canonicalize() else {
                continue;
            };
            let holds_home = home.as_ref().is_some_and(|home| home.starts_with(&real));
            if holds_home || real.parent().is_none() {
                return None;
            }
            let covered = read.iter().any(|granted| real.starts_with(granted));
            if !is_system_path(&real) && !covered {
                read.push(real);
            }
        }
        (!read.is_empty()).then_some(Toolchain { read, ..toolchain })
    }
}

fn is_below(directory: &Path, roots: &[PathBuf]) -> bool {
    let real = directory.canonicalize();
    let real = real.as_deref().unwrap_or(directory);
    roots.iter().any(|root| real.starts_with(root))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    /// A home with programs in it.
    fn home(files: &[&str]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for file in files {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        home
    }

    fn found(home: &Path, path: &[&str]) -> Vec<(&'static str, Vec<String>)> {
        let path = path.iter().map(|directory| home.join(directory));
        let path = std::env::join_paths(path).unwrap();
        let server = BTreeMap::from([("PATH".into(), path), ("HOME".into(), home.into())]);
        let real = home.canonicalize().unwrap();
        find(&server, Path::new("/private"), &[real.join("project")])
            .into_iter()
            .map(|it| {
                let names = it.read.iter().map(|path| path.strip_prefix(&real).unwrap());
                (
                    it.name,
                    names.map(|path| path.display().to_string()).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn programs_and_libraries_are_granted_and_nothing_around_them() {
        let home = home(&[
            ".cargo/bin/cargo",
            ".cargo/credentials.toml",
            ".rustup/toolchains/x",
            ".nvm/versions/node/v22/bin/node",
            ".pyenv/shims/python",
            "go/bin/go",
            "go/src/x",
            ".nvm/versions/node/v22/lib/node_modules/npm",
            ".nvm/versions/node/v22/share/keyrings/k",
        ]);
        let path = [
            ".cargo/bin",
            ".pyenv/shims",
            ".nvm/versions/node/v22/bin",
            "go/bin",
        ];
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            found(home.path(), &path),
            [
                ("rust", strings(&[".cargo/bin", ".rustup"])),
                ("python", strings(&[".pyenv"])),
                (
                    "node",
                    strings(&[
                        ".nvm/versions/node/v22/bin",
                        ".nvm/versions/node/v22/lib/node_modules"
                    ])
                ),
                ("go", strings(&["go/bin", "go/src"])),
            ]
        );
    }

    #[test]
    fn a_home_directory_is_never_granted() {
        let home = home(&["bin/node", "secret"]);
        let granted = found(home.path(), &["bin"]);
        assert_eq!(granted, [("node", vec!["bin".to_owned()])]);
        let at_the_top = self::home(&["cargo", ".rustup/x"]);
        assert_eq!(found(at_the_top.path(), &["."]), []);
    }

    #[test]
    fn what_commands_could_have_put_there_is_not_believed() {
        let home = home(&["project/bin/cargo", ".rustup/x", "project/bin/node"]);
        assert_eq!(found(home.path(), &["project/bin"]), []);
    }

    #[test]
    fn what_is_not_on_the_search_path_is_not_granted() {
        let home = home(&[".cargo/bin/cargo", ".rustup/x", ".pyenv/shims/python"]);
        assert_eq!(found(home.path(), &["elsewhere"]), []);
    }
}

//! Toolchains that live outside the system's directories, found by the search path: what commands may
//! read of them, and the variables that let them find their own parts again.
//!
//! Only directories with programs and libraries are granted, never a home directory or a place for
//! credentials. Caches are private, in the home that commands have of their own, and begin with what
//! the user's hold. May block.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ahma_sandbox::{Seed, is_system_path};

use super::trusted_path::resolve_outside;

/// What one toolchain needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    /// Paths that commands may read and execute.
    pub(super) read: Vec<PathBuf>,
    /// Variables that commands get.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What private caches begin with.
    pub(super) seeds: Vec<Seed>,
}

/// The toolchains on the search path of the server. `private_home` is the home of commands; what they
/// can write (`writable`) is not searched, because they could have put a program there.
pub(super) fn find(
    server: &BTreeMap<OsString, OsString>,
    private_home: &Path,
    writable: &[PathBuf],
) -> Vec<Toolchain> {
    let temporary = server.get(OsStr::new("TMPDIR")).map(PathBuf::from);
    let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
    let private = [private_home.to_owned(), temporary];
    let search = Search {
        writable,
        private: private
            .into_iter()
            .filter_map(|it| it.canonicalize().ok())
            .collect(),
        directories: server
            .get(OsStr::new("PATH"))
            .map(|path| std::env::split_paths(path).collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .filter(|directory| resolve_outside(directory, writable).is_some())
            .collect(),
        home: server.get(OsStr::new("HOME")).map(PathBuf::from),
        server,
    };
    [
        search.rust(private_home),
        search.python(private_home),
        search.node(private_home),
        search.go(),
    ]
    .into_iter()
    .flatten()
    .filter_map(|toolchain| search.checked(toolchain))
    .collect()
}

struct Search<'s> {
    writable: &'s [PathBuf],
    /// The private directories of servers, and where others may have theirs.
    private: Vec<PathBuf>,
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
        let mut names = [variable.to_owned(), variable.to_uppercase()].into_iter();
        let named = names.find_map(|name| self.server.get(OsStr::new(&name)));
        let named = named.filter(|value| !value.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(self.home.as_ref()?.join(in_home)))
    }

    /// Cargo and the toolchains of rustup. Of the user's registry what was downloaded is taken over; the
    /// credentials and settings beside it stay out of reach.
    fn rust(&self, private_home: &Path) -> Option<Toolchain> {
        let programs = self.directory_of("cargo")?.clone();
        let rustup = self.named("RUSTUP_HOME", ".rustup")?;
        let private = private_home.join(".cargo");
        let users = self.named("CARGO_HOME", ".cargo");
        let seed = users.map(|users| Seed {
            from: users.join("registry"),
            to: private.join("registry"),
        });
        // Without rustup, the libraries are beside the programs.
        let prefix = programs.parent().map(|prefix| prefix.join("lib"));
        let libraries = prefix.filter(|lib| lib.join("rustlib").is_dir());
        Some(Toolchain {
            name: "rust",
            read: [programs, rustup.clone()]
                .into_iter()
                .chain(libraries)
                .collect(),
            environment: vec![
                ("RUSTUP_HOME".into(), rustup.into()),
                ("CARGO_HOME".into(), private.into()),
            ],
            seeds: seed.into_iter().collect(),
        })
    }

    /// Pip, and the pythons of pyenv.
    fn python(&self, private_home: &Path) -> Option<Toolchain> {
        let root = self.named("PYENV_ROOT", ".pyenv");
        let root = root.filter(|root| self.directories.iter().any(|it| it.starts_with(root)));
        let has_pip =
            ["pip", "pip3", "python3"].map(|program| self.directory_of(program).is_some());
        let seed = self.named("PIP_CACHE_DIR", ".cache/pip").map(|from| Seed {
            from,
            to: private_home.join(".cache/pip"),
        });
        let is_there = root.is_some() || has_pip.contains(&true);
        is_there.then(|| Toolchain {
            name: "python",
            read: root.clone().into_iter().collect(),
            environment: root
                .map(|root| ("PYENV_ROOT".into(), root.into()))
                .into_iter()
                .collect(),
            seeds: seed.into_iter().collect(),
        })
    }

    /// Node and npm.
    fn node(&self, private_home: &Path) -> Option<Toolchain> {
        let mut toolchain = self.prefix("node", "node", &["lib/node_modules", "include/node"])?;
        let cache = self.named("npm_config_cache", ".npm");
        toolchain.seeds.extend(cache.map(|cache| Seed {
            from: cache.join("_cacache"),
            to: private_home.join(".npm/_cacache"),
        }));
        Some(toolchain)
    }

    /// Go can take modules from a directory itself. Its private cache must be removable.
    fn go(&self) -> Option<Toolchain> {
        let parts = ["VERSION", "go.env", "lib", "pkg", "src", "misc"];
        let mut toolchain = self.prefix("go", "go", &parts)?;
        toolchain
            .environment
            .push(("GOFLAGS".into(), "-modcacherw".into()));
        let modules = self.named("GOMODCACHE", "go/pkg/mod");
        let downloads = modules.map(|modules| modules.join("cache/download"));
        // The proxy first: what the user has may be old. Other letters mean something in the list.
        let is_plain = |path: &str| !path.contains([',', '|', '%', '?', '#']);
        let downloads = downloads.and_then(|it| resolve_outside(&it, self.writable));
        if let Some(downloads) = downloads.filter(|it| it.to_str().is_some_and(is_plain)) {
            let own = downloads.display();
            let proxies = format!("https://proxy.golang.org|file://{own}|direct");
            toolchain
                .environment
                .push(("GOPROXY".into(), proxies.into()));
            toolchain.read.push(downloads);
        }
        Some(toolchain)
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
            seeds: Vec::new(),
        })
    }

    /// Without what the system has anyway, what commands could have put there, and whatever would open a
    /// whole home directory.
    fn checked(&self, mut toolchain: Toolchain) -> Option<Toolchain> {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let holds = |path: &Path, other: &Path| other.starts_with(path);
        let holds_home = |path: &Path| home.as_ref().is_some_and(|home| holds(path, home));
        let mut read: Vec<PathBuf> = Vec::new();
        for path in &toolchain.read {
            let Some(real) = resolve_outside(path, self.writable) else {
                continue;
            };
            if holds_home(&real) || real.parent().is_none() {
                return None;
            }
            let covered = read.iter().any(|granted| real.starts_with(granted));
            if !is_system_path(&real) && !covered {
                read.push(real);
            }
        }
        toolchain.seeds.retain_mut(|seed| {
            seed.from = resolve_outside(&seed.from, self.writable).unwrap_or_default();
            let mut kept_apart = self.writable.iter().chain(&self.private);
            let holds_more =
                holds_home(&seed.from) || kept_apart.any(|other| holds(&seed.from, other));
            !holds_more && is_a_cache(&seed.from)
        });
        let is_needed = !read.is_empty() || !toolchain.seeds.is_empty();
        is_needed.then_some(Toolchain { read, ..toolchain })
    }
}

/// Whether a directory is one of the caches above: a variable may name anything.
fn is_a_cache(directory: &Path) -> bool {
    let of_cargo = ["index", "cache"];
    let of_npm = ["content-v2", "index-v5"];
    let of_pip = ["http", "http-v2", "wheels", "selfcheck"];
    let signs = [&of_cargo[..], &of_npm, &of_pip].concat();
    directory.is_dir() && signs.iter().any(|sign| directory.join(sign).is_dir())
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

    fn toolchains(home: &Path, path: &[&str], variables: &[(&str, &str)]) -> Vec<Toolchain> {
        let path = path.iter().map(|directory| home.join(directory));
        let path = std::env::join_paths(path).unwrap();
        let mut server = BTreeMap::from([("PATH".into(), path), ("HOME".into(), home.into())]);
        for (name, value) in variables {
            server.insert(name.into(), home.join(value).into());
        }
        let real = home.canonicalize().unwrap();
        find(&server, Path::new("/private"), &[real.join("project")])
    }

    fn found(home: &Path, path: &[&str]) -> Vec<(&'static str, Vec<String>)> {
        let real = home.canonicalize().unwrap();
        toolchains(home, path, &[])
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

    /// Proves: S38.
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

    /// The caches that private ones begin with.
    fn seeds(home: &Path, variables: &[(&str, &str)]) -> Vec<String> {
        let real = home.canonicalize().unwrap();
        let path = [".cargo/bin", "bin"];
        let all = toolchains(home, &path, variables).into_iter();
        let from = all.flat_map(|it| it.seeds).map(|seed| seed.from);
        from.map(|path| path.strip_prefix(&real).unwrap().display().to_string())
            .collect()
    }

    const CACHES: [&str; 6] = [
        ".cargo/bin/cargo",
        ".cargo/registry/cache/x",
        "bin/node",
        "bin/pip",
        ".npm/_cacache/index-v5/x",
        ".cache/pip/http/x",
    ];

    #[test]
    fn private_caches_begin_with_those_of_the_user() {
        let home = home(&CACHES);
        let all = [".cargo/registry", ".cache/pip", ".npm/_cacache"];
        assert_eq!(seeds(home.path(), &[]), all);
        let other = self::home(&[&CACHES[..], &["else/_cacache/content-v2/x"]].concat());
        for variable in ["npm_config_cache", "NPM_CONFIG_CACHE"] {
            let seeds = seeds(other.path(), &[(variable, "else")]);
            assert_eq!(seeds[2], "else/_cacache");
        }
    }

    /// Proves: S43.
    #[test]
    fn a_link_that_commands_could_have_made_is_not_followed_to_a_cache_or_a_toolchain() {
        let home = home(&[&CACHES[..], &[".ssh/http/id_rsa", "project/x"]].concat());
        let link = home.path().join("project/link");
        std::os::unix::fs::symlink(home.path().join(".ssh"), &link).unwrap();
        let variables = [
            ("PIP_CACHE_DIR", "project/link"),
            ("RUSTUP_HOME", "project/link"),
        ];
        assert_eq!(
            seeds(home.path(), &variables),
            [".cargo/registry", ".npm/_cacache"]
        );
        for toolchain in toolchains(home.path(), &[".cargo/bin", "bin"], &variables) {
            for path in toolchain.read {
                assert!(!path.ends_with(".ssh"), "{path:?}");
            }
        }
    }

    /// Proves: S43.
    #[test]
    fn a_variable_that_names_something_else_makes_it_no_cache() {
        let home = home(&[&CACHES[..], &[".ssh/id_rsa", "project/http/x"]].concat());
        for elsewhere in [".ssh", ".", "/", "project", "missing"] {
            let seeds = seeds(home.path(), &[("PIP_CACHE_DIR", elsewhere)]);
            assert_eq!(seeds, [".cargo/registry", ".npm/_cacache"], "{elsewhere}");
        }
        // Around what commands can write, or around private directories.
        let around = self::home(&["bin/pip", "outer/http/x"]);
        let server = BTreeMap::from([
            ("PATH".into(), around.path().join("bin").into()),
            ("PIP_CACHE_DIR".into(), around.path().join("outer").into()),
        ]);
        let inside = around.path().join("outer/project");
        std::fs::create_dir(&inside).unwrap();
        let inside = inside.canonicalize().unwrap();
        for (private, writable) in [
            (&inside, vec![]),
            (&around.path().join("bin"), vec![inside.clone()]),
        ] {
            let found = find(&server, private, &writable);
            assert!(found.iter().all(|it| it.seeds.is_empty()), "{found:?}");
        }
    }
}

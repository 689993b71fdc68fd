//! Which directory a client may have as the scope of its session. May block.

use std::path::{Component, Path, PathBuf};

use ahma_sandbox::{Width, checked_scope};
use url::Url;

/// What the operator has decided about scopes of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootRules {
    /// Scopes are at or below one of these.
    pub roots: Vec<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// What no session may read or write: the server's own secrets and logs.
    pub secret: Vec<PathBuf>,
    /// Where tools are read from, and what belongs to that; scopes may be around it, where it is protected.
    pub tools: Vec<PathBuf>,
    /// Where the private directories of all sessions are; a scope around it would hold those of others.
    pub private_base: PathBuf,
}

/// A longer root is cut where it is repeated.
const MAX_SHOWN_LEN: usize = 200;

impl RootRules {
    /// The directory that the first of a client's roots names, if it may be a scope.
    pub(super) fn scope(&self, roots: &[String]) -> Result<PathBuf, String> {
        let first = roots.first().ok_or(
            "the client has no roots, so this session has no scope; open a project in the client and start a new session",
        )?;
        self.allowed(first).map_err(|why| {
            let shown = &first[..first.floor_char_boundary(MAX_SHOWN_LEN)];
            format!("the root {shown:?} of the client cannot be the scope of this session: {why}")
        })
    }

    fn allowed(&self, root: &str) -> Result<PathBuf, String> {
        let named = path_of(root)?;
        let real = named.canonicalize();
        let is_below = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        if !real.as_deref().is_ok_and(is_below) && !is_plainly(&named, is_below) {
            // The same answer whether it exists or not: what there is elsewhere is nobody's business.
            return Err(self.not_below());
        }
        let real = checked_scope(&named, self.home.as_deref(), Width::Project);
        let real = real.map_err(|error| error.to_string())?;
        if !is_below(&real) {
            return Err(self.not_below());
        }
        if is_hidden(&real, self.home.as_deref()) {
            return Err("hidden directories of the home directory are never served".to_owned());
        }
        let is_secret = |path: &PathBuf| path.starts_with(&real) || real.starts_with(path);
        let is_private = self.private_base.starts_with(&real) || self.is_private(&real);
        if self.secret.iter().any(is_secret) || is_private {
            return Err("it holds secrets, logs or private directories of this server".to_owned());
        }
        if self.tools.iter().any(|path| real.starts_with(path)) {
            return Err("this server reads tools from there".to_owned());
        }
        Ok(real)
    }

    fn not_below(&self) -> String {
        let roots = self.roots.iter().map(|it| it.display().to_string());
        let roots: Vec<String> = roots.collect();
        format!(
            "it is not a directory below one of those that the operator allows ({})",
            roots.join(", ")
        )
    }

    /// Whether a path is in the private directories of a server.
    fn is_private(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.private_base);
        let first = below.ok().and_then(|below| below.components().next());
        let name = first.map(|it| it.as_os_str().to_string_lossy().into_owned());
        name.is_some_and(|it| it.trim_start_matches('.').starts_with("ahma-"))
    }
}

/// Whether this is so for a path as it is written, which must then lead nowhere else.
fn is_plainly(path: &Path, is_below: impl Fn(&Path) -> bool) -> bool {
    let plain = |it: Component<'_>| matches!(it, Component::RootDir | Component::Normal(_));
    path.components().all(plain) && is_below(path)
}

/// Whether a path is in a hidden directory of the home directory, or is one.
fn is_hidden(path: &Path, home: Option<&Path>) -> bool {
    let home = home.and_then(|home| home.canonicalize().ok());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    let hidden = |it: Component<'_>| it.as_os_str().as_encoded_bytes().starts_with(b".");
    below.is_some_and(|below| below.components().any(hidden))
}

/// The path that a `file:` URI names on this machine.
fn path_of(uri: &str) -> Result<PathBuf, String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    let url = url.ok_or("it is not a file:// URI")?;
    if let Some(host) = url.host_str() {
        return Err(format!("it is on another machine, {host}"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("a directory has no query and no fragment".to_owned());
    }
    let path = url.to_file_path();
    path.map_err(|()| "it does not name a path of this machine".to_owned())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        _directory: tempfile::TempDir,
        home: PathBuf,
        rules: RootRules,
    }

    /// A home directory with projects, of which those in `work` are allowed, and secrets.
    fn home() -> Home {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        for name in [
            "code/a/sub",
            "code/with space",
            "other",
            ".ssh",
            "code/state/tokens",
            "code/temporary/deep/ahma-0123/home",
            "code/temporary/deep/.ahma-4567",
            "code/a/.ahma/tools",
            "code/tools",
        ] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join("code/file"), "").unwrap();
        symlink(home.join("other"), home.join("code/out")).unwrap();
        symlink(home.join("code/a"), home.join("in")).unwrap();
        let rules = RootRules {
            roots: vec![home.join("code"), home.join(".ssh")],
            home: Some(home.clone()),
            secret: vec![home.join("code/state/tokens")],
            tools: vec![home.join("code/a/.ahma"), home.join("code/tools")],
            private_base: home.join("code/temporary/deep"),
        };
        Home {
            _directory: directory,
            home,
            rules,
        }
    }

    fn scope(home: &Home, uri: &str) -> Result<PathBuf, String> {
        let uri = uri.replace("HOME", home.home.to_str().unwrap());
        home.rules.scope(&[uri, "file:///etc".to_owned()])
    }

    /// Proves: I7.
    #[test]
    fn a_directory_below_a_scope_root_is_taken() {
        let home = home();
        for (uri, path) in [
            ("file://HOME/code/a", "code/a"),
            ("file://HOME/code/a/", "code/a"),
            ("FILE://localhostHOME/code/a/sub", "code/a/sub"),
            ("file://HOME/code/with%20space", "code/with space"),
            ("file://HOME/code/%61", "code/a"),
            ("file://HOME/code/a/../a", "code/a"),
            ("file://HOME/in", "code/a"),
        ] {
            assert_eq!(scope(&home, uri), Ok(home.home.join(path)), "{uri}");
        }
    }

    /// Proves: I7.
    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let home = home();
        for (uri, why) in [
            ("file:///", "below one of those"),
            ("file://HOME", "below one of those"),
            ("file://HOME/other", "below one of those"),
            ("file://HOME/code/out", "below one of those"),
            ("file://HOME/code/a/..%2f..%2fother", "below one of those"),
            ("file://HOME/code/%2e%2e/other", "below one of those"),
            ("file://HOME/.ssh", "hidden"),
            ("file://HOME/code/state", "secrets"),
            ("file://HOME/code/state/tokens", "secrets"),
            ("file://HOME/code/temporary", "private directories"),
            ("file://HOME/code", "secrets"),
            (
                "file://HOME/code/temporary/deep/ahma-0123",
                "private directories",
            ),
            (
                "file://HOME/code/temporary/deep/ahma-0123/home",
                "private directories",
            ),
            ("file://HOME/code/temporary/deep/.ahma-4567", "hidden"),
            ("file://HOME/code/tools", "tools"),
            ("file://HOME/code/a/.ahma", "hidden"),
            ("file://HOME/code/file", "directory"),
            ("file://HOME/code/missing", "cannot be used"),
            ("file://example.invalid/x", "another machine"),
            ("file://HOME/code/a%00", "NUL byte"),
            ("file://HOME/code/a%2", "cannot be used"),
            ("file://HOME/code/a?x", "query"),
            ("file:relative", "below one of those"),
            ("http://127.0.0.1/", "file://"),
            ("", "file://"),
        ] {
            let refused = scope(&home, uri).unwrap_err();
            assert!(refused.contains(why), "{uri}: {refused}");
        }
        assert!(home.rules.scope(&[]).unwrap_err().contains("no roots"));
        let there = scope(&home, "file:///etc/passwd").unwrap_err();
        let not_there = scope(&home, "file:///etc/passwe").unwrap_err();
        assert_eq!(there.replace("passwd", ""), not_there.replace("passwe", ""));
        let long = scope(&home, &format!("file:///{}", "x\n".repeat(10_000))).unwrap_err();
        assert!(long.len() < 1000 && !long.contains('\n'), "{long}");
    }
}

//! What is known of the project that the server works on.
//!
//! Git is asked, confined and with every setting switched off that makes it run a program. A project that is not a
//! repository, or a Git that does not answer soon, leaves the name of the directory.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use crate::executor::InternalCommands;

/// Git has this long.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Nothing that a repository could have set is started by what is asked.
const HARMLESS: [&str; 5] = [
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
];
const SHORT: usize = 7;
/// Words that are added to a question; a repository with more filters is not asked.
const MAX_OPTIONS: usize = 600;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Project {
    /// The name of the repository, else of the directory.
    pub name: String,
    /// Its directory.
    pub root: String,
    /// Where its repository stands.
    pub git: Option<GitState>,
}

/// Where a repository stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct GitState {
    /// Where it comes from, without passwords.
    pub remote: Option<String>,
    /// The branch; none when a commit is checked out.
    pub branch: Option<String>,
    /// The commit; none before the first.
    pub commit: Option<String>,
    /// Its beginning.
    pub commit_short: Option<String>,
    /// Whether files differ from it.
    pub status: WorkingTree,
}

/// Whether there is something to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkingTree {
    /// There is not.
    Clean,
    /// There is.
    Dirty,
}

/// Finds out about the project in the scope of these commands.
pub(crate) async fn discover(commands: &InternalCommands) -> Project {
    let root = commands.scope();
    let git = timeout(TIMEOUT, git(commands)).await.ok().flatten();
    commands.rest().await;
    let remote = git.as_ref().and_then(|git| git.remote.as_deref());
    Project {
        name: remote
            .and_then(name_in)
            .unwrap_or_else(|| directory_name(root)),
        root: root.to_string_lossy().into_owned(),
        git,
    }
}

async fn git(commands: &InternalCommands) -> Option<GitState> {
    let status = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--ignore-submodules=all",
    ];
    let without_filters = without_filters(commands).await?;
    let question = without_filters.iter().map(String::as_str).chain(status);
    let state = ask(commands, &question.collect::<Vec<_>>()).await?;
    let remote = ask(commands, &["config", "--get", "remote.origin.url"]).await;
    let mut git = read_status(&state);
    git.remote = remote.map(|url| without_password(url.trim()));
    Some(git)
}

/// Switches off every program that files go through when Git compares them. Their names are the project's own.
async fn without_filters(commands: &InternalCommands) -> Option<Vec<String>> {
    let names = ["config", "--name-only", "--get-regexp", r"^filter\..*\."];
    let names = ask(commands, &names).await.unwrap_or_default();
    let mut options = Vec::new();
    for name in names.lines().filter_map(|it| it.rsplit_once('.')) {
        let (filter, _) = name;
        for (key, value) in [("clean", ""), ("process", ""), ("required", "false")] {
            options.extend(["-c".to_owned(), format!("{filter}.{key}={value}")]);
        }
    }
    (options.len() <= MAX_OPTIONS).then_some(options)
}

async fn ask(commands: &InternalCommands, question: &[&str]) -> Option<String> {
    let words = ["git"].iter().chain(&HARMLESS).chain(question);
    let answer = commands
        .run_in_scope(words.map(Into::into).collect())
        .await?;
    (answer.code == 0).then(|| String::from_utf8_lossy(&answer.output).into_owned())
}

/// Reads what `git status --porcelain=v2 --branch` says.
fn read_status(text: &str) -> GitState {
    let header = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("# branch.")?.strip_prefix(name))
    };
    let commit = header("oid ").filter(|commit| *commit != "(initial)");
    let is_dirty = text.lines().any(|line| !line.starts_with('#'));
    GitState {
        remote: None,
        branch: header("head ")
            .filter(|branch| *branch != "(detached)")
            .map(str::to_owned),
        commit: commit.map(str::to_owned),
        commit_short: commit
            .and_then(|commit| commit.get(..SHORT))
            .map(str::to_owned),
        status: if is_dirty {
            WorkingTree::Dirty
        } else {
            WorkingTree::Clean
        },
    }
}

/// A URL may hold a name and a password, or a token.
/// By hand, because a remote is whatever somebody typed: the `url` crate reads `user:80/rest@host` as the host `user`, and
/// would leave the rest of the password in the path.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    // What follows a question mark may be a token.
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let host_end = rest.find('/').unwrap_or(rest.len());
    // A password may hold a slash; then the host is behind the last `@`, and has no user in its path.
    let has_user = rest[..host_end].contains(['@', ':']);
    match rest.rfind('@').filter(|_| has_user) {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => format!("{scheme}://{rest}"),
    }
}

/// The last part of a URL or path, as `git clone` names the directory.
fn name_in(remote: &str) -> Option<String> {
    let last = remote.trim_end_matches('/').rsplit(['/', ':']).next()?;
    let name = last.strip_suffix(".git").unwrap_or(last);
    (!name.is_empty()).then(|| name.to_owned())
}

fn directory_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_repository_is_read() {
        let clean = "# branch.oid 0123456789abcdef0123456789abcdef01234567\n# branch.head main\n";
        let state = read_status(clean);
        assert_eq!(state.branch.as_deref(), Some("main"));
        assert_eq!(state.commit_short.as_deref(), Some("0123456"));
        assert_eq!(state.status, WorkingTree::Clean);
        let dirty = format!("{clean}? new\n");
        assert_eq!(read_status(&dirty).status, WorkingTree::Dirty);
        let new = read_status("# branch.oid (initial)\n# branch.head (detached)\n");
        assert_eq!((new.commit, new.branch), (None, None));
    }

    #[test]
    fn no_password_is_told() {
        for (url, told) in [
            ("https://me:secret@host/a/b.git", "https://host/a/b.git"),
            ("https://token@host", "https://host"),
            ("https://host/a@b/c", "https://host/a@b/c"),
            (
                "https://host/a.git?private_token=secret",
                "https://host/a.git",
            ),
            ("https://me:sec/ret@host/a", "https://host/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("/srv/b", "/srv/b"),
        ] {
            assert_eq!(without_password(url), told);
        }
    }

    #[test]
    fn a_repository_is_called_as_its_clone_would_be() {
        assert_eq!(name_in("https://host/a/b.git").as_deref(), Some("b"));
        assert_eq!(name_in("git@host:b.git").as_deref(), Some("b"));
        assert_eq!(name_in("/srv/b/").as_deref(), Some("b"));
        assert_eq!(name_in(".git"), None);
    }
}

//! Linked worktrees of Git: the parts of a repository that the commands of its worktree need, and those of other worktrees that
//! commands in the repository must leave alone.
//!
//! The `.git` of such a scope is a file that names a directory of the repository, and commands may have written it. So it is
//! believed only when that directory, which they cannot write, names the scope in return. Granted are objects, references
//! and their logs, and the worktree's own directory, without links; settings, hooks and whatever else is in the repository can
//! only be read, so what locks references in the repository itself does not work. Decided when the scope is opened, never
//! later. May block.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use ahma_sandbox::{open_beneath, open_directory};
use rustix::fs::Dir;

use super::git_file::{RepositoryGrant, is_own, line, named_by, read_at};
use super::trusted_path::resolve_outside;

/// Where a repository keeps its worktrees, in a scope.
const KEPT: &str = ".git/worktrees";
/// Worktrees of one repository that are looked at.
const MAX_WORKTREES: usize = 64;

/// What commands write of a repository, beside the worktree's own directory; of the last ones only those that are there.
const ALWAYS: [&str; 2] = ["objects", "refs"];
const WHERE_PRESENT: [&str; 3] = ["logs", "reftable", "lfs"];
/// What a repository has besides.
const SIGNS: [&str; 3] = ["HEAD", "config", "hooks"];
/// In the worktree's own directory: what says where the repository is, and settings.
const FIXED: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

/// The grant for a scope; none when it is not a linked worktree of this user, or one that cannot be believed. `writable` is
/// what commands of any scope can write, `private` must stay out of their reach.
pub(super) fn find(scope: &Path, writable: &[PathBuf], private: &Path) -> Option<RepositoryGrant> {
    let own = named_by(scope)?;
    let own = resolve_outside(&own, writable)?;
    // The worktree's directory is `REPOSITORY/worktrees/NAME`, and says both where it belongs and to whom.
    let worktrees = own.parent().filter(|it| it.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let said = own.join(line(&read_at(&own, "commondir")?)?);
    let in_return = own.join(line(&read_at(&own, "gitdir")?)?);
    let belongs_here = resolve_outside(&said, writable)? == repository
        && in_return.file_name()? == ".git"
        && in_return.parent()?.canonicalize().ok()? == scope;
    let holds_more = [scope, private]
        .iter()
        .any(|other| other.starts_with(repository));
    if !belongs_here || holds_more {
        return None;
    }
    let of_repository = |name: &&str| repository.join(name);
    let mut write: Vec<PathBuf> = ALWAYS.iter().map(of_repository).collect();
    let needed = SIGNS.iter().map(of_repository);
    let needed = needed.chain(write.iter().cloned());
    let mut needed = needed.chain([own.clone(), repository.to_owned(), scope.join(".git")]);
    if !needed.all(|path| is_own(&path)) {
        return None;
    }
    let present = WHERE_PRESENT.iter().map(of_repository);
    write.extend(present.filter(|path| path.is_dir() && is_own(path)));
    write.push(own.clone());
    Some(RepositoryGrant {
        read: Some(repository.to_owned()),
        write,
        in_view: Vec::new(),
        protect: FIXED.iter().map(|name| own.join(name)).collect(),
    })
}

/// Worktrees of a scope's own repository that lie elsewhere: what the repository keeps of them. Commands do not see such a
/// worktree, so their Git takes it for gone, and `git worktree prune` and `git gc` would remove what is kept of it. Whether
/// it exists is not looked at, which would tell commands about the outside.
pub(super) fn kept_for_others(scope: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let kept = scope.join(KEPT);
    let is_elsewhere = |own: &PathBuf| {
        let named = own.strip_prefix(scope).ok();
        let named = named.and_then(|inside| read_at(scope, inside.join("gitdir")));
        let named = named.as_deref().and_then(line).map(|it| own.join(it));
        named.is_some_and(|it| !writable.iter().any(|place| it.starts_with(place)))
    };
    let mut all: Vec<PathBuf> = names_in(scope).iter().map(|it| kept.join(it)).collect();
    all.sort();
    all.truncate(MAX_WORKTREES);
    all.retain(is_elsewhere);
    all
}

/// What a scope's repository keeps worktrees by. Commands may have put a link there, which is not followed.
fn names_in(scope: &Path) -> Vec<OsString> {
    let open = open_directory(scope).and_then(|root| open_beneath(&root, Path::new(KEPT)));
    let entries = open.and_then(|open| Ok(Dir::read_from(&open)?));
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
    names.filter(|name| name != "." && name != "..").collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository with a worktree beside it, as Git makes them.
    struct Repository {
        _base: tempfile::TempDir,
        root: PathBuf,
    }

    impl Repository {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            let git = |directory: &str, arguments: &[&str]| {
                let done = std::process::Command::new("git")
                    .args(["-c", "user.name=me", "-c", "user.email=me@here"])
                    .args(arguments)
                    .current_dir(root.join(directory))
                    .output();
                let done = done.unwrap();
                assert!(done.status.success(), "{done:?}");
            };
            git("", &["init", "-q", "main"]);
            git("main", &["commit", "-q", "--allow-empty", "-m", "one"]);
            git("main", &["worktree", "add", "-q", "../scope"]);
            Repository { _base: base, root }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.join(name)
        }

        fn write(&self, name: &str, content: impl AsRef<str>) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content.as_ref()).unwrap();
        }

        fn granted(&self) -> Option<RepositoryGrant> {
            self.granted_with(&[])
        }

        fn granted_with(&self, writable: &[&str]) -> Option<RepositoryGrant> {
            let mut all = vec![self.path("scope")];
            all.extend(writable.iter().map(|name| self.path(name)));
            find(&self.path("scope"), &all, &self.path("private"))
        }
    }

    /// Proves: S73.
    #[test]
    fn a_linked_worktree_gets_what_commits_need_and_no_more() {
        let repository = Repository::new();
        let of = |names: &[&str]| {
            let paths = names.iter().map(|it| repository.path("main/.git").join(it));
            paths.collect::<Vec<_>>()
        };
        let own = "worktrees/scope";
        let expected = RepositoryGrant {
            read: Some(repository.path("main/.git")),
            in_view: Vec::new(),
            write: of(&["objects", "refs", "logs", own]),
            protect: of(&[
                "worktrees/scope/commondir",
                "worktrees/scope/gitdir",
                "worktrees/scope/config.worktree",
            ]),
        };
        assert_eq!(repository.granted(), Some(expected.clone()));
        // As newer versions of Git write it.
        repository.write("scope/.git", "gitdir: ../main/.git/worktrees/scope\n");
        repository.write(
            "main/.git/worktrees/scope/gitdir",
            "../../../../scope/.git\n",
        );
        assert_eq!(repository.granted(), Some(expected));
    }

    /// Proves: S73.
    #[test]
    fn a_file_that_a_command_could_have_written_grants_nothing() {
        let victim = Repository::new();
        let git = victim.path("main/.git");
        for content in [
            format!("gitdir: {}\n", git.display()),
            format!("gitdir: {}/worktrees\n", git.display()),
            format!("gitdir: {}/worktrees/other\n", git.display()),
            "gitdir: .\n".to_owned(),
            "gitdir: .git\n".to_owned(),
            "gitdir:\n".to_owned(),
            format!("gitdir: {}/worktrees/scope\nmore\n", git.display()),
            String::new(),
        ] {
            victim.write("scope/.git", &content);
            assert_eq!(victim.granted(), None, "{content}");
        }
        fs::remove_file(victim.path("scope/.git")).unwrap();
        assert_eq!(victim.granted(), None);
        symlink(
            git.join("worktrees/scope/gitdir"),
            victim.path("scope/.git"),
        )
        .unwrap();
        assert_eq!(victim.granted(), None);
    }

    /// Proves: S73.
    #[test]
    fn a_worktree_of_another_directory_grants_nothing() {
        let victim = Repository::new();
        for back in ["/elsewhere/.git", "../../../../main/.git", "", "scope/.git"] {
            victim.write("main/.git/worktrees/scope/gitdir", back);
            assert_eq!(victim.granted(), None, "{back}");
        }
    }

    /// Proves: S73.
    #[test]
    fn what_points_back_from_where_commands_can_write_is_not_believed() {
        let victim = Repository::new();
        let git = victim.path("main/.git");
        // All of it made by commands, in the scope or in what else they can write.
        for place in ["scope/made", "granted/made"] {
            let own = format!("{place}/worktrees/x");
            victim.write(
                "scope/.git",
                format!("gitdir: {}\n", victim.path(&own).display()),
            );
            victim.write(
                &format!("{own}/gitdir"),
                victim.path("scope/.git").to_str().unwrap(),
            );
            victim.write(&format!("{own}/commondir"), git.to_str().unwrap());
            assert_eq!(victim.granted_with(&["granted"]), None, "{place}");
        }
        // A link there, which leads to a worktree that is the user's.
        let real = git.join("worktrees/scope");
        symlink(&real, victim.path("granted/link")).unwrap();
        victim.write(
            "scope/.git",
            format!("gitdir: {}\n", victim.path("granted/link").display()),
        );
        assert_eq!(victim.granted_with(&["granted"]), None);
        // The whole repository is where commands of another scope can write.
        victim.write("scope/.git", format!("gitdir: {}\n", real.display()));
        assert_eq!(victim.granted_with(&["main"]), None);
        assert!(victim.granted_with(&["granted"]).is_some());
    }

    /// Proves: S73.
    #[test]
    fn another_repository_than_the_one_around_it_is_not_granted() {
        let victim = Repository::new();
        let other = victim.path("other/.git");
        victim.write("other/.git/HEAD", "ref: refs/heads/main\n");
        let said = other.to_str().unwrap();
        victim.write("main/.git/worktrees/scope/commondir", said);
        assert_eq!(victim.granted(), None);
    }

    /// Proves: S73.
    #[test]
    fn a_repository_around_the_scope_or_around_private_directories_is_not_granted() {
        let repository = Repository::new();
        let granted = |private: &Path| {
            let scope = repository.path("scope");
            find(&scope, std::slice::from_ref(&scope), private)
        };
        assert!(granted(Path::new("/private")).is_some());
        assert_eq!(granted(&repository.path("main/.git/private")), None);
    }

    /// Proves: S74.
    #[test]
    fn what_is_kept_of_worktrees_elsewhere_is_known() {
        let repository = Repository::new();
        let main = repository.path("main");
        let kept = |writable: &[PathBuf]| kept_for_others(&main, writable);
        let own = main.join(".git/worktrees/scope");
        assert_eq!(kept(std::slice::from_ref(&main)), vec![own]);
        assert_eq!(
            kept(&[main.clone(), repository.path("scope")]),
            Vec::<PathBuf>::new()
        );
        repository.write("main/.git/worktrees/scope/gitdir", "");
        assert_eq!(kept(std::slice::from_ref(&main)), Vec::<PathBuf>::new());
    }

    /// Proves: S73.
    #[test]
    fn an_ordinary_repository_needs_no_grant() {
        let repository = Repository::new();
        let scope = repository.path("main");
        assert_eq!(
            find(&scope, std::slice::from_ref(&scope), Path::new("/p")),
            None
        );
        assert_eq!(find(Path::new("/usr"), &[], Path::new("/p")), None);
    }
}

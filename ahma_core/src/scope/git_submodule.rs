//! A scope that is a submodule: its repository is in that of the project around it.
//!
//! The `.git` of such a scope is a file that names a directory of the repository around it, and commands may have written it. So
//! it is believed only when the settings in that directory, which commands cannot write, name the scope in return
//! (`core.worktree`). Granted is the directory, without links, since Git makes files of its own in it with every commit; what
//! Git outside obeys there, settings and hooks, can only be read, and where the kernel cannot keep that so, all of it. What is not
//! there cannot be protected, as in an ordinary repository in a scope; what appears is told. Decided when the scope is opened,
//! never later. May block.

use std::path::{Path, PathBuf};

use super::git_file::{RepositoryGrant, is_own, named_by, read_at};
use super::trusted_path::resolve_outside;
use crate::tamper::git_config::settings;
use crate::tamper::repositories_below;

/// Where a repository keeps those of its submodules.
const KEPT: &str = "modules";
/// What a repository has.
const SIGNS: [&str; 5] = ["HEAD", "config", "hooks", "objects", "refs"];
/// What makes Git take settings, or the way to them, from elsewhere, and what is kept of worktrees.
const FIXED: [&str; 5] = [
    "config",
    "hooks",
    "commondir",
    "config.worktree",
    "worktrees",
];
/// The same in submodules of the submodule.
const FIXED_BELOW: [&str; 2] = ["config", "hooks"];

/// The grant for a scope; none when it is not a submodule of this user, or one that cannot be believed. `writable` is
/// what commands of any scope can write, `private` must stay out of their reach.
pub(super) fn find(scope: &Path, writable: &[PathBuf], private: &Path) -> Option<RepositoryGrant> {
    let own = resolve_outside(&named_by(scope)?, writable)?;
    let is_kept = own
        .ancestors()
        .any(|it| it.ends_with(KEPT) && it.with_file_name("HEAD").is_file());
    // One that shares the settings of another repository is a worktree.
    let is_whole = own.join("commondir").symlink_metadata().is_err();
    let belongs_here = own.join(work_tree(&own)?).canonicalize().ok()? == scope;
    let holds_more = [scope, private].iter().any(|other| other.starts_with(&own));
    if !is_kept || !is_whole || !belongs_here || holds_more {
        return None;
    }
    let mut needed = SIGNS.iter().map(|name| own.join(name));
    if !needed.all(|path| is_own(&path)) || !is_own(&own) || !is_own(&scope.join(".git")) {
        return None;
    }
    let of = |repository: &Path, names: &[&str]| {
        let paths = names.iter().map(|name| repository.join(name));
        paths.collect::<Vec<_>>()
    };
    let mut protect = of(&own, &FIXED);
    let below = repositories_below(&own, Path::new(KEPT)).ok()?;
    protect.extend(below.iter().flat_map(|it| of(&own.join(it), &FIXED_BELOW)));
    Some(RepositoryGrant {
        read: None,
        write: vec![own.clone()],
        in_view: vec![own],
        protect,
    })
}

/// Where the settings of a repository say that its work tree is; the last word counts.
fn work_tree(repository: &Path) -> Option<String> {
    let settings = settings(&read_at(repository, "config")?);
    let named = settings
        .into_iter()
        .filter(|it| it.section == "core" && it.subsection.is_none() && it.key == "worktree");
    named.map(|it| it.value).next_back()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository with a submodule in a directory of its own, as Git makes them.
    struct Repository {
        _base: tempfile::TempDir,
        root: PathBuf,
    }

    impl Repository {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            let repository = Repository { _base: base, root };
            repository.git("", &["init", "-q", "lib"]);
            repository.git("lib", &["commit", "-q", "--allow-empty", "-m", "one"]);
            repository.git("", &["init", "-q", "main"]);
            let add = ["-c", "protocol.file.allow=always", "submodule", "add"];
            repository.git("main", &[&add[..], &["../lib", "deep/sub"]].concat());
            repository
        }

        fn git(&self, directory: &str, arguments: &[&str]) {
            let done = std::process::Command::new("git")
                .args(["-c", "user.name=me", "-c", "user.email=me@here"])
                .args(arguments)
                .current_dir(self.root.join(directory))
                .output();
            let done = done.unwrap();
            assert!(done.status.success(), "{done:?}");
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
            let scope = self.path("main/deep/sub");
            let mut all = vec![scope.clone()];
            all.extend(writable.iter().map(|name| self.path(name)));
            find(&scope, &all, &self.path("private"))
        }
    }

    const OWN: &str = "main/.git/modules/deep/sub";

    /// Proves: S73.
    #[test]
    fn a_submodule_gets_its_repository_without_settings_and_hooks() {
        let repository = Repository::new();
        let own = repository.path(OWN);
        let of = |names: &[&str]| {
            let paths = names.iter().map(|it| own.join(it));
            paths.collect::<Vec<_>>()
        };
        let mut expected = RepositoryGrant {
            read: None,
            write: vec![own.clone()],
            in_view: vec![own.clone()],
            protect: of(&FIXED),
        };
        assert_eq!(repository.granted(), Some(expected.clone()));
        // Named by a whole path.
        let gitdir = format!("gitdir: {}\n", own.display());
        repository.write("main/deep/sub/.git", gitdir);
        repository.git(
            OWN,
            &[
                "config",
                "core.worktree",
                repository.path("main/deep/sub").to_str().unwrap(),
            ],
        );
        assert_eq!(repository.granted(), Some(expected.clone()));
        // With one of its own.
        for name in ["objects", "refs"] {
            fs::create_dir_all(own.join("modules/inner").join(name)).unwrap();
        }
        let inner = of(&["modules/inner/config", "modules/inner/hooks"]);
        expected.protect.extend(inner);
        assert_eq!(repository.granted(), Some(expected));
    }

    /// Proves: S73.
    #[test]
    fn a_repository_that_does_not_name_the_scope_in_return_grants_nothing() {
        let victim = Repository::new();
        assert!(victim.granted().is_some());
        let before = fs::read_to_string(victim.path(OWN).join("config")).unwrap();
        for config in [
            String::new(),
            "[core]\n\tworktree = ../../../../../lib\n".to_owned(),
            format!("{before}[core]\n\tworktree = /elsewhere\n"),
            "[core \"x\"]\n\tworktree = ../../../../deep/sub\n".to_owned(),
            "[other]\n\tworktree = ../../../../deep/sub\n".to_owned(),
            format!("{before}{}", "#".repeat(300_000)),
        ] {
            victim.write(&format!("{OWN}/config"), &config);
            assert_eq!(victim.granted(), None, "{config:.100}");
        }
        victim.write(&format!("{OWN}/config"), &before);
        assert!(victim.granted().is_some());
        // Settings of another repository would count.
        victim.write(&format!("{OWN}/commondir"), "../../../..\n");
        assert_eq!(victim.granted(), None);
    }

    /// Proves: S73.
    #[test]
    fn a_file_that_was_planted_grants_no_repository() {
        let victim = Repository::new();
        let other = victim.path("lib/.git");
        for named in [
            other.display().to_string(),
            victim.path("main/.git").display().to_string(),
            victim.path("main/.git/modules").display().to_string(),
            ".".to_owned(),
        ] {
            victim.write("main/deep/sub/.git", format!("gitdir: {named}\n"));
            assert_eq!(victim.granted(), None, "{named}");
        }
        // One that points back, where repositories of submodules are not kept.
        let scope = victim.path("main/deep/sub");
        let scope = scope.to_str().unwrap();
        victim.git("lib", &["config", "core.worktree", scope]);
        let gitdir = format!("gitdir: {}\n", other.display());
        victim.write("main/deep/sub/.git", gitdir);
        assert_eq!(victim.granted(), None);
        // One that commands have made, of the user's parts.
        for place in ["main/deep/sub/made", "granted/made"] {
            let own = format!("{place}/modules/x");
            victim.write(&format!("{place}/HEAD"), "ref: refs/heads/x\n");
            victim.write(&format!("{own}/HEAD"), "ref: refs/heads/x\n");
            let config = format!("[core]\n\tworktree = {scope}\n");
            victim.write(&format!("{own}/config"), &config);
            for name in ["hooks", "objects", "refs"] {
                fs::create_dir_all(victim.path(&own).join(name)).unwrap();
            }
            let gitdir = format!("gitdir: {}\n", victim.path(&own).display());
            victim.write("main/deep/sub/.git", gitdir);
            assert_eq!(victim.granted_with(&["granted"]), None, "{place}");
        }
        // Out of the reach of commands the last one would count.
        assert!(victim.granted().is_some());
        fs::remove_file(victim.path("main/deep/sub/.git")).unwrap();
        symlink(victim.path(OWN), victim.path("main/deep/sub/.git")).unwrap();
        assert_eq!(victim.granted(), None);
    }

    /// Proves: S73.
    #[test]
    fn what_git_obeys_has_to_be_there_to_be_kept() {
        let repository = Repository::new();
        let hooks = repository.path(OWN).join("hooks");
        let moved = repository.path("hooks");
        fs::rename(&hooks, &moved).unwrap();
        assert_eq!(repository.granted(), None);
        symlink(&moved, &hooks).unwrap();
        assert_eq!(repository.granted(), None);
        fs::remove_file(&hooks).unwrap();
        fs::rename(&moved, &hooks).unwrap();
        assert!(repository.granted().is_some());
        // The repository around it is where commands of another scope can write.
        assert_eq!(repository.granted_with(&["main"]), None);
        let private = repository.path(OWN).join("private");
        let scope = repository.path("main/deep/sub");
        assert_eq!(find(&scope, std::slice::from_ref(&scope), &private), None);
    }
}

//! Hooks of repositories that the user has deep in the scope: commands cannot plant them.

use std::fs;

use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

/// A project with repositories in it, at several depths; one has no directory of hooks.
fn project() -> Workspace {
    let project = Workspace::new();
    for name in ["lib", "vendor/a/b", "bare.git/x"] {
        let path = project.path().join(name);
        fs::create_dir_all(&path).unwrap();
        assert_eq!(project.run("git", &["init", "-q", name]).code, 0);
        fs::create_dir_all(path.join(".git/hooks")).unwrap();
    }
    project
}

fn info(served: &mut Served) -> Value {
    served.client.call("get_server_info", &json!({})).structured["sandbox"].clone()
}

/// Waits until hosts protect as many paths as that.
fn until_protected(served: &mut Served, count: usize) {
    until(|| info(served)["protected"].as_array().unwrap().len() == count);
}

fn can_plant(served: &mut Served, repository: &str) -> bool {
    let script = format!("echo '#!/bin/sh' > {repository}/.git/hooks/post-commit");
    !served.sync(&script).is_error
}

/// Proves: S58.
#[test]
fn hooks_of_repositories_that_the_user_has_are_read_only() {
    let mut served = Served::of(project(), &[]);
    until_protected(&mut served, 3);
    let refused = served.sync("echo x > lib/.git/hooks/post-commit");
    assert!(
        refused.is_error && refused.text.contains("is protected"),
        "{}",
        refused.text
    );
    for nested in ["vendor/a/b", "bare.git/x"] {
        assert!(!can_plant(&mut served, nested), "{nested}");
    }
    let work = served.sync(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
         cd lib && echo x > f && git add f && git commit -qm one && git checkout -qb side && git gc -q && git log --oneline",
    );
    assert!(!work.is_error, "git works: {}", work.text);
    // The user's directories can be moved; what is put in their place is told of.
    let moved = served.sync("mv vendor/a vendor/c && mkdir -p vendor/a/b && git init -q vendor/a/b && mkdir -p vendor/a/b/.git/hooks && echo evil > vendor/a/b/.git/hooks/post-commit");
    assert!(!moved.is_error, "{}", moved.text);
    until(|| {
        info(&mut served)["warnings"]
            .to_string()
            .contains("vendor/a/b/.git/hooks/post-commit has appeared")
    });
    // Those that commands make are theirs.
    let own = served.sync("git init -q own && mkdir -p own/.git/hooks && sleep 1.5");
    assert!(!own.is_error, "{}", own.text);
    assert!(can_plant(&mut served, "own"));
    assert!(!served.sync("rm -rf own").is_error);
}

/// Proves: S58.
#[test]
fn the_operator_can_leave_them_writable() {
    let project = project();
    let arguments = ["--unprotect", "lib/.git/hooks"];
    let mut served = Served::of(project, &arguments);
    until_protected(&mut served, 2);
    assert!(can_plant(&mut served, "lib"));
    assert!(!can_plant(&mut served, "vendor/a/b"));
}

/// Proves: S58.
#[test]
fn hooks_in_what_is_granted_are_read_only_too() {
    let granted = project();
    let path = granted.path().to_str().unwrap();
    let mut served = Served::with(&["--sandbox-write", path], &[]);
    until_protected(&mut served, 3);
    assert!(!can_plant(&mut served, &format!("{path}/lib")));
    assert!(!served.sync(&format!("echo x > {path}/lib/f")).is_error);
}

/// Proves: S58.
#[test]
fn very_many_repositories_are_protected_in_part_and_that_is_said() {
    let project = Workspace::new();
    for number in 0..130 {
        let git = project.path().join(format!("r{number:03}/.git"));
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    let mut served = Served::of(project, &[]);
    until_protected(&mut served, 128);
    let warnings = info(&mut served)["warnings"].to_string();
    assert!(
        warnings.contains("there are 130 repositories here; the hooks of 128 are read-only"),
        "{warnings}"
    );
    let planted = served.sync(
        "for r in r*; do echo x > $r/.git/hooks/h; done 2>/dev/null; ls r*/.git/hooks/h | wc -l",
    );
    assert!(planted.text.starts_with("2\n"), "{}", planted.text);
}

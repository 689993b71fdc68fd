//! Paths in the scope that commands may read and not write, nor get out of the way.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ahma_sandbox::{Launch, SandboxPolicy};

use crate::support::Bench;

/// A repository, as far as protection is concerned, and an editor's directory.
fn fill(policy: &mut SandboxPolicy) {
    let scope = policy.scope.clone();
    for directory in [".git/hooks", ".git/objects", ".vscode", "deep/er/est"] {
        fs::create_dir_all(scope.join(directory)).unwrap();
    }
    fs::write(scope.join(".git/hooks/pre-commit"), "original\n").unwrap();
    fs::write(scope.join(".git/config"), "[core]\n").unwrap();
    fs::write(scope.join(".mcp.json"), "original\n").unwrap();
    fs::write(scope.join("deep/er/est/file"), "original\n").unwrap();
    for name in [".git/hooks", ".vscode", ".mcp.json", ".idea", "deep/er/est"] {
        policy.protect.push(scope.join(name));
    }
}

fn state(scope: &Path) -> Vec<(String, String)> {
    [".git/hooks/pre-commit", ".mcp.json", "deep/er/est/file"]
        .iter()
        .map(|name| {
            let content = fs::read_to_string(scope.join(name)).unwrap_or_default();
            ((*name).to_owned(), content)
        })
        .collect()
}

const ATTACKS: [&str; 18] = [
    "echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/post-checkout",
    "rm .git/hooks/pre-commit",
    "mv .git/hooks .git/hooks2",
    "mv .git .git2",
    "mv .git/hooks/pre-commit .",
    "rm -rf .git",
    "chmod 777 .git/hooks/pre-commit",
    "touch -d 2000-01-01 .git/hooks/pre-commit",
    "ln .git/hooks/pre-commit linked",
    "echo evil > new; mv new .git/hooks/pre-commit",
    "echo evil > .vscode/tasks.json",
    "rmdir .vscode",
    "echo evil > .mcp.json",
    "echo evil > new; mv new .mcp.json",
    "mv deep moved",
    "mv deep/er deep/moved",
    "echo evil > deep/er/est/file",
];

/// Proves: S36.
#[tokio::test]
async fn protected_paths_cannot_be_written_moved_or_replaced() {
    for launch in [Launch::Cells, Launch::Fork] {
        let bench = Bench::with(|policy| {
            policy.launch = launch;
            fill(policy);
        })
        .await;
        let before = state(&bench.scope);
        for attack in ATTACKS {
            let done = bench.sh(&format!("{attack} 2>/dev/null")).await;
            assert!(!done.succeeded(), "{attack}: {done:?}");
            assert_eq!(state(&bench.scope), before, "{attack}");
        }
        assert!(!bench.scope.join(".git/hooks/post-checkout").exists());
        let read = bench.sh("cat .git/hooks/pre-commit .mcp.json").await;
        assert_eq!(read.output, "original\noriginal\n");
    }
}

#[tokio::test]
async fn without_protection_the_same_works() {
    for attack in ATTACKS {
        let bench = Bench::with(|policy| {
            fill(policy);
            policy.protect.clear();
        })
        .await;
        let done = bench.sh(attack).await;
        assert!(done.succeeded(), "{attack}: {done:?}");
    }
}

#[tokio::test]
async fn what_lies_beside_protected_paths_can_be_written() {
    let bench = Bench::with(fill).await;
    let script = "echo x >> .git/config && echo x > .git/objects/o && mkdir .git/refs && \
                  echo x > deep/f && echo x > deep/er/f && mv deep/er/f deep/f2 && rm -r .git/refs && \
                  mkdir .idea && echo x > .idea/workspace.xml";
    let done = bench.sh(script).await;
    assert!(done.succeeded(), "{done:?}");
}

/// Proves: S36.
#[tokio::test]
async fn the_report_names_what_is_really_protected() {
    let bench = Bench::with(|policy| {
        fill(policy);
        let scope = policy.scope.clone();
        // A link could be replaced by another, so it does not count.
        symlink("deep", scope.join("link")).unwrap();
        policy.protect.push(scope.join("link"));
        policy.protect.push(scope.join("link/er"));
        // Neither do paths outside of what commands can write.
        policy.protect.push("/usr".into());
        policy.protect.push(scope);
    })
    .await;
    let names: Vec<String> = bench
        .host
        .report()
        .protected
        .iter()
        .map(|path| {
            path.strip_prefix(&bench.scope)
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    assert_eq!(names, [".git/hooks", ".vscode", ".mcp.json", "deep/er/est"]);
}

#[tokio::test]
async fn git_works_around_protected_hooks() {
    let bench = Bench::with(|policy| {
        let scope = policy.scope.clone();
        let init = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(&scope)
            .status();
        assert!(init.unwrap().success());
        policy.protect.push(scope.join(".git/hooks"));
    })
    .await;
    let script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
                  GIT_COMMITTER_EMAIL=a@b; \
                  echo x > f && git add f && git commit -qm one && git branch side && \
                  git checkout -q side && echo y >> f && git commit -qam two && git checkout -q - && \
                  git merge -q side && git tag v1 && git gc -q && git worktree add -q ../scope/tree && \
                  git clone -q . copy && git config user.name x && git remote add o . && git status --short && \
                  git log --oneline | wc -l";
    let done = bench.sh(script).await;
    assert!(done.succeeded(), "{done:?}");
    assert!(done.output.ends_with("2\n"), "{done:?}");
    let planted = bench.sh("echo '#!/bin/sh' > .git/hooks/post-commit").await;
    assert!(!planted.succeeded());
}

#[tokio::test]
async fn many_protected_paths_take_one_mount_for_each_directory() {
    let bench = Bench::with(|policy| {
        for module in 0..60 {
            let hooks = policy
                .scope
                .join(format!(".git/modules/a/b/c/d/m{module}/hooks"));
            fs::create_dir_all(&hooks).unwrap();
            policy.protect.push(hooks);
        }
    })
    .await;
    assert_eq!(bench.host.report().protected.len(), 60);
    let mounts = bench.sh("wc -l < /proc/self/mountinfo").await.output;
    let mounts: usize = mounts.trim().parse().unwrap();
    assert!(mounts < 250, "{mounts} mounts");
    assert!(
        !bench
            .sh("mv .git/modules/a/b .git/modules/a/x")
            .await
            .succeeded()
    );
}

#[tokio::test]
async fn a_grant_inside_the_scope_does_not_weaken_protection() {
    let bench = Bench::with(|policy| {
        let sub = policy.scope.join("sub");
        fs::create_dir_all(sub.join(".vscode")).unwrap();
        policy.protect.push(sub.join(".vscode"));
        policy.write.push(sub);
    })
    .await;
    let act = "mv sub sub2 && mkdir -p sub/.vscode && echo evil > sub/.vscode/t";
    assert!(!bench.sh(act).await.succeeded());
    assert!(bench.sh("echo x > sub/f").await.succeeded());
}

/// Proves: S58.
#[tokio::test]
async fn what_is_protected_in_place_cannot_be_written_and_what_is_above_it_can_be_moved() {
    let bench = Bench::with(|policy| {
        let hooks = policy.scope.join("a/b/.git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        policy
            .protect_in_place
            .push(policy.scope.join("a/b/missing"));
        policy.protect_in_place.push(hooks);
    })
    .await;
    assert_eq!(bench.host.report().protected.len(), 1);
    for act in [
        "echo evil > a/b/.git/hooks/x",
        "rmdir a/b/.git/hooks",
        "mv a/b/.git/hooks y",
        "chmod 777 a/b/.git/hooks",
    ] {
        assert!(!bench.sh(act).await.succeeded(), "{act}");
    }
    let moved = "echo x > a/b/f && mv a c && ls c/b/.git/hooks && ! echo evil > c/b/.git/hooks/x";
    assert!(bench.sh(moved).await.succeeded(), "it is protected still");
}

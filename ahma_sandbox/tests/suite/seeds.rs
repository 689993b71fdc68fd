//! Private caches that begin with what the user's hold.

use std::fs;
use std::path::{Path, PathBuf};

use ahma_sandbox::{Layer, SandboxHost, SandboxPolicy, Seed};

use crate::support::{Bench, Done, finish, patiently};

/// A bench with a cache of the user's outside it.
async fn seeded(change: impl FnOnce(&mut SandboxPolicy)) -> Bench {
    Bench::with(|policy| {
        let from = users(&policy.scope);
        fs::create_dir_all(from.join("deep/down")).unwrap();
        fs::write(from.join("deep/down/file"), "the user's\n").unwrap();
        let to = policy.home().join(".cache/tool");
        policy.seeds.push(Seed { from, to });
        change(policy);
    })
    .await
}

fn users(scope: &Path) -> PathBuf {
    scope.with_file_name("users: cache")
}

async fn run_in(bench: &Bench, host: &SandboxHost, script: &str) -> Done {
    let request = bench.request(&["sh", "-c", script]);
    finish(patiently(host.spawn(request)).await.unwrap()).await
}

const CHANGE: &str = "cd ~/.cache/tool && echo more >> deep/down/file && echo new > deep/new && \
                      mv deep/down deep/up && rm -r deep/up && ls -R deep";

/// Proves: S43.
#[tokio::test]
async fn a_command_reads_the_users_cache_and_changes_only_its_own() {
    let bench = seeded(|_| {}).await;
    let seeded = &bench.host.report().seeded;
    assert_eq!(*seeded, [bench.policy.home().join(".cache/tool")]);
    let read = bench.sh("cat ~/.cache/tool/deep/down/file").await;
    assert_eq!(read.output, "the user's\n");
    let changed = bench.sh(CHANGE).await;
    assert_eq!(changed.output, "deep:\nnew\n");
    let kept = bench.sh("cat ~/.cache/tool/deep/new").await;
    assert_eq!(kept.output, "new\n", "for the next command");
    let users = users(&bench.scope);
    let file = fs::read_to_string(users.join("deep/down/file")).unwrap();
    assert_eq!(file, "the user's\n");
    assert_eq!(fs::read_dir(users.join("deep")).unwrap().count(), 1);
}

/// Proves: S43.
#[tokio::test]
async fn the_users_cache_is_nowhere_else_to_be_seen() {
    let bench = seeded(|_| {}).await;
    let path = users(&bench.scope).join("deep/down/file");
    let script = format!("cat '{}'", path.display());
    assert!(!bench.sh(&script).await.succeeded());
    assert!(bench.unconfined(&script).status.success());
}

/// Proves: S43.
#[tokio::test]
async fn a_later_host_sees_what_earlier_ones_changed_and_changes_none_of_it() {
    let bench = seeded(|_| {}).await;
    bench.sh(CHANGE).await;
    let second = bench.another_host().await;
    let seen = run_in(
        &bench,
        &second,
        "cd ~/.cache/tool/deep && ls && echo 2 > new && touch more",
    )
    .await;
    assert_eq!(seen.output, "new\n");
    let narrowed = bench.another_policy(|policy| policy.read_only = true).await;
    let seen = run_in(&bench, &narrowed, "cd ~/.cache/tool/deep && ls && cat new").await;
    assert_eq!(seen.output, "more\nnew\n2\n");
    let first = bench.sh("cd ~/.cache/tool/deep && ls && cat new").await;
    assert_eq!(first.output, "new\nnew\n");
    let users = users(&bench.scope);
    assert_eq!(fs::read_dir(users.join("deep")).unwrap().count(), 1);
}

#[tokio::test]
async fn many_hosts_after_each_other_keep_working() {
    let bench = seeded(|_| {}).await;
    for number in 0..24 {
        let host = bench.another_host().await;
        let script = format!("cd ~/.cache/tool && cat deep/down/file && echo {number} > last");
        let done = run_in(&bench, &host, &script).await;
        assert_eq!(done.output, "the user's\n", "{number}");
    }
    let host = bench.another_host().await;
    let last = run_in(&bench, &host, "cat ~/.cache/tool/last").await;
    assert_eq!(last.output, "23\n");
}

#[tokio::test]
async fn a_read_only_command_cannot_change_its_cache() {
    let bench = seeded(|policy| policy.read_only = true).await;
    let read = bench.sh("cat ~/.cache/tool/deep/down/file").await;
    assert_eq!(read.output, "the user's\n");
    for change in [
        "echo x >> deep/down/file",
        "touch deep/new",
        "chmod 600 deep/down/file",
    ] {
        let script = format!("cd ~/.cache/tool && {change}");
        assert!(!bench.sh(&script).await.succeeded(), "{change}");
    }
}

/// Proves: S43.
#[tokio::test]
async fn a_command_that_puts_something_in_the_place_of_a_cache_gains_nothing() {
    let bench = seeded(|_| {}).await;
    // Before any host had a cache there, or by moving what is above it.
    let cache = bench.policy.home().join(".cache");
    for trap in ["ln -s /etc", "echo >"] {
        let plain = bench.another_policy(|policy| policy.seeds.clear()).await;
        let script = format!("rm -rf ~/.cache; mkdir ~/.cache; {trap} ~/.cache/tool");
        let done = run_in(&bench, &plain, &script).await;
        assert!(done.succeeded(), "{done:?}");
        let next = bench.another_host().await;
        assert_eq!(next.report().seeded, Vec::<PathBuf>::new());
        let alive = run_in(&bench, &next, "echo alive").await;
        assert_eq!(alive.output, "alive\n");
    }
    assert!(cache.exists());
}

#[tokio::test]
async fn a_cache_that_is_not_there_or_a_link_is_left_out() {
    for make in [
        |_: &Path| {},
        |path: &Path| {
            std::os::unix::fs::symlink("/etc", path).unwrap();
        },
    ] {
        let bench = Bench::with(|policy| {
            let from = policy.scope.with_file_name("odd");
            make(&from);
            let to = policy.home().join(".cache/tool");
            policy.seeds.push(Seed { from, to });
        })
        .await;
        assert_eq!(bench.host.report().seeded, Vec::<PathBuf>::new());
        assert!(bench.sh("mkdir -p ~/.cache/tool").await.succeeded());
    }
}

#[tokio::test]
async fn without_namespaces_caches_begin_empty() {
    let bench = seeded(|policy| policy.without = vec![Layer::Namespaces]).await;
    assert_eq!(bench.host.report().seeded, Vec::<PathBuf>::new());
    assert!(!bench.sh("ls ~/.cache/tool").await.succeeded());
    assert!(bench.sh("mkdir -p ~/.cache/tool").await.succeeded());
}

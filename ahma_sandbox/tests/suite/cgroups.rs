//! Limits for everything that a command starts, taken together. Runs where cgroups are delegated, and where they are not.

use std::fs;
use std::path::PathBuf;

use ahma_sandbox::LimitReached;

use crate::support::{Bench, Done, patiently, read_output};

const MIB: u64 = 1 << 20;

/// What a command did, and the limit it reached.
async fn limited(bench: &Bench, script: &str) -> (Done, Option<LimitReached>) {
    let mut command = bench.spawn(&["sh", "-c", script]).await.unwrap();
    let output = patiently(read_output(&mut command)).await;
    let exit = patiently(command.exited()).await.unwrap();
    patiently(command.gone()).await;
    let reached = patiently(command.limit_reached()).await;
    (Done { output, exit }, reached)
}

/// So many programs at the same time, each of which holds 40 MiB until somebody reads them.
fn takers(count: usize) -> String {
    let take = "dd if=/dev/zero bs=40M count=1 2>/dev/null | (sleep 1; cat) > /dev/null & ";
    format!("{}wait; echo end", take.repeat(count))
}

/// The directories of this server's commands, wherever they are.
fn directories() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut rest = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                let is_command = entry.path().parent().is_some_and(|it| {
                    let name = it.file_name().unwrap_or_default().to_string_lossy();
                    name == format!("ahma_mcp-{}", std::process::id())
                });
                if is_command && entry.file_name() != "server" {
                    found.push(entry.path());
                }
                rest.push(entry.path());
            }
        }
    }
    found
}

/// Proves: S75.
#[tokio::test]
#[ignore = "wants a delegated cgroup of version 2, which tests/vm/run has"]
async fn delegated_cgroups_limit_the_memory_of_all_processes_together() {
    let bench = Bench::with(|policy| policy.limits.memory_bytes = Some(100 * MIB)).await;
    assert_eq!(bench.gaps(), "");
    let (done, reached) = limited(&bench, &takers(1)).await;
    assert_eq!((done.output.as_str(), reached), ("end\n", None));
    // None of them alone takes too much.
    let (done, reached) = limited(&bench, &takers(4)).await;
    assert_eq!((done.exit.signal, done.output.as_str()), (Some(9), ""));
    let Some(LimitReached::Memory { limit, peak }) = reached else {
        panic!("{reached:?}");
    };
    assert_eq!(limit, 100 * MIB);
    let peak = peak.unwrap();
    assert!((90 * MIB..=100 * MIB).contains(&peak), "{peak}");
    // What one command reached is nothing to the next one.
    let (done, reached) = limited(&bench, &takers(1)).await;
    assert_eq!((done.output.as_str(), reached), ("end\n", None));
    // Large reservations that nobody uses do not count.
    assert_eq!(bench.sh("ulimit -v").await.output, "unlimited\n");
}

/// Proves: S75.
#[tokio::test]
#[ignore = "wants a delegated cgroup of version 2, which tests/vm/run has"]
async fn delegated_cgroups_limit_the_processes_of_each_command() {
    let bench = Bench::with(|policy| policy.limits.processes = Some(12)).await;
    assert_eq!(bench.gaps(), "");
    let sleepers = |count| format!("for i in $(seq {count}); do sleep 1 & done; wait; echo end");
    let few = sleepers(9);
    let (one, other) = tokio::join!(limited(&bench, &few), limited(&bench, &few));
    assert_eq!((one.0.output.as_str(), one.1), ("end\n", None));
    assert_eq!((other.0.output.as_str(), other.1), ("end\n", None));
    let (_, reached) = limited(&bench, &sleepers(20)).await;
    assert_eq!(reached, Some(LimitReached::Processes { limit: 12 }));
}

/// Proves: S75.
#[tokio::test]
#[ignore = "wants a delegated cgroup of version 2, which tests/vm/run has"]
async fn delegated_cgroups_are_gone_with_their_commands() {
    let bench = Bench::with(|policy| policy.limits.memory_bytes = Some(100 * MIB)).await;
    let mut command = bench.spawn(&["sh", "-c", "sleep 1000"]).await.unwrap();
    let while_it_runs = directories();
    command.kill();
    patiently(command.gone()).await;
    drop(command);
    assert_eq!(while_it_runs.len(), 1, "{while_it_runs:?}");
    // The next one takes away what was still busy.
    assert!(bench.sh("true").await.succeeded());
    patiently(async {
        while !directories().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Proves: S75.
#[tokio::test]
#[ignore = "wants a machine whose cgroups are not delegated, which tests/vm/run has"]
async fn no_cgroups_means_limits_of_each_process_and_saying_so() {
    let bench = Bench::with(|policy| {
        policy.limits.memory_bytes = Some(300 * MIB);
        policy.limits.processes = Some(40);
    })
    .await;
    let gaps = bench.gaps();
    assert!(
        gaps.contains("300 MiB memory is that of each process"),
        "{gaps}"
    );
    assert_eq!(bench.sh("ulimit -v").await.output, "307200\n");
}

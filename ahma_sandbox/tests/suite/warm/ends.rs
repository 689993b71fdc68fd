//! What becomes of scripts and shells when a shell, its host, or a script ends.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use ahma_sandbox::NoExit;
use rustix::process::Signal;

use super::{run, script, shells, signal, spawn, warm};
use crate::support::{
    Bench, children, exists, patiently, read_line, unique_mark, until_none_marked,
};

/// Proves: S40.
#[tokio::test]
async fn a_shell_that_died_while_it_waited_is_replaced() {
    let bench = warm(2).await;
    let before = shells(&bench);
    signal(*before.first().unwrap(), Signal::KILL);
    patiently(async {
        while shells(&bench).len() < 2 || shells(&bench) == before {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(run(&bench, "echo fine").await.output, "fine\n");
    assert_eq!(run(&bench, "echo fine").await.output, "fine\n");
}

/// Proves: S40.
#[tokio::test]
async fn a_script_whose_shell_died_before_it_looked_can_be_run_again() {
    let bench = warm(1).await;
    let shell = *shells(&bench).first().unwrap();
    signal(shell, Signal::STOP);
    let mut command = spawn(&bench, script(&bench, "touch ran")).await;
    signal(shell, Signal::KILL);
    let exit = patiently(command.exited()).await;
    assert_eq!(exit, Err(NoExit::NeverStarted));
    assert!(!exists(&bench.scope.join("ran")));
}

/// However a host ends, the server takes back what no shell has begun to read, and no shell reads it then.
///
/// Proves: S40.
#[tokio::test]
async fn a_script_whose_host_died_before_a_shell_looked_can_be_run_again() {
    let bench = warm(1).await;
    let shell = *shells(&bench).first().unwrap();
    signal(shell, Signal::STOP);
    let mut command = spawn(&bench, script(&bench, "touch ran")).await;
    signal(children(bench.host.pid())[0], Signal::KILL);
    let exit = patiently(command.exited()).await;
    assert_eq!(exit, Err(NoExit::NeverStarted));
    assert!(!exists(&bench.scope.join("ran")));
}

/// Proves: S40.
#[tokio::test]
async fn a_script_that_had_begun_is_not_run_again() {
    let bench = warm(1).await;
    let mut command = spawn(&bench, script(&bench, "echo up; sleep 100")).await;
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    signal(children(bench.host.pid())[0], Signal::KILL);
    let exit = patiently(command.exited()).await;
    assert_eq!(exit, Err(NoExit::HostGone));
}

/// Proves: S40.
#[tokio::test]
async fn shells_that_always_die_are_not_started_for_ever() {
    let bench = warm(1).await;
    let mut killed = BTreeSet::new();
    patiently(async {
        while killed.len() < 3 {
            for shell in shells(&bench) {
                signal(shell, Signal::KILL);
                killed.insert(shell);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while bench.host.warm_shells() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    for _ in 0..10 {
        assert_eq!(run(&bench, "echo cold").await.output, "cold\n");
        assert_eq!(bench.host.warm_shells(), 0);
    }
}

#[tokio::test]
async fn a_script_in_a_warm_shell_is_ended_with_everything_it_started() {
    let bench = warm(1).await;
    let mark = unique_mark();
    let text = format!("sleep {mark} & setsid sleep {mark} & echo up; wait");
    let mut command = spawn(&bench, script(&bench, &text)).await;
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    command.kill();
    patiently(command.gone()).await;
    until_none_marked(&mark).await;
}

/// Proves: S40.
#[tokio::test]
async fn shells_end_with_their_host() {
    let bench = warm(3).await;
    let before = shells(&bench);
    assert_eq!(before.len(), 3);
    let Bench { host, .. } = bench;
    drop(host);
    patiently(async {
        while before.iter().any(|pid| {
            fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.starts_with("bash\0-c\0read"))
        }) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

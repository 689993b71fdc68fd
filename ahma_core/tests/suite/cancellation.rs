//! An operation can be cancelled at any moment, any number of times, and always ends once.

use ahma_tests::{marked, patiently, signal, unique_mark, until_async};
use std::sync::Arc;
use std::time::Duration;

use ahma_core::{OperationHandle, OperationState};

use crate::bench::{Bench, text, until_exists};

/// Ends for good: nothing that comes later changes it.
async fn ended_as(operation: &Arc<OperationHandle>) -> OperationState {
    let state = patiently(operation.ended()).await.state;
    operation.cancel("too late");
    tokio::task::yield_now().await;
    assert_eq!(patiently(operation.ended()).await.state, state);
    state
}

/// Proves: O15.
#[tokio::test]
async fn before_it_runs_it_never_runs() {
    let bench = Bench::new(1);
    let first = bench.start("touch up; sleep 60", 60.0);
    until_exists(&bench, "up").await;
    let queued = bench.start("touch ran", 60.0);
    queued.cancel("not needed");
    assert_eq!(ended_as(&queued).await, OperationState::Cancelled);
    first.cancel("enough");
    assert_eq!(ended_as(&first).await, OperationState::Cancelled);
    assert_eq!(text(&*bench.run("ls").await), "up\n");
}

/// Proves: O15.
#[tokio::test]
async fn at_every_moment_of_its_start_and_end_it_ends_once() {
    let bench = Bench::new(4);
    let mark = unique_mark();
    let mut states = Vec::new();
    for round in 0..150_u64 {
        let script = format!("(setsid sleep {mark} >/dev/null 2>&1 &); echo done");
        let operation = bench.start(&script, 60.0);
        // From before it is queued to after it has ended.
        tokio::time::sleep(Duration::from_micros(round * 40)).await;
        operation.cancel("once");
        operation.cancel("twice");
        states.push(ended_as(&operation).await);
        assert_eq!(marked(&mark), 0);
    }
    assert!(states.contains(&OperationState::Cancelled), "{states:?}");
    let odd = |state: &&OperationState| {
        !matches!(state, OperationState::Cancelled | OperationState::Completed)
    };
    assert_eq!(states.iter().find(odd), None);
    assert_eq!(text(&*bench.run("echo on").await), "on\n");
}

#[tokio::test]
async fn while_its_output_floods_it_ends() {
    let bench = Bench::new(4);
    let operation = bench.start("touch up; yes", 60.0);
    until_exists(&bench, "up").await;
    operation.cancel("enough");
    assert_eq!(ended_as(&operation).await, OperationState::Cancelled);
    // Another command runs from beginning to end meanwhile.
    let written = operation.output().totals().bytes;
    assert_eq!(text(&*bench.run("echo on").await), "on\n");
    let now = operation.output().totals().bytes;
    assert_eq!(now, written, "nothing comes any more");
}

#[tokio::test]
async fn many_at_once_all_end() {
    let bench = Bench::new(16);
    let mark = unique_mark();
    let all: Vec<_> = (0..60)
        .map(|_| bench.start(&format!("sleep {mark} & sleep {mark}"), 60.0))
        .collect();
    // Sixteen of them run, each with two processes.
    until_async(|| marked(&mark) >= 32).await;
    for operation in &all {
        operation.cancel("all");
    }
    for operation in &all {
        assert_eq!(ended_as(operation).await, OperationState::Cancelled);
    }
    assert_eq!(marked(&mark), 0);
}

/// Proves: O15.
#[tokio::test]
async fn while_its_host_dies_it_ends() {
    let bench = Bench::new(4);
    for _ in 0..10 {
        let operation = bench.start("sleep 60", 60.0);
        let host = bench
            .hosts
            .host(&ahma_core::config::Restrictions::default())
            .await
            .unwrap();
        assert!(signal("KILL", host.pid()));
        operation.cancel("enough");
        let state = ended_as(&operation).await;
        let possible = [OperationState::Cancelled, OperationState::Lost];
        assert!(possible.contains(&state), "{state:?}");
        patiently(async {
            while !host.is_gone() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert_eq!(text(&*bench.run("echo on").await), "on\n");
}

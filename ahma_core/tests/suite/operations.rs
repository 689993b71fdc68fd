//! Commands from the queue to the end of their last process, in the real sandbox.

use ahma_tests::{marked, patiently, signal};
use std::fs;
use std::time::Duration;

use ahma_core::OperationState;
use ahma_core::config::Restrictions;
use ahma_core::internal::CommandPlan;
use ahma_core::internal::PageRequest;
use ahma_core::internal::command_line::Arg;
use ahma_sandbox::Input;

use crate::bench::{Bench, text, until_exists};

/// Proves: S2.
#[tokio::test]
async fn a_command_completes_with_its_output_and_record() {
    let bench = Bench::new(4);
    let operation = bench.run("echo out; echo err >&2").await;
    assert_eq!(text(&operation), "out\nerr\n");
    let record = operation.record();
    assert_eq!(
        (record.state, record.exit_code),
        (OperationState::Completed, Some(0))
    );
    assert_eq!(
        (record.output_bytes, record.output_lines, record.truncated),
        (8, 2, false)
    );
    assert_eq!(record.working_directory, bench.scope.to_str().unwrap());
}

#[tokio::test]
async fn a_command_fails_with_its_exit_code_or_signal() {
    let bench = Bench::new(4);
    let failed = bench.run("exit 3").await.completion().unwrap();
    assert_eq!(
        (failed.state, failed.exit_code),
        (OperationState::Failed, Some(3))
    );
    let killed = bench.run("kill -9 $$").await.completion().unwrap();
    assert_eq!(
        (killed.state, killed.signal),
        (OperationState::Failed, Some(9))
    );
}

#[tokio::test]
async fn a_command_that_cannot_start_fails_with_the_reason() {
    let bench = Bench::new(4);
    let mut plan = CommandPlan {
        tool: "t".to_owned(),
        kind: ahma_core::internal::CommandKind::Program,
        arguments: vec!["no-such-program".into()],
        environment: std::sync::Arc::new(vec![("PATH".into(), "/usr/bin".into())]),
        working_directory: bench.scope.clone(),
        input: Input::Nothing,
        input_writer: None,
        deadline: Some(Duration::from_secs(5)),
        is_service: false,
        success_exit_codes: Vec::new(),
        output: Default::default(),
        events: None,
        restrictions: Restrictions::default(),
    };
    let operation = bench.executor.start(plan.clone(), &"test".into()).unwrap();
    let completion = patiently(operation.ended()).await;
    assert_eq!(
        (completion.state, completion.exit_code),
        (OperationState::Failed, None)
    );
    let explanation = completion.explanation.unwrap();
    assert!(
        explanation.contains("the program cannot be executed"),
        "{explanation}"
    );
    plan.working_directory = "/no/such/directory".into();
    let operation = bench.executor.start(plan, &"test".into()).unwrap();
    let explanation = patiently(operation.ended()).await.explanation.unwrap();
    assert!(
        explanation.contains("the working directory cannot be entered"),
        "{explanation}"
    );
}

/// Proves: O10.
#[tokio::test]
async fn cancelling_ends_the_whole_tree_before_it_answers() {
    let bench = Bench::new(4);
    let mark = format!("81{:06}.25", std::process::id());
    let operation = bench.start(
        &format!("(setsid sleep {mark} &); sleep {mark} & touch up; wait"),
        60.0,
    );
    until_exists(&bench, "up").await;
    patiently(async {
        while marked(&mark) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    operation.cancel("the user said so");
    operation.cancel("twice");
    let completion = patiently(operation.ended()).await;
    assert_eq!(completion.state, OperationState::Cancelled);
    assert_eq!(completion.explanation.as_deref(), Some("the user said so"));
    assert_eq!(marked(&mark), 0);
}

#[tokio::test]
async fn a_command_that_ignores_the_polite_signal_is_killed() {
    let bench = Bench::new(4);
    let operation = bench.start("trap '' TERM; touch up; while :; do sleep 0.1; done", 60.0);
    until_exists(&bench, "up").await;
    operation.cancel("enough");
    assert_eq!(
        patiently(operation.ended()).await.state,
        OperationState::Cancelled
    );
}

/// Proves: O9.
#[tokio::test]
async fn the_deadline_ends_a_command_and_keeps_its_output() {
    let bench = Bench::new(4);
    let operation = bench.start("echo before; sleep 60; echo after", 0.3);
    let completion = patiently(operation.ended()).await;
    assert_eq!(completion.state, OperationState::TimedOut);
    assert_eq!(
        completion.explanation.as_deref(),
        Some("stopped after 0.3 seconds")
    );
    assert!(
        text(&operation).starts_with("before\n"),
        "{}",
        text(&operation)
    );
    assert!(!text(&operation).contains("after"));
}

/// Proves: O10.
#[tokio::test]
async fn a_background_process_does_not_keep_an_operation_open() {
    let bench = Bench::new(4);
    let mark = format!("82{:06}.25", std::process::id());
    let operation = bench.run(&format!("sleep {mark} & echo hi")).await;
    assert_eq!(operation.state(), OperationState::Completed);
    assert_eq!(text(&operation), "hi\n");
    assert_eq!(marked(&mark), 0, "leftovers are ended");
}

#[tokio::test]
async fn a_background_process_that_never_stops_writing_is_not_waited_for() {
    let bench = Bench::new(4);
    let operation = bench.run("yes & sleep 0.1").await;
    assert_eq!(operation.state(), OperationState::Completed);
}

/// Proves: O11.
#[tokio::test]
async fn commands_beyond_the_limit_wait_and_can_be_cancelled_there() {
    let bench = Bench::new(1);
    let first = bench.start("touch up; while ! test -e go; do sleep 0.02; done", 60.0);
    until_exists(&bench, "up").await;
    let second = bench.start("echo second", 60.0);
    let third = bench.start("echo third", 60.0);
    assert_eq!(second.state(), OperationState::Queued);
    third.cancel("not needed");
    assert_eq!(
        patiently(third.ended()).await.state,
        OperationState::Cancelled
    );
    assert_eq!(third.output().totals().bytes, 0, "it never ran");
    fs::write(bench.scope.join("go"), "").unwrap();
    assert_eq!(
        patiently(first.ended()).await.state,
        OperationState::Completed
    );
    assert_eq!(
        patiently(second.ended()).await.state,
        OperationState::Completed
    );
    assert_eq!(text(&second), "second\n");
}

/// Proves: O14.
#[tokio::test]
async fn a_dead_host_loses_only_what_ran_in_it() {
    let bench = Bench::new(4);
    let running = bench.start("touch up; sleep 60", 60.0);
    until_exists(&bench, "up").await;
    let pid = bench
        .hosts
        .host(&Restrictions::default())
        .await
        .unwrap()
        .pid();
    assert!(signal("KILL", pid));
    assert_eq!(patiently(running.ended()).await.state, OperationState::Lost);
    assert_eq!(text(&*bench.run("echo again").await), "again\n");
}

/// Proves: O14.
#[tokio::test]
async fn what_a_dying_host_never_looked_at_is_run_by_the_next() {
    let bench = Bench::new(4);
    assert_eq!(text(&*bench.run("echo first").await), "first\n");
    let around = bench
        .hosts
        .host(&Restrictions::default())
        .await
        .unwrap()
        .pid();
    let children = format!("/proc/{around}/task/{around}/children");
    let host = fs::read_to_string(children).unwrap();
    assert!(signal("STOP", host.trim()));
    let operation = bench.start("echo second", 30.0);
    patiently(async {
        while operation.state() == OperationState::Queued {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(signal("KILL", around));
    let completion = patiently(operation.ended()).await;
    assert_eq!(
        (completion.state, text(&operation)),
        (OperationState::Completed, "second\n".to_owned())
    );
}

/// Proves: O15.
#[test]
fn an_operation_nobody_looks_after_any_more_has_ended() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let outer = runtime();
    let abandoned = outer.block_on(async {
        let bench = Bench::new(1);
        let running = bench.start("touch up; sleep 60", 60.0);
        until_exists(&bench, "up").await;
        running
    });
    drop(outer);
    let completion = runtime().block_on(patiently(abandoned.ended()));
    assert_eq!(completion.state, OperationState::Lost);
}

/// Proves: O13.
#[tokio::test]
async fn a_flood_is_counted_exactly_and_can_be_read() {
    let bench = Bench::new(4);
    let operation = bench.run("seq 1 3000000").await;
    let record = operation.record();
    assert_eq!(
        (record.output_lines, record.output_bytes),
        (3_000_000, 22_888_896)
    );
    assert!(record.truncated);
    assert!(
        text(&operation).starts_with("1\n2\n") && text(&operation).ends_with("2999999\n3000000\n")
    );
    let page = PageRequest::From {
        offset: 22_888_896 / 2,
        length: 100,
    };
    let page = operation.output().page(page).await.unwrap();
    assert_eq!((page.end - page.offset, page.lost_before), (100, false));
}

#[tokio::test]
async fn shutting_down_ends_everything() {
    let bench = Bench::new(2);
    let mark = format!("83{:06}.25", std::process::id());
    for number in 0..4 {
        bench.start(&format!("touch up{number}; sleep {mark}"), 60.0);
    }
    until_exists(&bench, "up0").await;
    patiently(bench.executor.shut_down("the server stops")).await;
    let states: Vec<_> = bench
        .executor
        .store()
        .query(&ahma_core::OperationFilter::default())
        .iter()
        .map(|operation| operation.state())
        .collect();
    assert_eq!(states, [OperationState::Cancelled; 4]);
    assert_eq!(marked(&mark), 0);
}

/// Proves: O18.
#[tokio::test]
async fn an_argument_that_is_a_file_is_there_for_the_command_and_gone_after_it() {
    let bench = Bench::new(4);
    let content = "first\n'second' $(x)\n".repeat(10_000);
    let plan = |directory: &std::path::Path| CommandPlan {
        tool: "t".to_owned(),
        kind: ahma_core::internal::CommandKind::Program,
        arguments: vec![
            "sh".into(),
            "-c".into(),
            "printf '%s ' \"$1\"; stat -c %a \"${1#--file=}\"; cat \"${1#--file=}\"".into(),
            "sh".into(),
            Arg::File {
                prefix: "--file=".to_owned(),
                content: content.clone(),
            },
        ],
        environment: std::sync::Arc::new(vec![("PATH".into(), "/usr/bin:/bin".into())]),
        working_directory: directory.to_owned(),
        input: Input::Nothing,
        input_writer: None,
        deadline: Some(Duration::from_secs(30)),
        is_service: false,
        success_exit_codes: Vec::new(),
        output: Default::default(),
        events: None,
        restrictions: Restrictions::default(),
    };
    let operation = bench
        .executor
        .start(plan(&bench.scope), &"test".into())
        .unwrap();
    patiently(operation.ended()).await;
    let length = content.len() as u64;
    let page = PageRequest::From {
        offset: 0,
        length: 1000,
    };
    let page = operation.output().page(page).await.unwrap();
    let (first, rest) = page.text.split_once('\n').unwrap();
    let (word, mode) = first.split_once(' ').unwrap();
    assert_eq!(mode, "600");
    assert!(content.starts_with(rest.get(..500).unwrap()));
    assert_eq!(
        operation.output().totals().bytes,
        length + first.len() as u64 + 1
    );
    let path = word.strip_prefix("--file=").unwrap();
    assert!(!std::path::Path::new(path).exists(), "{path}");
}

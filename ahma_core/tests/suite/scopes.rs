//! The directory commands work in may go, come back or be replaced while the server runs.

use ahma_tests::patiently;
use std::fs;
use std::os::unix::fs::symlink;

use ahma_core::OperationState;

use crate::bench::{Bench, text, until_exists};

/// Proves: S32.
#[tokio::test]
async fn a_scope_that_is_deleted_and_made_again_works_again() {
    let bench = Bench::new(4);
    assert_eq!(text(&*bench.run("echo 1 > f; cat f").await), "1\n");
    fs::remove_dir_all(&bench.scope).unwrap();
    let refused = bench.run("echo ran").await.completion().unwrap();
    assert_eq!(refused.state, OperationState::Failed);
    let why = refused.explanation.unwrap();
    assert!(
        why.contains("the scope") && why.contains("cannot be used"),
        "{why}"
    );
    fs::create_dir(&bench.scope).unwrap();
    assert_eq!(text(&*bench.run("ls; echo 2 > f; cat f").await), "2\n");
    assert_eq!(fs::read_to_string(bench.scope.join("f")).unwrap(), "2\n");
}

/// Proves: S32.
#[tokio::test]
async fn what_runs_in_a_scope_that_is_replaced_goes_on_there() {
    let bench = Bench::new(4);
    let running = bench.start(
        "touch up; until test -e go; do sleep 0.01; done; echo done",
        30.0,
    );
    until_exists(&bench, "up").await;
    let old = bench.scope.with_extension("old");
    fs::rename(&bench.scope, &old).unwrap();
    fs::create_dir(&bench.scope).unwrap();
    assert_eq!(text(&*bench.run("ls").await), "");
    fs::write(old.join("go"), "").unwrap();
    let completion = patiently(running.ended()).await;
    assert_eq!(
        (completion.state, text(&running)),
        (OperationState::Completed, "done\n".to_owned())
    );
}

/// Proves: S32.
#[tokio::test]
async fn a_scope_that_became_a_link_is_not_followed() {
    let bench = Bench::new(4);
    assert_eq!(text(&*bench.run("echo 1").await), "1\n");
    let elsewhere = bench.scope.with_extension("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("secret"), "the secret\n").unwrap();
    fs::remove_dir_all(&bench.scope).unwrap();
    symlink(&elsewhere, &bench.scope).unwrap();
    let operation = bench.run("cat secret").await;
    let completion = operation.completion().unwrap();
    assert_eq!(text(&operation), "");
    assert!(completion.explanation.unwrap().contains("it leads to"));
}

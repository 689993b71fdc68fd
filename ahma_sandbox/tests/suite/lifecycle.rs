//! Hosts: they start confined, end with the server, and take everything along.

use ahma_sandbox::{NoExit, Sandbox, SandboxPolicy, SpawnError, StartError, probe};

use crate::support::{Bench, patiently, read_line, unique_mark, until_marked, until_none_marked};

#[tokio::test]
async fn every_layer_is_enforced_here() {
    let bench = Bench::new().await;
    let report = bench.host.report();
    for layer in &report.layers {
        assert!(layer.enforced, "{layer:?}");
        assert_eq!(layer.gap, None, "{layer:?}");
    }
    assert_eq!(report.layers.len(), 5);
    assert!(report.landlock_abi.unwrap() >= 1);
}

/// Proves: S34.
#[tokio::test]
async fn probing_tells_what_a_host_will_enforce_and_leaves_nothing_behind() {
    let bench = Bench::new().await;
    let base = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(crate::support::host_program()).unwrap();
    let report = patiently(probe(&sandbox, base.path())).await.unwrap();
    assert_eq!(&report, bench.host.report());
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    let no_host = Sandbox::new("/bin/true").unwrap();
    assert!(patiently(probe(&no_host, base.path())).await.is_err());
}

#[tokio::test]
async fn dropping_a_host_ends_everything_in_it() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    let host = bench.another_host().await;
    let request = bench.request(&[
        "sh",
        "-c",
        &format!("(setsid sleep {mark} &); echo up; sleep {mark}"),
    ]);
    let mut command = patiently(host.spawn(request)).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    until_marked(&mark, 1).await;
    drop(host);
    assert_eq!(patiently(command.exited()).await, Err(NoExit::HostGone));
    patiently(command.gone()).await;
    until_none_marked(&mark).await;
}

/// Proves: S21.
#[tokio::test]
async fn a_killed_host_takes_its_tree_along_and_is_noticed() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    let script = format!("(setsid sleep {mark} &); echo up; sleep {mark}");
    let mut command = bench.spawn(&["sh", "-c", &script]).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    let pid = bench.host.pid();
    assert!(bench.unconfined(&format!("kill -9 {pid}")).status.success());
    assert_eq!(patiently(command.exited()).await, Err(NoExit::HostGone));
    until_none_marked(&mark).await;
    let refused = bench.spawn(&["true"]).await;
    assert!(
        matches!(refused, Err(SpawnError::HostGone)),
        "{:?}",
        refused.map(|_| "started")
    );
    assert!(bench.host.is_gone());
    let next = bench.another_host().await;
    let request = bench.request(&["echo", "again"]);
    let done = crate::support::finish(next.spawn(request).await.unwrap()).await;
    assert_eq!(done.output, "again\n");
}

#[tokio::test]
async fn what_a_dying_host_never_looked_at_is_told_apart_from_what_it_ran() {
    let bench = Bench::new().await;
    let mut running = bench
        .spawn(&["sh", "-c", "echo up; sleep 100"])
        .await
        .unwrap();
    let mut output = running.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    let around = bench.host.pid();
    let host = crate::support::children(around)[0];
    assert!(
        bench
            .unconfined(&format!("kill -STOP {host}"))
            .status
            .success()
    );
    let mut waiting = bench.spawn(&["touch", "ran"]).await.unwrap();
    assert!(
        bench
            .unconfined(&format!("kill -9 {around}"))
            .status
            .success()
    );
    assert_eq!(patiently(waiting.exited()).await, Err(NoExit::NeverStarted));
    assert_eq!(patiently(running.exited()).await, Err(NoExit::HostGone));
    assert!(!bench.scope.join("ran").exists());
}

/// Proves: S21.
#[tokio::test]
async fn a_server_killed_with_9_leaves_no_process() {
    let mark = unique_mark();
    let scope = tempfile::tempdir().unwrap();
    let mut server = std::process::Command::new(crate::support::host_program())
        .arg(scope.path())
        .args([
            "sh",
            "-c",
            &format!("(setsid sleep {mark} &); touch up; sleep {mark}"),
        ])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    patiently(async {
        while !scope.path().join("up").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    until_marked(&mark, 2).await;
    server.kill().unwrap();
    server.wait().unwrap();
    until_none_marked(&mark).await;
}

/// Proves: S22.
#[tokio::test]
async fn a_policy_with_a_missing_path_starts_no_host() {
    let bench = Bench::new().await;
    let sandbox = Sandbox::new(crate::support::host_program()).unwrap();
    let missing = bench.scope.join("missing");
    let mut without_scope = bench.policy.clone();
    without_scope.scope = missing.clone();
    let refused = patiently(sandbox.start(&without_scope)).await.err();
    assert!(matches!(refused, Some(StartError::Scope(_))), "{refused:?}");
    let mut without_grant = bench.policy.clone();
    without_grant.read.push(missing);
    let refused = patiently(sandbox.start(&without_grant)).await.err();
    assert!(matches!(refused, Some(StartError::Setup(_))), "{refused:?}");
}

#[tokio::test]
async fn a_program_that_is_no_host_is_noticed() {
    let sandbox = Sandbox::new("/bin/true").unwrap();
    let policy = SandboxPolicy::new("/usr", "/tmp");
    let started = patiently(sandbox.start(&policy)).await;
    assert!(
        matches!(started, Err(StartError::Host(_))),
        "{:?}",
        started.map(|_| "started")
    );
}

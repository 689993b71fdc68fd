//! What the benchmarks of this crate share.

#![allow(dead_code, reason = "each benchmark uses what it needs")]

use std::time::{Duration, Instant};

use ahma_sandbox::{CommandRequest, Input, SandboxHost, SandboxPolicy};
use tokio::io::AsyncReadExt as _;

pub(crate) async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

pub(crate) async fn rate<F, W>(callers: usize, work: W) -> f64
where
    F: Future<Output = ()> + Send + 'static,
    W: Fn() -> F + Clone + Send + 'static,
{
    let window = Duration::from_millis(500);
    let end = Instant::now() + window;
    let running: Vec<_> = (0..callers)
        .map(|_| {
            let work = work.clone();
            tokio::spawn(async move {
                let mut count = 0_u32;
                while Instant::now() < end {
                    work().await;
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut total = 0;
    for caller in running {
        total += caller.await.unwrap();
    }
    f64::from(total) / window.as_secs_f64()
}

pub(crate) async fn run_bare() {
    let status = tokio::process::Command::new("/bin/true")
        .status()
        .await
        .unwrap();
    assert!(status.success());
}

pub(crate) async fn run_blocking() {
    let run = || std::process::Command::new("/bin/true").status().unwrap();
    assert!(tokio::task::spawn_blocking(run).await.unwrap().success());
}

/// To the end of the output, of the main process and of everything it started.
pub(crate) async fn run(host: &SandboxHost, policy: &SandboxPolicy, arguments: &[&str]) {
    let mut command = host.spawn(request(policy, arguments)).await.unwrap();
    let mut output = Vec::new();
    let mut pipe = command.take_output().unwrap();
    pipe.read_to_end(&mut output).await.unwrap();
    assert_eq!(command.exited().await.unwrap().code, Some(0));
    command.gone().await;
}

pub(crate) fn request(policy: &SandboxPolicy, arguments: &[&str]) -> CommandRequest {
    CommandRequest {
        arguments: arguments.iter().map(Into::into).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: policy.scope.clone(),
        input: Input::Nothing,
    }
}

pub(crate) fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Proportional memory of a process, in kB.
pub(crate) fn pss(pid: u32) -> Option<u64> {
    let file = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = file.lines().find(|line| line.starts_with("Pss:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The processes a process of one thread has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Calls per second: the middle of five windows.
pub(crate) fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

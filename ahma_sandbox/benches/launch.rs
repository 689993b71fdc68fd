//! What confinement costs: a confined `/bin/true`, all layers on, beside a bare one.
//!
//! `cargo bench -p ahma_sandbox --bench launch`. Both are awaited from the same runtime, in turn, so
//! that noise hits both alike; compare ratios, not times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark may start programs, print and fail"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ahma_sandbox::{
    CommandRequest, Input, Sandbox, SandboxHost, SandboxPolicy, SessionDirectory,
    become_host_if_asked,
};
use tokio::io::AsyncReadExt as _;

const ROUNDS: usize = 400;

fn main() {
    become_host_if_asked();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let base = tempfile::tempdir().unwrap();
    let scope = base.path().join("scope");
    std::fs::create_dir(&scope).unwrap();
    let session = SessionDirectory::create(base.path()).unwrap();
    let policy = SandboxPolicy::new(scope.canonicalize().unwrap(), session.path());
    let sandbox = Sandbox::new(std::env::current_exe().unwrap()).unwrap();

    let mut starts = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        drop(sandbox.start(&policy).await.unwrap());
        starts.push(start.elapsed());
    }
    println!(
        "host ready for a new scope: {:.1?} p50",
        median(&mut starts)
    );

    let host = Arc::new(sandbox.start(&policy).await.unwrap());
    latency(&host, &policy, "small server").await;
    let ballast = vec![1_u8; 256 << 20];
    latency(&host, &policy, "256 MiB in the server").await;
    drop(ballast);
    for callers in [8, 32] {
        throughput(&host, &policy, callers).await;
    }
    kill_to_empty(&host, &policy).await;
}

async fn latency(host: &SandboxHost, policy: &SandboxPolicy, what: &str) {
    let (mut bare, mut confined) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run_bare().await;
        bare.push(start.elapsed());
        let start = Instant::now();
        run_confined(host, policy).await;
        confined.push(start.elapsed());
    }
    let (bare, confined) = (median(&mut bare), median(&mut confined));
    let ratio = confined.as_secs_f64() / bare.as_secs_f64();
    println!("{what}: bare {bare:.0?}, confined {confined:.0?} p50: {ratio:.2} times");
}

async fn throughput(host: &Arc<SandboxHost>, policy: &SandboxPolicy, callers: usize) {
    let (mut bare, mut confined) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        bare.push(rate(callers, || async { run_bare().await }).await);
        let (host, policy) = (Arc::clone(host), policy.clone());
        let work = move || {
            let (host, policy) = (Arc::clone(&host), policy.clone());
            async move { run_confined(&host, &policy).await }
        };
        confined.push(rate(callers, work).await);
    }
    bare.sort_by(f64::total_cmp);
    confined.sort_by(f64::total_cmp);
    let (bare, confined) = (bare[2], confined[2]);
    let share = confined / bare;
    println!("{callers} callers: bare {bare:.0}/s, confined {confined:.0}/s: {share:.2} of it");
}

async fn rate<F, W>(callers: usize, work: W) -> f64
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

async fn kill_to_empty(host: &SandboxHost, policy: &SandboxPolicy) {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & (setsid sleep 100 &); done; echo; wait";
    let mut times = Vec::new();
    for _ in 0..50 {
        let mut command = host
            .spawn(request(policy, &["sh", "-c", script]))
            .await
            .unwrap();
        let mut output = command.take_output().unwrap();
        output.read_exact(&mut [0]).await.unwrap();
        let start = Instant::now();
        command.kill();
        command.gone().await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(
        "kill to empty tree, 20 processes, 10 daemons: {:.1?} p50, {:.1?} worst of 50",
        times[25], times[49]
    );
}

async fn run_bare() {
    let status = tokio::process::Command::new("/bin/true")
        .status()
        .await
        .unwrap();
    assert!(status.success());
}

async fn run_confined(host: &SandboxHost, policy: &SandboxPolicy) {
    let mut command = host.spawn(request(policy, &["/bin/true"])).await.unwrap();
    assert_eq!(command.exited().await.unwrap().code, Some(0));
    command.gone().await;
}

fn request(policy: &SandboxPolicy, arguments: &[&str]) -> CommandRequest {
    CommandRequest {
        arguments: arguments.iter().map(Into::into).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: policy.scope.clone(),
        input: Input::Nothing,
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

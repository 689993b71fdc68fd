//! What confinement costs: a confined `/bin/true`, all layers on, beside a bare one, started from cells
//! and by forking.
//!
//! `cargo bench -p ahma_sandbox --bench launch`. Both are awaited from the same runtime, in turn, so
//! that noise hits both alike; compare ratios, not times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ahma_sandbox::{Launch, PrivateDir, Sandbox, SandboxHost, SandboxPolicy, become_host_if_asked};
use tokio::io::AsyncReadExt as _;

mod kit;

use kit::{median, middle, pss, rate, request, run, run_bare, run_blocking, timed};

const ROUNDS: usize = 300;

fn main() {
    become_host_if_asked();
    ahma_tests::without_the_libraries_of_cargo();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    // On a worker, where the tasks of a server run too.
    runtime.block_on(async { tokio::spawn(measure()).await.unwrap() });
}

async fn measure() {
    let base = tempfile::tempdir().unwrap();
    let scope = base.path().join("scope");
    std::fs::create_dir(&scope).unwrap();
    let session = PrivateDir::create(base.path()).unwrap();
    let cells = SandboxPolicy::new(scope.canonicalize().unwrap(), session.path());
    let forking = SandboxPolicy {
        launch: Launch::Fork,
        ..cells.clone()
    };
    let sandbox = Sandbox::new(std::env::current_exe().unwrap()).unwrap();

    let mut starts = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        drop(sandbox.start(&cells).await.unwrap());
        starts.push(start.elapsed());
    }
    println!(
        "host ready for a new scope: {:.1?} p50",
        median(&mut starts)
    );

    let contestants = Contestants {
        cells: Arc::new(sandbox.start(&cells).await.unwrap()),
        forking: Arc::new(sandbox.start(&forking).await.unwrap()),
        policy: cells,
    };
    println!(
        "memory of an idle host: {}",
        memory(contestants.cells.pid())
    );
    latency(&contestants, "small server").await;
    let ballast = vec![1_u8; 256 << 20];
    latency(&contestants, "256 MiB in the server").await;
    drop(ballast);
    for callers in [8, 32] {
        throughput(&contestants, callers).await;
    }
    kill_to_empty(&contestants.cells, &contestants.policy).await;
    hundred_sleeps(&contestants).await;
}

struct Contestants {
    cells: Arc<SandboxHost>,
    forking: Arc<SandboxHost>,
    policy: SandboxPolicy,
}

async fn latency(contestants: &Contestants, what: &str) {
    let Contestants {
        cells,
        forking,
        policy,
    } = contestants;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(timed(run_bare()).await);
        times[1].push(timed(run_blocking()).await);
        times[2].push(timed(run_confined(cells, policy)).await);
        times[3].push(timed(run_confined(forking, policy)).await);
    }
    let [bare, blocking, cells, forking] = times.map(|mut times| median(&mut times).as_secs_f64());
    println!("{what}, /bin/true, p50:");
    for (name, time) in [
        ("posix_spawn from tokio", bare),
        ("posix_spawn and wait, in a thread", blocking),
        ("confined, cells", cells),
        ("confined, fork", forking),
    ] {
        let (micros, ratio, other) = (time * 1e6, time / bare, time / blocking);
        println!("  {name:34} {micros:6.0} µs  {ratio:.2}  {other:.2}");
    }
}

async fn throughput(contestants: &Contestants, callers: usize) {
    let mut rates: [Vec<f64>; 4] = Default::default();
    let confined = |host: &Arc<SandboxHost>| {
        let (host, policy) = (Arc::clone(host), contestants.policy.clone());
        move || {
            let (host, policy) = (Arc::clone(&host), policy.clone());
            async move { run_confined(&host, &policy).await }
        }
    };
    for _ in 0..5 {
        rates[0].push(rate(callers, run_bare).await);
        rates[1].push(rate(callers, run_blocking).await);
        rates[2].push(rate(callers, confined(&contestants.cells)).await);
        rates[3].push(rate(callers, confined(&contestants.forking)).await);
    }
    let [bare, blocking, cells, forking] = rates.map(middle);
    let limit = bare.max(blocking);
    println!("{callers} callers, /bin/true, per second (and share of the faster bare one):");
    println!(
        "  bare {bare:.0} tokio, {blocking:.0} threads; cells {cells:.0} ({:.2}); fork {forking:.0} ({:.2})",
        cells / limit,
        forking / limit
    );
}

async fn kill_to_empty(host: &SandboxHost, policy: &SandboxPolicy) {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & (setsid sleep 100 &); done; echo; wait";
    let mut times = Vec::new();
    for _ in 0..200 {
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
        "kill to empty tree, 20 processes, 10 daemons: {:.1?} p50, {:.1?} p99",
        times[100], times[198]
    );
}

async fn hundred_sleeps(contestants: &Contestants) {
    let start = Instant::now();
    let sleeping: Vec<_> = (0..100)
        .map(|_| {
            let (host, policy) = (Arc::clone(&contestants.cells), contestants.policy.clone());
            tokio::spawn(async move { run(&host, &policy, &["sleep", "1"]).await })
        })
        .collect();
    for sleeper in sleeping {
        sleeper.await.unwrap();
    }
    println!("100 × sleep 1 at once: {:.2?}", start.elapsed());
}

async fn run_confined(host: &SandboxHost, policy: &SandboxPolicy) {
    run(host, policy, &["/bin/true"]).await;
}

/// Proportional memory of the host's processes that have memory of their own: the one around it and
/// the host itself. The processes of its cells share the host's.
fn memory(around: u32) -> String {
    let host = kit::children(around).first().copied();
    let text = |kb: Option<u64>| kb.map_or("not readable".to_owned(), |kb| format!("{kb} kB"));
    format!(
        "{} around it, {} the host",
        text(pss(around)),
        text(host.and_then(pss))
    )
}

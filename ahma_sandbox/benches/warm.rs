//! What warm shells gain: a script in a shell that waited, beside the same script in a new one and
//! beside a bare process.
//!
//! `cargo bench -p ahma_sandbox --bench warm`. In turn, from the same runtime; compare ratios, not
//! times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{PrivateDir, Sandbox, SandboxHost, SandboxPolicy, become_host_if_asked};

mod kit;

use kit::{children, median, middle, pss, rate, request, run, run_bare, run_blocking, timed};

const ROUNDS: usize = 300;
const SHELLS: usize = 2;
const BUILTIN: [&str; 4] = ["bash", "-c", "--", "true"];
const EXTERNAL: [&str; 4] = ["bash", "-c", "--", "/bin/true"];

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
    let policy = SandboxPolicy::new(scope.canonicalize().unwrap(), session.path());
    let sandbox = Sandbox::new(std::env::current_exe().unwrap()).unwrap();

    let mut first = Vec::new();
    for _ in 0..30 {
        first.push(timed(new_scope(&sandbox, &policy)).await);
    }
    first.sort_unstable();
    println!(
        "new scope to the end of its first command: {:.1?} p50, {:.1?} at most",
        first[15], first[29]
    );

    let warm = Arc::new(sandbox.start(&policy).await.unwrap());
    warm.keep_warm(SHELLS, "bash".into(), request(&policy, &[]).environment);
    let cold = Arc::new(sandbox.start(&policy).await.unwrap());
    until_ready(&warm).await;
    println!("memory of each warm shell: {:?} kB", memory(&warm));
    latency(&warm, &cold, &policy).await;
    in_a_row(&warm, &cold, &policy).await;
    for callers in [1, 2, 8, 32] {
        throughput(&warm, &cold, &policy, callers).await;
    }
}

async fn new_scope(sandbox: &Sandbox, policy: &SandboxPolicy) {
    let host = sandbox.start(policy).await.unwrap();
    run(&host, policy, &["/bin/true"]).await;
}

/// Until the shells have been started, and have had a moment to get to where they wait. Everyone waits
/// like this: after a pause even a bare process takes longer.
async fn until_ready(host: &SandboxHost) {
    while host.warm_shells() < SHELLS {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    tokio::time::sleep(Duration::from_millis(4)).await;
}

/// Those processes of the cells that do not share the host's memory.
fn memory(host: &SandboxHost) -> Vec<u64> {
    let inside = children(host.pid()).into_iter().flat_map(children);
    let commands = inside.flat_map(children);
    commands
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "bash\n")
        })
        .filter_map(pss)
        .collect()
}

/// With every shell ready at each call, as between the calls of someone who thinks.
async fn latency(warm: &SandboxHost, cold: &SandboxHost, policy: &SandboxPolicy) {
    let mut times: [Vec<Duration>; 6] = Default::default();
    for _ in 0..ROUNDS {
        until_ready(warm).await;
        times[0].push(timed(run_bare()).await);
        until_ready(warm).await;
        times[1].push(timed(run_blocking()).await);
        for (index, host, script) in [
            (2, warm, BUILTIN),
            (3, cold, BUILTIN),
            (4, warm, EXTERNAL),
            (5, cold, EXTERNAL),
        ] {
            until_ready(warm).await;
            times[index].push(timed(run(host, policy, &script)).await);
        }
    }
    let [bare, blocking, warm, cold, warm_external, cold_external] =
        times.map(|mut times| median(&mut times).as_secs_f64());
    println!("p50, and share of the faster bare process:");
    for (name, time) in [
        ("posix_spawn of true, from tokio", bare),
        ("posix_spawn of true, in a thread", blocking),
        ("builtin, warm", warm),
        ("builtin, new shell", cold),
        ("one program, warm", warm_external),
        ("one program, new shell", cold_external),
    ] {
        let (micros, ratio) = (time * 1e6, time / bare.min(blocking));
        println!("  {name:34} {micros:6.0} µs  {ratio:.2}");
    }
    println!(
        "one program, warm ÷ new: {:.2}",
        warm_external / cold_external
    );
}

/// One call after the other without a pause: most shells are not ready yet.
async fn in_a_row(warm: &SandboxHost, cold: &SandboxHost, policy: &SandboxPolicy) {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..5 {
        for (index, host) in [(0, warm), (1, cold)] {
            for _ in 0..60 {
                times[index].push(timed(run(host, policy, &BUILTIN)).await);
            }
        }
    }
    let [warm, cold] = times.map(|mut times| median(&mut times).as_secs_f64());
    println!(
        "builtin, calls in a row, p50: warm {:.0} µs, new {:.0} µs ({:.2})",
        warm * 1e6,
        cold * 1e6,
        warm / cold
    );
}

async fn throughput(
    warm: &Arc<SandboxHost>,
    cold: &Arc<SandboxHost>,
    policy: &SandboxPolicy,
    callers: usize,
) {
    for (name, script) in [("builtin", BUILTIN), ("one program", EXTERNAL)] {
        let work = |host: &Arc<SandboxHost>| {
            let (host, policy) = (Arc::clone(host), policy.clone());
            move || {
                let (host, policy) = (Arc::clone(&host), policy.clone());
                async move { run(&host, &policy, &script).await }
            }
        };
        let (mut on, mut off) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            on.push(rate(callers, work(warm)).await);
            off.push(rate(callers, work(cold)).await);
        }
        let (on, off) = (middle(on), middle(off));
        println!(
            "{callers} callers, {name}, per second: warm shells on {on:.0}, off {off:.0} ({:.2})",
            on / off
        );
    }
}

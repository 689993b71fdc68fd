//! What taking in a flood costs: a gigabyte of output, beside draining the same pipe in a loop.
//!
//! `cargo bench -p ahma_core --bench output`. Both are run in turn; compare ratios, not times.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahma_core::config::Restrictions;
use ahma_core::internal::{CommandPlan, Executor, Guard, HostPool, SpoolPlace, WatchConfig};
use ahma_core::{OperationState, OperationStore, Retention};
use ahma_sandbox::{Input, PrivateDir, Sandbox, SandboxPolicy, become_host_if_asked};

const BYTES: u64 = 1_000_000_000;
const ROUNDS: usize = 5;

fn main() {
    become_host_if_asked();
    ahma_tests::without_the_libraries_of_cargo();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let scope = root.join("scope");
    std::fs::create_dir(&scope).unwrap();
    let session = PrivateDir::create(&root).unwrap();
    let policy = SandboxPolicy::new(&scope, session.path());
    let sandbox = Sandbox::new(std::env::current_exe().unwrap()).unwrap();
    let hosts = Arc::new(HostPool::new(sandbox, policy));
    hosts.host(&Restrictions::default()).await.unwrap();

    for (name, script) in [
        ("no line ends", "head -c 1000000000 /dev/zero"),
        ("lines of one letter", "yes | head -c 1000000000"),
    ] {
        let (mut drained, mut taken, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            tokio::task::spawn_blocking(move || drain(script))
                .await
                .unwrap();
            drained.push(start.elapsed());

            // A store of its own, so that the disk is given back.
            let spools = SpoolPlace::new(&root, Arc::default());
            let store = Arc::new(OperationStore::new(Retention::default(), spools));
            let policy = hosts.policy();
            let watch = WatchConfig::new(&policy.scope, &policy.protect);
            let guard = Arc::new(Guard::start().unwrap().watch(watch, None));
            let executor = Executor::new(Arc::clone(&hosts), store, guard, 4);
            let plan = CommandPlan {
                tool: "sandboxed_shell".to_owned(),
                kind: ahma_core::internal::CommandKind::Program,
                arguments: ["sh", "-c", script].map(Into::into).to_vec(),
                environment: Arc::new(vec![("PATH".into(), "/usr/bin:/bin".into())]),
                working_directory: scope.clone(),
                input: Input::Nothing,
                input_writer: None,
                deadline: Some(Duration::from_secs(600)),
                is_service: false,
                success_exit_codes: Vec::new(),
                output: Default::default(),
                events: None,
                restrictions: Restrictions::default(),
            };
            reset_peak();
            let before = memory("VmHWM:");
            let start = Instant::now();
            let operation = executor.start(plan, &"test".into()).unwrap();
            let completion = operation.ended().await;
            taken.push(start.elapsed());
            peaks.push(memory("VmHWM:") - before);
            assert_eq!(completion.state, OperationState::Completed);
            assert_eq!(operation.record().output_bytes, BYTES);
        }
        let [drained, taken] = [drained, taken].map(|mut times| {
            times.sort_unstable();
            times[ROUNDS / 2]
        });
        let ratio = taken.as_secs_f64() / drained.as_secs_f64();
        let peak = peaks.iter().max().unwrap();
        println!(
            "1 GB, {name}: drained in {drained:.0?}, taken in in {taken:.0?}: {ratio:.2} times; \
             peak extra memory {peak} kB"
        );
    }
}

fn drain(script: &str) {
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        match pipe.read(&mut buffer).unwrap() {
            0 => break,
            length => total += length as u64,
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(total, BYTES);
}

/// Makes the peak of this process its present memory.
fn reset_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

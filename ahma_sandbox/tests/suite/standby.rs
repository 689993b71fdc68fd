//! Host processes before they have a policy: one that waits for it, and those that are given up.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ahma_sandbox::{Network, PrewarmSpec, PrivateDir, Sandbox, SandboxHost};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

use ahma_tests::until_async;

use crate::support::{Bench, children, exists, host_program, patiently, unique_mark};

/// Starts hosts from a program of its own, by whose name its processes are known, zombies included.
struct Named {
    sandbox: Sandbox,
    name: String,
    /// Where standbys do their prewarm.
    own: PrivateDir,
    place: TempDir,
}

impl Named {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let name = unique_mark();
        let program: PathBuf = place.path().join(&name);
        // Linked, where that is possible: a program that was written a moment ago may still be open for writing.
        if fs::hard_link(host_program(), &program).is_err() {
            ahma_tests::copy_program(host_program(), &program);
        }
        Named {
            sandbox: Sandbox::new(program).unwrap(),
            name,
            own: PrivateDir::create(place.path()).unwrap(),
            place,
        }
    }

    fn prestart(&self) {
        self.sandbox.prestart(PrewarmSpec {
            network: Network::On,
            private_dir: self.own.path().to_owned(),
        });
    }

    /// The processes that were started, without those they started.
    fn processes(&self) -> Vec<u32> {
        let name = format!("({})", self.name);
        let server = std::process::id().to_string();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains(&name) && stat.split_whitespace().nth(3) == Some(&server)
        })
        .collect()
    }

    async fn until(&self, count: usize) {
        until_async(|| self.processes().len() == count).await;
    }

    async fn host(&self, bench: &Bench) -> SandboxHost {
        patiently(self.sandbox.start(&bench.policy)).await.unwrap()
    }
}

fn process(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

async fn code(host: &SandboxHost, bench: &Bench, script: &str) -> Option<i32> {
    run(host, bench, script).await.0
}

async fn run(host: &SandboxHost, bench: &Bench, script: &str) -> (Option<i32>, String) {
    let request = bench.request(&["sh", "-c", script]);
    let mut command = patiently(host.spawn(request)).await.unwrap();
    let mut output = String::new();
    let mut pipe = command.take_output().unwrap();
    patiently(pipe.read_to_string(&mut output)).await.unwrap();
    (patiently(command.exited()).await.unwrap().code, output)
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_becomes_the_next_host_and_is_confined_as_any_other() {
    let (bench, named) = (Bench::new().await, Named::new());
    for _ in 0..3 {
        named.prestart();
    }
    named.until(1).await;
    let standby = named.processes();
    let host = named.host(&bench).await;
    assert_eq!(vec![host.pid()], standby);
    // There was one only.
    assert_eq!(named.processes(), standby);
    assert_eq!(host.report(), bench.host.report());
    let secret = bench.outside.join("secret");
    let secret = secret.display();
    assert_eq!(
        code(&host, &bench, "echo x > own && cat own").await,
        Some(0)
    );
    assert_ne!(code(&host, &bench, &format!("cat {secret}")).await, Some(0));
    // It is another process each time.
    assert_ne!(named.host(&bench).await.pid(), host.pid());
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_shows_commands_the_same_files_as_any_other() {
    let (bench, named) = (Bench::new().await, Named::new());
    named.prestart();
    named.until(1).await;
    let standby = named.processes();
    let host = named.host(&bench).await;
    assert_eq!(vec![host.pid()], standby);
    // All that is mounted, and how, without the numbers of mounts and devices.
    let mounts = "cut -d' ' -f4- /proc/self/mountinfo | sed 's/ - / /' | sort";
    let usual = run(&bench.host, &bench, mounts).await;
    assert!(
        usual.1.contains("/usr") && usual.1.contains("/scope"),
        "{usual:?}"
    );
    assert_eq!(run(&host, &bench, mounts).await, usual);
    let files = "stat -c '%A %u %g %n' / /* /etc/* /dev/* /tmp/* /sys/*/*";
    let usual = run(&bench.host, &bench, files).await.1;
    assert!(usual.lines().count() > 20, "{usual}");
    assert_eq!(run(&host, &bench, files).await.1, usual);
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_is_not_used_where_it_would_hide_something_that_is_granted() {
    let (bench, named) = (Bench::new().await, Named::new());
    fs::write(named.place.path().join("granted"), "seen\n").unwrap();
    named.prestart();
    named.until(1).await;
    let standby = named.processes();
    let mut policy = bench.policy.clone();
    let place = named.place.path().canonicalize().unwrap();
    policy.read.push(place.clone());
    let host = patiently(named.sandbox.start(&policy)).await.unwrap();
    assert_ne!(vec![host.pid()], standby);
    let script = format!("cat {}/granted", place.display());
    assert_eq!(
        run(&host, &bench, &script).await,
        (Some(0), "seen\n".to_owned())
    );
    // It waits for another one.
    assert_eq!(vec![named.host(&bench).await.pid()], standby);
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_that_was_killed_costs_nobody_a_host() {
    let (bench, named) = (Bench::new().await, Named::new());
    named.prestart();
    named.until(1).await;
    let standby = named.processes()[0];
    assert!(
        bench
            .unconfined(&format!("kill -9 {standby}"))
            .status
            .success()
    );
    let host = named.host(&bench).await;
    assert_ne!(host.pid(), standby);
    assert_eq!(code(&host, &bench, "true").await, Some(0));
    // Nothing of the standby stays, not even a zombie.
    named.until(1).await;
    assert_eq!(named.processes(), [host.pid()]);
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_that_hangs_costs_nobody_a_host_and_does_not_stay() {
    let (bench, named) = (Bench::new().await, Named::new());
    named.prestart();
    named.until(1).await;
    let standby = named.processes()[0];
    // The process that would become the host, and the one around it.
    until_async(|| !children(standby).is_empty()).await;
    let inner = children(standby)[0];
    let stopped = bench.unconfined(&format!("kill -STOP {standby} {inner}"));
    assert!(stopped.status.success());
    let host = named.host(&bench).await;
    assert_ne!(host.pid(), standby);
    assert_eq!(code(&host, &bench, "true").await, Some(0));
    named.until(1).await;
    assert_eq!(named.processes(), [host.pid()]);
    until_async(|| !exists(&process(inner))).await;
    // So does one that is given up before it was needed.
    named.prestart();
    named.until(2).await;
    let standby = named.processes().into_iter().find(|pid| *pid != host.pid());
    let stopped = bench.unconfined(&format!("kill -STOP {}", standby.unwrap()));
    assert!(stopped.status.success());
    patiently(named.sandbox.stop_prestart()).await;
    assert_eq!(named.processes(), [host.pid()]);
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_does_not_wait_for_long() {
    let named = Named::new();
    named.prestart();
    named.until(1).await;
    let standby = named.processes()[0];
    until_async(|| !children(standby).is_empty()).await;
    let inner = children(standby)[0];
    named.until(0).await;
    until_async(|| !exists(&process(inner))).await;
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_for_something_else_is_replaced() {
    let named = Named::new();
    named.prestart();
    named.until(1).await;
    let first = named.processes();
    named.sandbox.prestart(PrewarmSpec {
        network: Network::Off,
        private_dir: named.own.path().to_owned(),
    });
    until_async(|| {
        let now = named.processes();
        now.len() == 1 && now != first
    })
    .await;
}

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_ends_when_it_is_not_wanted_any_more() {
    let named = Named::new();
    named.prestart();
    named.until(1).await;
    patiently(named.sandbox.stop_prestart()).await;
    assert_eq!(named.processes(), [0; 0]);
    // From then on there is none, and nothing to end.
    named.prestart();
    patiently(named.sandbox.stop_prestart()).await;
    assert_eq!(named.processes(), [0; 0]);
}

/// Proves: S21.
#[tokio::test]
async fn a_host_whose_start_is_given_up_leaves_no_process_behind() {
    let (bench, named) = (Bench::new().await, Named::new());
    for step in 0..40 {
        let timeout = Duration::from_micros(step * 300);
        let start = named.sandbox.start(&bench.policy);
        // Sooner or later it is ready.
        let _ = tokio::time::timeout(timeout, start).await;
    }
    named.until(0).await;
    // By somebody who has not heard yet that it has been started.
    for _ in 0..5 {
        let mut start = Box::pin(named.sandbox.start(&bench.policy));
        let is_pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(start.as_mut().poll(context).is_pending())
        });
        assert!(is_pending.await);
        named.until(1).await;
        drop(start);
        named.until(0).await;
    }
}

/// A disk that is mounted, a host that waits, and how many mounts of the disk it has before and after it is unmounted.
const UNMOUNTING: &str = r#"
    set -e
    mkdir disk
    mount -t tmpfs none disk
    mkfifo in out
    TMPDIR=$PWD "$0" --only-standby < in > out &
    exec 4> in
    read standby < out
    inner=
    while test -z "$inner"; do inner=$(cat /proc/$standby/task/*/children); done
    held() { grep -c " $PWD/disk " /proc/${inner% }/mountinfo || true; }
    held
    umount disk
    held
"#;

/// Proves: S49.
#[tokio::test]
async fn a_standby_host_does_not_keep_what_is_unmounted() {
    let place = TempDir::new().unwrap();
    let mut shell = std::process::Command::new("unshare");
    shell.args(["-Urm", "--propagation", "shared", "sh", "-c", UNMOUNTING]);
    let output = shell.arg(host_program()).current_dir(place.path()).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        told,
        "1\n0\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

//! What the kernel counts for a whole user or for the machine, and how little of it a command takes.

use crate::support::{Bench, children, patiently, read_line};

fn number(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap();
    text.trim().parse().unwrap()
}

/// A program that makes things until it is refused one, and prints how many it has.
fn as_many_as_possible(make: &str) -> String {
    format!(
        "import os, ctypes, time\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         count = 0\n\
         try:\n\
         \x20   while count < 1000000:\n\
         \x20       {make}\n\
         \x20       count += 1\n\
         except OSError: pass\n\
         print(count, flush=True)\n"
    )
}

/// Empty files take memory of the kernel that no size limits.
///
/// Proves: S50.
#[tokio::test]
async fn files_in_memory_are_counted() {
    let bench = Bench::new().await;
    for (directory, most) in [("/tmp", 65536), ("/dev/shm", 8192)] {
        let make = format!("os.mknod('{directory}/%d' % count)");
        let done = bench.python(&as_many_as_possible(&make)).await;
        let count: u64 = done.output.trim().parse().unwrap();
        assert!((most / 2..most).contains(&count), "{directory}: {done:?}");
    }
}

/// Proves: S50.
#[tokio::test]
async fn a_command_leaves_watches_for_files_to_others_of_the_user() {
    let bench = Bench::new().await;
    let of_user = number("/proc/sys/fs/inotify/max_user_instances");
    let make = "if libc.inotify_init() < 0: raise OSError";
    let script = as_many_as_possible(make) + "time.sleep(100)\n";
    let mut command = bench
        .spawn(&["/usr/bin/python3", "-c", &script])
        .await
        .unwrap();
    let mut output = command.take_output().unwrap();
    let count: u64 = read_line(&mut output).await.parse().unwrap();
    assert_eq!(count, of_user / 4);
    // While it holds them.
    rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::empty()).unwrap();
    command.kill();
    patiently(command.gone()).await;
}

/// Descriptors that are under way count for the user, and the server could not pass any to a command.
///
/// Proves: S50.
#[tokio::test]
async fn a_command_may_open_half_as_many_files_as_its_server() {
    let bench = Bench::with(|policy| policy.limits.open_files = u64::MAX).await;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|it| it.starts_with("Max open files"));
    let of_server: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    let limit = bench
        .python("import resource; print(resource.getrlimit(7)[1])")
        .await;
    assert_eq!(limit.output.trim(), (of_server / 2).to_string());
}

/// Where each command has its own count, that of all of them together must not keep one from starting a process.
///
/// Proves: S50.
#[tokio::test]
async fn one_command_with_many_processes_does_not_keep_others_from_theirs() {
    let bench = Bench::new().await;
    let ask = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))";
    let outside = bench.unconfined(&format!("/usr/bin/python3 -c '{ask}'"));
    let inside = bench.python(ask).await;
    assert_eq!(inside.output, String::from_utf8_lossy(&outside.stdout));
}

/// Proves: S50.
#[tokio::test]
async fn commands_are_the_first_to_go_when_memory_runs_out() {
    let bench = Bench::new().await;
    let adjustment = bench.sh("cat /proc/self/oom_score_adj").await;
    assert_eq!(adjustment.output, "500\n");
    let lowered = bench.sh("echo 0 > /proc/self/oom_score_adj").await;
    assert!(!lowered.succeeded(), "{lowered:?}");
    assert!(number("/proc/self/oom_score_adj") < 500);
    for host in children(bench.host.pid()) {
        assert_eq!(number(&format!("/proc/{host}/oom_score_adj")), 500);
    }
}

/// Proves: S51.
#[tokio::test]
async fn a_crash_leaves_no_dump_and_programs_that_want_none_are_content() {
    let bench = Bench::new().await;
    let script = "ulimit -c 0 && ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls";
    let crashed = bench.sh(script).await;
    assert!(!crashed.output.contains("core"), "{crashed:?}");
    let asked = bench
        .python(
            "import resource as r\n\
             r.setrlimit(r.RLIMIT_CORE, (0, 0))\n\
             print(r.getrlimit(r.RLIMIT_CORE), r.setrlimit(r.RLIMIT_NOFILE, (64, 64)), r.getrlimit(7))",
        )
        .await;
    assert_eq!(asked.output, "(1, 1) None (64, 64)\n");
}

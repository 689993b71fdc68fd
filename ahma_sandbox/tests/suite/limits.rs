//! Upper limits of what a command takes from the machine.

use crate::support::{Bench, patiently, processes_marked, read_line, unique_mark};

#[tokio::test]
async fn a_command_can_change_its_own_limits_and_priority_and_no_others() {
    let bench = Bench::new().await;
    // pid 1 is the supervisor: the nearest process that is not the command's.
    for script in [
        "prlimit --pid 1 --nofile=64",
        "renice -n 5 -p 1",
        "taskset -p 1 1",
    ] {
        assert!(!bench.sh(script).await.succeeded(), "{script}");
    }
    for script in [
        "prlimit --nofile=64 true",
        "nice -n 5 true",
        "taskset 1 true",
    ] {
        assert!(bench.sh(script).await.succeeded(), "{script}");
    }
}

/// Proves: S28.
#[tokio::test]
async fn a_file_can_only_grow_to_its_limit() {
    let bench = Bench::with(|policy| policy.limits.file_bytes = 1 << 20).await;
    assert!(
        bench
            .sh("head -c 1000000 /dev/zero > small")
            .await
            .succeeded()
    );
    assert!(
        !bench
            .sh("head -c 3000000 /dev/zero > large")
            .await
            .succeeded()
    );
    assert_eq!(
        std::fs::metadata(bench.scope.join("large")).unwrap().len(),
        1 << 20
    );
}

/// Proves: S28.
#[tokio::test]
async fn a_fork_bomb_stays_within_its_limit_and_is_ended() {
    let bench = Bench::with(|policy| policy.limits.processes = Some(100)).await;
    let mark = unique_mark();
    let script = format!(
        "import os, time\n\
         count = 0\n\
         try:\n\
         \x20   while count < 2000:\n\
         \x20       if os.fork() == 0: os.execlp('sleep', 'sleep', '{mark}')\n\
         \x20       count += 1\n\
         except OSError as error: pass\n\
         print(count, flush=True)\n\
         time.sleep(100)"
    );
    let mut command = bench
        .spawn(&["/usr/bin/python3", "-c", &script])
        .await
        .unwrap();
    let mut output = command.take_output().unwrap();
    let count: usize = read_line(&mut output).await.parse().unwrap();
    // The program itself counts too.
    assert_eq!(count, 99);
    command.kill();
    patiently(command.gone()).await;
    assert_eq!(processes_marked(&mark), Vec::<String>::new());
    assert!(
        bench.sh("true & true & wait").await.succeeded(),
        "others are not affected"
    );
}

/// Proves: S28.
#[tokio::test]
async fn memory_is_limited_when_the_policy_says_so() {
    let bench = Bench::with(|policy| policy.limits.memory_bytes = Some(512 << 20)).await;
    assert!(bench.python("x = bytearray(64 << 20)").await.succeeded());
    assert!(!bench.python("x = bytearray(1 << 30)").await.succeeded());
}

/// A command started by a server that the operator allows less than we would.
fn under(limits: &str, script: &str) -> std::process::Output {
    let scope = tempfile::tempdir().unwrap();
    let program = crate::support::host_program();
    let line = format!(
        "{limits}; exec {} {} sh -c '{script}'",
        program.display(),
        scope.path().display()
    );
    std::process::Command::new("bash")
        .args(["-c", &line])
        .output()
        .unwrap()
}

#[test]
fn what_the_operator_allows_less_of_stays_at_that() {
    // Shells count the size of files in blocks of different sizes; what matters is that it ran.
    let output = under("ulimit -f 100000", "ulimit -f");
    assert!(!output.stdout.is_empty(), "{output:?}");
    let output = under("ulimit -n 1000", "ulimit -n");
    assert_eq!(output.stdout, b"500\n", "{output:?}");
}

#[tokio::test]
async fn a_process_that_asks_to_be_traced_has_not_ended() {
    let bench = Bench::new().await;
    let script = "import ctypes, os, signal, time\n\
                  if os.fork() == 0:\n\
                  \x20   time.sleep(0.1); os.kill(os.getppid(), signal.SIGKILL); os._exit(0)\n\
                  ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n\
                  os.kill(os.getpid(), signal.SIGSTOP)\n";
    let exit = bench.exit_of(&["/usr/bin/python3", "-c", script]).await;
    assert_eq!(exit.unwrap().signal, Some(9), "not the stop before it");
}

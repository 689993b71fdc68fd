//! Cells are used again and again, and no command notices another's use.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ahma_sandbox::{Exit, RunningCommand};

use crate::support::{
    Bench, children, finish, patiently, read_line, unique_mark, until_none_marked,
};

/// The pid namespace a command runs in.
const CELL: &str = "readlink /proc/self/ns/pid";

/// The first processes of all cells.
fn inits(bench: &Bench) -> Vec<u32> {
    let host = children(bench.host.pid());
    assert_eq!(host.len(), 1);
    children(host[0])
}

async fn busy(bench: &Bench) -> RunningCommand {
    let mut command = bench
        .spawn(&["sh", "-c", "echo up; exec sleep 100"])
        .await
        .unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    command
}

/// Proves: S1, S31.
#[tokio::test]
async fn a_cell_is_used_again_when_nothing_is_left_in_it() {
    let bench = Bench::new().await;
    let mut cells = BTreeSet::new();
    for _ in 0..40 {
        cells.insert(bench.sh(CELL).await.output);
    }
    assert!(cells.len() <= 8, "{cells:?}");
}

/// Proves: S31.
#[tokio::test]
async fn commands_that_run_at_the_same_time_have_different_cells() {
    let bench = Bench::new().await;
    let mut running = Vec::new();
    for _ in 0..12 {
        let script = format!("{CELL}; exec sleep 100");
        let mut command = bench.spawn(&["sh", "-c", &script]).await.unwrap();
        let mut output = command.take_output().unwrap();
        let cell = read_line(&mut output).await;
        running.push((cell, command));
    }
    let different: BTreeSet<&String> = running.iter().map(|(cell, _)| cell).collect();
    assert_eq!(different.len(), 12);
}

/// Proves: S31.
#[tokio::test]
async fn nothing_of_a_command_is_left_for_the_next_one() {
    let bench = Bench::new().await;
    let look = "umask; ulimit -a; cat /proc/self/oom_score_adj; nice; pwd; env | sort; \
                cut -d' ' -f4- /proc/self/mountinfo; ls /proc/self/fd; ls /dev/shm; \
                cat /proc/self/coredump_filter; cat /proc/self/timerslack_ns; \
                grep -E 'Sig|Cap|Groups|NoNew|Seccomp:' /proc/self/status; taskset -p $$ | cut -d: -f2; \
                set -- /proc/[0-9]*; echo $#";
    let fresh = bench.sh(look).await;
    assert!(fresh.succeeded(), "{fresh:?}");
    let meddle = "umask 0; ulimit -n 64; echo 500 > /proc/self/oom_score_adj; \
                  echo 7 > /proc/self/coredump_filter; renice -n 10 -p 0; cd /; export MEDDLED=1; \
                  trap '' TERM INT HUP PIPE; taskset -p 1 $$; mount -t tmpfs none /tmp; hostname x; \
                  sysctl -w kernel.pid_max=500; exec 7</dev/null; kill -9 $$";
    for _ in 0..12 {
        bench.sh(meddle).await;
        assert_eq!(bench.sh(look).await, fresh);
    }
}

/// Proves: S31.
#[tokio::test]
async fn background_processes_are_gone_before_the_cell_is_used_again() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    for _ in 0..10 {
        let mut command = bench
            .spawn(&[
                "sh",
                "-c",
                &format!("(setsid sleep {mark} >/dev/null 2>&1 &); true"),
            ])
            .await
            .unwrap();
        patiently(command.exited()).await.unwrap();
        let others = bench.sh("set -- /proc/[0-9]*; echo $#").await;
        assert_eq!(others.output, "2\n", "pid 1 and the shell");
        drop(command);
    }
    until_none_marked(&mark).await;
}

/// Proves: S31.
#[tokio::test]
async fn a_late_signal_does_not_reach_the_next_command() {
    let bench = Bench::new().await;
    for _ in 0..200 {
        // Stopped at every moment between before its start and after its end.
        let mut first = bench.spawn(&["true"]).await.unwrap();
        first.terminate();
        let second = bench.spawn(&["sh", "-c", "echo alive"]).await.unwrap();
        first.kill();
        let third = bench.spawn(&["sh", "-c", "echo alive"]).await.unwrap();
        for command in [second, third] {
            let done = finish(command).await;
            assert_eq!((done.output.as_str(), done.succeeded()), ("alive\n", true));
        }
        patiently(first.gone()).await;
    }
}

#[tokio::test]
async fn a_killed_command_is_reported_as_killed() {
    let bench = Bench::new().await;
    let mut command = busy(&bench).await;
    command.kill();
    let killed = Exit {
        code: None,
        signal: Some(9),
    };
    assert_eq!(patiently(command.exited()).await, Ok(killed));
    patiently(command.gone()).await;
    // A second time there is nothing to do, and nothing happens.
    command.kill();
    assert_eq!(bench.sh("echo on").await.output, "on\n");
}

#[tokio::test]
async fn an_init_that_is_killed_costs_only_its_own_command() {
    let bench = Bench::new().await;
    let mut command = busy(&bench).await;
    let other = busy(&bench).await;
    let sleeps = |init: &u32| {
        let line = |pid| fs::read_to_string(format!("/proc/{pid}/cmdline"));
        let mut commands = children(*init).into_iter();
        commands.any(|pid| line(pid).is_ok_and(|line| line.starts_with("sleep")))
    };
    let init = patiently(async {
        loop {
            if let Some(init) = inits(&bench).into_iter().find(sleeps) {
                break init;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(
        bench
            .unconfined(&format!("kill -9 {init}"))
            .status
            .success()
    );
    let mut other = other;
    let ended = tokio::select! {
        exit = patiently(command.exited()) => exit,
        exit = patiently(other.exited()) => exit,
    };
    assert_eq!(ended.unwrap().signal, Some(9));
    assert_eq!(bench.sh("echo on").await.output, "on\n");
    assert!(!bench.host.is_gone());
}

/// Proves: S31.
#[tokio::test]
async fn cells_that_are_not_needed_any_more_are_given_up() {
    let bench = Bench::new().await;
    let mut running = Vec::new();
    for _ in 0..20 {
        running.push(busy(&bench).await);
    }
    assert!(inits(&bench).len() >= 20);
    drop(running);
    patiently(async {
        while inits(&bench).len() > 4 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(bench.sh("echo on").await.output, "on\n");
}

#[tokio::test]
async fn thousands_of_commands_from_many_callers_end_as_they_should() {
    let bench = Arc::new(Bench::new().await);
    let callers: Vec<_> = (0..32)
        .map(|caller| tokio::spawn(many_commands(Arc::clone(&bench), caller * 1000)))
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

async fn many_commands(bench: Arc<Bench>, first: i32) {
    for number in first..first + 60 {
        let code = number % 100;
        match number % 4 {
            0 => {
                let missing = bench.exit_of(&["no-such-program"]).await;
                assert!(missing.is_err(), "{missing:?}");
            }
            1 => {
                let script = format!("exit {code}");
                let exit = bench.exit_of(&["sh", "-c", &script]).await;
                assert_eq!(exit.unwrap().code, Some(code));
            }
            2 => {
                let mut command = busy(&bench).await;
                command.kill();
                assert_eq!(patiently(command.exited()).await.unwrap().signal, Some(9));
                patiently(command.gone()).await;
            }
            _ => {
                let done = bench.run(&["echo", &code.to_string()]).await;
                assert_eq!(done.output, format!("{code}\n"));
            }
        }
    }
}

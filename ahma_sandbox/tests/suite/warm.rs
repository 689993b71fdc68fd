//! Shells that wait for scripts: there before the call, used once, and otherwise as any command.

mod ends;
mod same_as_new;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use ahma_sandbox::{
    CommandRequest, Input, LaunchStep, Layer, NoExit, RunningCommand, SandboxPolicy,
};
use ahma_tests::processes_below;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Bench, Done, exists, finish, finish_or_not, patiently, processes_marked, read_line, unique_mark,
};

/// A bench with so many shells waiting.
async fn warm(count: usize) -> Bench {
    warm_with(count, |_| {}).await
}

async fn warm_with(count: usize, change: impl FnOnce(&mut SandboxPolicy)) -> Bench {
    let bench = Bench::with(change).await;
    let environment = bench.request(&[]).environment;
    bench.host.keep_warm(count, "bash".into(), environment);
    until_warm(&bench, count).await;
    bench
}

/// Waits until so many shells have been started, and each has come to where it waits.
async fn until_warm(bench: &Bench, count: usize) {
    patiently(async {
        while bench.host.warm_shells() < count || shells(bench).len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// The pids, on the machine, of the shells that wait in the cells of a bench.
fn shells(bench: &Bench) -> BTreeSet<u32> {
    processes_below(bench.host.pid())
        .into_iter()
        .filter(|pid| {
            let about = |file| fs::read_to_string(format!("/proc/{pid}/{file}"));
            about("cmdline").is_ok_and(|line| line.starts_with("bash\0-c\0read"))
                && about("syscall").is_ok_and(|call| call.starts_with("0 0x4 "))
        })
        .collect()
}

fn script(bench: &Bench, script: &str) -> CommandRequest {
    bench.request(&["bash", "-c", "--", script])
}

async fn spawn(bench: &Bench, request: CommandRequest) -> RunningCommand {
    patiently(bench.host.spawn(request)).await.unwrap()
}

/// As a server does: by a shell, where the program was not to be had without one.
async fn run(bench: &Bench, text: &str) -> Done {
    let command = spawn(bench, script(bench, text)).await;
    match finish_or_not(command).await {
        Err(NoExit::NeverStarted) => run_by_shell(bench, text).await,
        done => done.unwrap(),
    }
}

async fn run_by_shell(bench: &Bench, text: &str) -> Done {
    let spawning = bench.host.spawn_by_shell(script(bench, text));
    finish(patiently(spawning).await.unwrap()).await
}

/// The process that a script has become.
async fn becomes(bench: &Bench, request: CommandRequest, mark: &str) -> u32 {
    let mut command = spawn(bench, request).await;
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    let found = patiently(async {
        loop {
            let found = processes_marked(&format!("sleep {mark}"));
            if let [line] = found.as_slice()
                && !line.contains("bash")
            {
                return line.clone();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    command.kill();
    patiently(command.gone()).await;
    found.split_once(' ').unwrap().0.parse().unwrap()
}

fn stay(mark: &str) -> String {
    format!("echo up; exec sleep {mark}")
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Proves: S1.
#[tokio::test]
async fn a_script_runs_in_a_shell_that_was_there_before_the_call() {
    let bench = warm(1).await;
    let before = shells(&bench);
    let mark = unique_mark();
    let pid = becomes(&bench, script(&bench, &stay(&mark)), &mark).await;
    assert_eq!(BTreeSet::from([pid]), before);
}

#[tokio::test]
async fn what_is_no_script_or_not_in_the_usual_environment_gets_a_process_of_its_own() {
    let bench = warm(1).await;
    let before = shells(&bench);
    let usual = |mark: &str| script(&bench, &stay(mark));
    let mut another = usual("1");
    let changes: [fn(&mut CommandRequest); 4] = [
        |request| request.environment.push(("MORE".into(), "1".into())),
        |request| request.input = Input::Bytes(b"text".to_vec()),
        |request| request.arguments[0] = "sh".into(),
        |request| {
            request.arguments.remove(2);
        },
    ];
    for change in changes {
        let mark = unique_mark();
        another.clone_from(&usual(&mark));
        change(&mut another);
        let pid = becomes(&bench, another.clone(), &mark).await;
        assert!(!before.contains(&pid), "{another:?}");
    }
    assert_eq!(shells(&bench), before);
}

/// Proves: S39.
#[tokio::test]
async fn each_shell_is_used_once_and_another_takes_its_place() {
    let bench = warm(2).await;
    let mut used = BTreeSet::new();
    for _ in 0..6 {
        until_warm(&bench, 2).await;
        let mark = unique_mark();
        let pid = becomes(&bench, script(&bench, &stay(&mark)), &mark).await;
        assert!(used.insert(pid), "{pid} was used twice");
    }
}

/// Proves: S39.
#[tokio::test]
async fn nothing_of_a_script_is_left_for_the_next_one() {
    let bench = warm(1).await;
    let look = "pwd; umask; ulimit -a; set | grep -v -E '^(EPOCH|RANDOM|SRANDOM|SECONDS|_=|PIPESTATUS)'; \
                trap; alias; shopt; set -o; (cd /proc/$$/fd && echo *); ls /dev/shm";
    // Without the dashes it is none of those that a warm shell takes.
    let fresh = bench.run(&["bash", "-c", look]).await;
    assert!(fresh.succeeded(), "{fresh:?}");
    let meddle = "cd /; umask 0; ulimit -n 64; export MEDDLED=1; echo() { exit 3; }; export -f echo; \
                  trap 'exit 4' EXIT TERM; set -eu; shopt -s extglob; alias ls=false; exec 7</dev/null; \
                  PATH=/nowhere; IFS=x; read";
    for _ in 0..4 {
        until_warm(&bench, 1).await;
        run(&bench, meddle).await;
        until_warm(&bench, 1).await;
        assert_eq!(run(&bench, look).await, fresh);
    }
}

#[tokio::test]
async fn who_runs_script_after_script_finds_more_shells_waiting() {
    let bench = warm(2).await;
    until_warm(&bench, 2).await;
    for _ in 0..12 {
        run(&bench, "true").await;
    }
    until_warm(&bench, 4).await;
}

/// Proves: S39.
#[tokio::test]
async fn every_directory_of_the_scope_is_warm_and_long_scripts_run_too() {
    let bench = warm(1).await;
    let directory = bench.scope.join("a 'directory'\nwith $(odd) \"name\"");
    fs::create_dir(&directory).unwrap();
    for (length, is_warm) in [(7_000, true), (100_000, false)] {
        until_warm(&bench, 1).await;
        let before = shells(&bench);
        let text = format!("pwd; #{}\necho end", "x".repeat(length));
        let mut request = script(&bench, &text);
        request.directory.clone_from(&directory);
        let done = finish(spawn(&bench, request).await).await;
        assert_eq!(done.output, format!("{}\nend\n", directory.display()));
        let is_used = shells(&bench) != before;
        assert_eq!(is_used, is_warm, "{length}");
    }
    // One program, elsewhere.
    until_warm(&bench, 1).await;
    let mut request = script(&bench, "cat here");
    request.directory.clone_from(&directory);
    fs::write(directory.join("here"), "found\n").unwrap();
    assert_eq!(finish(spawn(&bench, request).await).await.output, "found\n");
}

#[tokio::test]
async fn a_script_that_a_shell_might_misread_gets_a_new_one() {
    let bench = Bench::new().await;
    let mut environment = bench.request(&[]).environment;
    environment.retain(|(name, _)| name != "LANG");
    environment.push(("LANG".into(), "zh_CN.GBK".into()));
    bench.host.keep_warm(1, "bash".into(), environment.clone());
    until_warm(&bench, 1).await;
    let before = shells(&bench);
    let mut request = script(&bench, "echo ä");
    request.environment.clone_from(&environment);
    let done = finish(spawn(&bench, request).await).await;
    assert_eq!(
        (done.output.as_str(), shells(&bench)),
        ("ä\n", before.clone())
    );
    let mut plain = script(&bench, "echo a");
    plain.environment = environment;
    let done = finish(spawn(&bench, plain).await).await;
    assert_eq!(done.output, "a\n");
    assert!(shells(&bench).is_disjoint(&before));
}

/// Proves: S40.
#[tokio::test]
async fn a_burst_beyond_the_warm_shells_is_served_all_the_same() {
    let bench = warm(2).await;
    let mut running = Vec::new();
    for number in 0..12 {
        let request = script(&bench, &format!("echo {number}; exit {number}"));
        running.push(spawn(&bench, request).await);
    }
    for (number, command) in (0..).zip(running) {
        let done = finish(command).await;
        assert_eq!(done.output, format!("{number}\n"));
        assert_eq!(done.exit.code, Some(number));
    }
}

/// Proves: S40.
#[tokio::test]
async fn no_shell_is_started_while_the_cores_have_enough_to_do() {
    let bench = warm(1).await;
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut busy = Vec::new();
    for _ in 0..cores {
        let mut command = bench
            .spawn(&["sh", "-c", "echo up; exec sleep 100"])
            .await
            .unwrap();
        let mut output = command.take_output().unwrap();
        assert_eq!(read_line(&mut output).await, "up");
        busy.push(command);
    }
    run(&bench, "true").await;
    // More than the time after which a shell would have been replaced, many times over.
    for _ in 0..20 {
        assert_eq!(run(&bench, "echo cold").await.output, "cold\n");
        assert_eq!(bench.host.warm_shells(), 0);
    }
    drop(busy.pop());
    until_warm(&bench, 1).await;
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_named_and_nothing_runs() {
    for (directory, errno) in [("missing", libc::ENOENT), ("file", libc::ENOTDIR)] {
        let bench = warm(1).await;
        fs::write(bench.scope.join("file"), "").unwrap();
        let mut request = script(&bench, &format!("touch {}/ran", bench.scope.display()));
        request.directory = bench.scope.join(directory).join("below");
        let mut command = spawn(&bench, request).await;
        let exit = patiently(command.exited()).await;
        let step = LaunchStep::WorkingDirectory;
        assert_eq!(exit, Err(NoExit::NotStarted { step, errno }));
        assert!(!exists(&bench.scope.join("ran")));
    }
}

#[tokio::test]
async fn an_exit_code_of_127_is_the_scripts_own() {
    let bench = warm(1).await;
    let done = run(&bench, "echo x; exit 127").await;
    assert_eq!((done.output.as_str(), done.exit.code), ("x\n", Some(127)));
}

#[tokio::test]
async fn a_directory_outside_the_scope_is_refused() {
    let bench = warm(1).await;
    let mut request = script(&bench, "pwd");
    request.directory.clone_from(&bench.outside);
    let mut command = spawn(&bench, request).await;
    let exit = patiently(command.exited()).await;
    let (step, errno) = (LaunchStep::WorkingDirectory, libc::EACCES);
    assert_eq!(exit, Err(NoExit::NotStarted { step, errno }));
}

#[tokio::test]
async fn without_a_bash_every_script_gets_the_usual_answer() {
    let bench = Bench::new().await;
    let mut request = script(&bench, "echo x");
    request.environment = vec![("PATH".into(), "/nowhere".into())];
    bench
        .host
        .keep_warm(2, "bash".into(), request.environment.clone());
    for _ in 0..5 {
        let mut command = spawn(&bench, request.clone()).await;
        let exit = patiently(command.exited()).await;
        let (step, errno) = (LaunchStep::Execute, libc::ENOENT);
        assert_eq!(exit, Err(NoExit::NotStarted { step, errno }));
    }
}

/// Proves: S39.
#[tokio::test]
async fn a_waiting_shell_is_already_confined() {
    let bench = warm(1).await;
    let shell = *shells(&bench).first().unwrap();
    let status = fs::read_to_string(format!("/proc/{shell}/status")).unwrap();
    let value = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(value("NoNewPrivs:"), "1");
    assert_eq!(value("Seccomp:"), "2");
    for set in ["CapPrm:", "CapEff:", "CapInh:", "CapBnd:", "CapAmb:"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    let secret = bench.outside("secret");
    assert!(!run(&bench, &format!("cat {secret}")).await.succeeded());
    until_warm(&bench, 1).await;
    let written = run(&bench, &format!("echo x > {secret}")).await;
    assert!(!written.succeeded());
    assert!(bench.unconfined(&format!("cat {secret}")).status.success());
}

#[tokio::test]
async fn shells_are_warm_without_namespaces_and_by_fork_too() {
    let forking = |policy: &mut SandboxPolicy| policy.launch = ahma_sandbox::Launch::Fork;
    let bare = |policy: &mut SandboxPolicy| policy.without = vec![Layer::Namespaces];
    for bench in [warm_with(1, forking).await, warm_with(1, bare).await] {
        let before = shells(&bench);
        let mark = unique_mark();
        let pid = becomes(&bench, script(&bench, &stay(&mark)), &mark).await;
        assert_eq!(BTreeSet::from([pid]), before);
        until_warm(&bench, 1).await;
        let secret = bench.outside("secret");
        assert!(!run(&bench, &format!("cat {secret}")).await.succeeded());
    }
}

//! Processes: none but the command's own can be seen or touched, and none of them survives it.

use std::time::Duration;

use ahma_sandbox::{Input, LaunchStep, NoExit, SpawnError};

use crate::support::{
    Bench, finish, host_program, patiently, processes_marked, read_line, unique_mark, until_marked,
    until_none_marked,
};

/// Proves: S20.
#[tokio::test]
async fn a_command_sees_only_its_own_processes() {
    let bench = Bench::new().await;
    let mine = std::process::id();
    let done = bench.sh("ls /proc | grep -c '^[0-9]'").await;
    let seen: u32 = done.output.trim().parse().unwrap();
    assert!((1..12).contains(&seen), "{done:?}");
    let done = bench.sh(&format!("kill -0 {mine}")).await;
    assert!(!done.succeeded(), "{done:?}");
    assert!(
        bench
            .unconfined(&format!("kill -0 {mine}"))
            .status
            .success()
    );
}

/// Proves: S20.
#[tokio::test]
async fn the_supervisor_cannot_be_touched() {
    let bench = Bench::new().await;
    for script in [
        "kill -0 1",
        "cat /proc/1/environ",
        "readlink /proc/1/fd/0",
        "cat /proc/1/maps",
    ] {
        let done = bench.sh(script).await;
        assert!(!done.succeeded(), "{script}: {done:?}");
    }
    let traced = bench
        .python("import ctypes;l=ctypes.CDLL(None,use_errno=True);print(l.ptrace(16,1,0,0),ctypes.get_errno())")
        .await;
    assert!(traced.output.starts_with("-1 "), "{traced:?}");
}

/// Proves: S20.
#[tokio::test]
async fn two_commands_cannot_reach_each_other() {
    let bench = Bench::new().await;
    let mut other = bench
        .spawn(&["sh", "-c", "echo up; exec sleep 100"])
        .await
        .unwrap();
    let mut output = other.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    let look = "for it in /proc/[0-9]*; do tr '\\0' ' ' < $it/cmdline; echo; done 2>/dev/null";
    let seen = bench.sh(look).await.output;
    assert!(!seen.contains("sleep 100"), "{seen}");
    assert!(seen.contains("for it in"), "it sees itself: {seen}");
    other.kill();
    patiently(other.gone()).await;
}

#[tokio::test]
async fn exit_codes_and_signals_are_those_of_the_command() {
    let bench = Bench::new().await;
    assert_eq!(bench.sh("exit 7").await.exit.code, Some(7));
    assert_eq!(bench.sh("kill -TERM $$").await.exit.signal, Some(15));
    assert_eq!(bench.sh("kill -9 $$").await.exit.signal, Some(9));
    assert_eq!(
        bench.python("import os; os.abort()").await.exit.signal,
        Some(6)
    );
}

/// Proves: S2.
#[tokio::test]
async fn output_and_errors_come_in_the_order_they_were_written() {
    let bench = Bench::new().await;
    let done = bench
        .sh("for i in 1 2 3; do echo out$i; echo err$i >&2; done # 2>/dev/null")
        .await;
    assert_eq!(done.output, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
}

#[tokio::test]
async fn standard_input_is_empty_or_what_was_given() {
    let bench = Bench::new().await;
    assert_eq!(bench.sh("cat; echo end").await.output, "end\n");
    let mut request = bench.request(&["cat"]);
    let text = "x".repeat(300_000);
    request.input = Input::Bytes(text.clone().into_bytes());
    let done = finish(bench.host.spawn(request).await.unwrap()).await;
    assert_eq!(done.output, text);
}

/// Proves: S22.
#[tokio::test]
async fn a_program_that_does_not_exist_is_not_started() {
    let bench = Bench::new().await;
    const NOT_FOUND: i32 = 2;
    const NOT_PERMITTED: i32 = 13;
    for (program, errno) in [
        ("no-such-program", NOT_FOUND),
        ("/no/such/program", NOT_FOUND),
        ("/etc/passwd", NOT_PERMITTED),
    ] {
        let step = LaunchStep::Execute;
        assert_eq!(
            bench.exit_of(&[program]).await,
            Err(NoExit::NotStarted { step, errno }),
            "{program}"
        );
    }
    let status = bench.sh("no-such-program").await.exit.code;
    assert_eq!(
        status,
        Some(127),
        "a shell's own 127 is an exit code, not a failure to start"
    );
}

/// Proves: S6.
#[tokio::test]
async fn a_working_directory_outside_is_not_entered() {
    let bench = Bench::new().await;
    let mut request = bench.request(&["pwd"]);
    request.directory = bench.outside.clone();
    let mut command = patiently(bench.host.spawn(request)).await.unwrap();
    const NOT_FOUND: i32 = 2;
    assert_eq!(
        patiently(command.exited()).await,
        Err(NoExit::NotStarted {
            step: LaunchStep::WorkingDirectory,
            errno: NOT_FOUND
        })
    );
}

#[tokio::test]
async fn large_arguments_and_environments_arrive_whole() {
    let bench = Bench::new().await;
    let long = "a".repeat(100_000);
    let done = bench
        .run(&[
            "sh",
            "-c",
            "printf %s \"$1$2$3\" | wc -c",
            "sh",
            &long,
            &long,
            &long,
        ])
        .await;
    assert_eq!(done.output.trim(), "300000");
    let too_long = "a".repeat(200_000);
    const TOO_BIG: i32 = 7;
    assert_eq!(
        bench.exit_of(&["echo", &too_long]).await,
        Err(NoExit::NotStarted {
            step: LaunchStep::Execute,
            errno: TOO_BIG
        })
    );
    let enormous = "a".repeat(5 * 1024 * 1024);
    let refused = bench.spawn(&["echo", &enormous]).await;
    assert!(
        matches!(refused, Err(SpawnError::BadRequest(_))),
        "{:?}",
        refused.map(|_| "started")
    );
}

/// Proves: S21.
#[tokio::test]
async fn killing_a_command_ends_daemons_and_everything_else_of_it() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    let script = format!(
        "trap '' TERM HUP INT; for i in 1 2 3 4 5; do sleep {mark} & (setsid sleep {mark} &) ; \
         nohup sleep {mark} >/dev/null 2>&1 & done; echo up; wait"
    );
    let mut command = bench.spawn(&["sh", "-c", &script]).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    until_marked(&mark, 15).await;
    command.kill();
    patiently(command.gone()).await;
    assert_eq!(processes_marked(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_background_process_does_not_hide_the_end_of_the_command() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    let mut command = bench
        .spawn(&["sh", "-c", &format!("sleep {mark} & echo hi")])
        .await
        .unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "hi");
    assert_eq!(patiently(command.exited()).await.unwrap().code, Some(0));
    until_marked(&mark, 1).await;
    command.kill();
    patiently(command.gone()).await;
    assert_eq!(processes_marked(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_polite_end_is_asked_of_every_process() {
    let bench = Bench::new().await;
    let script = "trap 'echo main ended; exit 3' TERM; \
                  sh -c 'trap \"echo child ended; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & \
                  while :; do sleep 0.05; done";
    let mut command = bench.spawn(&["sh", "-c", script]).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "ready");
    command.terminate();
    let mut ended = Vec::new();
    while ended.len() < 2 {
        // Shells also say which of their children were ended.
        let line = read_line(&mut output).await;
        assert_ne!(line, "", "only {ended:?} ended");
        if line.ends_with(" ended") {
            ended.push(line);
        }
    }
    ended.sort();
    assert_eq!(ended, ["child ended", "main ended"]);
    assert_eq!(patiently(command.exited()).await.unwrap().code, Some(3));
    patiently(command.gone()).await;
}

#[tokio::test]
async fn dropping_a_command_ends_it() {
    let bench = Bench::new().await;
    let mark = unique_mark();
    let mut command = bench
        .spawn(&["sh", "-c", &format!("sleep {mark} & echo up; wait")])
        .await
        .unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    until_marked(&mark, 1).await;
    drop(command);
    until_none_marked(&mark).await;
}

#[tokio::test]
async fn two_hundred_commands_at_once_are_all_confined() {
    let bench = Bench::new().await;
    let secret = bench.outside("secret");
    let mut running = Vec::new();
    for number in 0..200 {
        let script = format!("cat {secret} 2>/dev/null; echo {number} > f{number}; cat f{number}");
        running.push(bench.spawn(&["sh", "-c", &script]).await.unwrap());
    }
    for (number, command) in running.into_iter().enumerate() {
        assert_eq!(finish(command).await.output, format!("{number}\n"));
    }
}

#[tokio::test]
async fn no_namespace_no_mount_no_privilege_can_be_had() {
    let bench = Bench::new().await;
    for script in [
        "unshare -U true",
        "unshare -m true",
        "mount -t tmpfs none .",
        "mount --bind / .",
        "chroot . true",
        "su -c true",
        "sudo -n true",
    ] {
        assert!(!bench.sh(script).await.succeeded(), "{script}");
    }
    let status = bench
        .sh("grep -E 'NoNewPrivs|CapEff|CapBnd|Seccomp:' /proc/self/status")
        .await
        .output;
    assert_eq!(
        status.split_whitespace().collect::<Vec<_>>(),
        [
            "CapEff:",
            "0000000000000000",
            "CapBnd:",
            "0000000000000000",
            "NoNewPrivs:",
            "1",
            "Seccomp:",
            "2"
        ]
    );
}

#[tokio::test]
async fn no_descriptor_of_anyone_is_inherited() {
    let bench = Bench::new().await;
    let done = bench.sh("ls /proc/self/fd").await;
    assert_eq!(
        done.output.split_whitespace().collect::<Vec<_>>(),
        ["0", "1", "2", "3"],
        "3 is ls's own"
    );
    let done = bench
        .sh("test -t 0 || test -t 1 || test -t 2 || test -w /dev/tty")
        .await;
    assert!(!done.succeeded(), "{done:?}");
}

#[tokio::test]
async fn a_descriptor_leaked_into_the_host_ends_there() {
    use std::os::fd::AsRawFd as _;
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "the secret\n").unwrap();
    let leaked = std::fs::File::open(secret.path()).unwrap();
    // Without the flag that closes it, every program this process starts inherits it.
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let number = leaked.as_raw_fd();
    let bench = Bench::new().await;
    let script = format!("cat <&{number}");
    assert!(!bench.sh(&script).await.succeeded());
    let control = std::process::Command::new("bash")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&control.stdout), "the secret\n");
}

#[tokio::test]
async fn a_command_leads_a_session_of_its_own() {
    let bench = Bench::new().await;
    let done = bench.sh("cut -d ' ' -f 6 /proc/$$/stat; echo $$").await;
    let numbers: Vec<&str> = done.output.split_whitespace().collect();
    assert_eq!(numbers[0], numbers[1], "session and process of {done:?}");
}

#[tokio::test]
async fn waiting_costs_nothing_while_a_command_is_silent() {
    let bench = Bench::new().await;
    let mut command = bench.spawn(&["sleep", "0.2"]).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(20), command.exited()).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(patiently(command.exited()).await.unwrap().code, Some(0));
}

/// Types a letter into every terminal that can be found: by descriptor, or by name.
const TYPE_INTO_TERMINALS: &str = "import fcntl, os\n\
    def opened(path):\n\
    \x20   try: return os.open(path, os.O_RDWR | os.O_NOCTTY)\n\
    \x20   except OSError: return -1\n\
    reached = []\n\
    for fd in list(range(64)) + [opened(path) for path in ('/dev/tty', '/dev/console', open('terminal').read())]:\n\
    \x20   try: fcntl.ioctl(fd, 0x5412, b'x'); reached.append(fd)\n\
    \x20   except (OSError, ValueError): pass\n\
    print('reached', reached)\n";

/// Runs a command in a terminal of its own, as a shell at which a user sits would. Its name is in a file.
fn in_a_terminal(bench: &Bench, command: &[&str]) -> String {
    let script = "import os, pty, sys\n\
                  def child(): open('terminal', 'w').write(os.ttyname(0)); os.execvp(sys.argv[1], sys.argv[1:])\n\
                  pid, fd = pty.fork()\n\
                  if pid == 0: child()\n\
                  while True:\n\
                  \x20   try: data = os.read(fd, 1000)\n\
                  \x20   except OSError: break\n\
                  \x20   os.write(1, data)\n\
                  os.waitpid(pid, 0)\n";
    let output = std::process::Command::new("/usr/bin/python3")
        .args(["-c", script])
        .args(command)
        .current_dir(&bench.scope)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Proves: S46.
#[tokio::test]
async fn a_command_cannot_type_into_the_terminal_the_server_was_started_from() {
    let bench = Bench::new().await;
    std::fs::write(bench.scope.join("type.py"), TYPE_INTO_TERMINALS).unwrap();
    let python = ["/usr/bin/python3", "type.py"];
    let program = host_program();
    let scope = bench.scope.to_str().unwrap();
    let confined = [&[program.to_str().unwrap(), scope][..], &python].concat();
    let reached = in_a_terminal(&bench, &confined);
    assert!(reached.contains("reached []"), "{reached}");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        // Newer kernels allow it to nobody else.
        let unconfined = in_a_terminal(&bench, &python);
        assert!(unconfined.contains("reached [0, 1, 2"), "{unconfined}");
    }
}

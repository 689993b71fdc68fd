//! Without user namespaces the other layers still hold, and the report names what is open.

use std::fs;

use ahma_sandbox::Layer;

use crate::support::{
    Bench, patiently, processes_marked, read_line, unique_mark, until_marked, until_none_marked,
};

/// Proves: S23.
#[tokio::test]
async fn without_namespaces_the_gaps_are_named() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    let report = bench.host.report();
    assert!(report.enforces(Layer::Landlock));
    assert!(report.enforces(Layer::Seccomp));
    assert!(!report.enforces(Layer::Namespaces));
    assert!(!report.enforces(Layer::PidNamespace));
    let gaps: Vec<&str> = report
        .layers
        .iter()
        .filter_map(|layer| layer.gap.as_deref())
        .collect();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert!(
        gaps[0].contains("which files exist outside the scope"),
        "{gaps:?}"
    );
}

/// Proves: S9.
#[tokio::test]
async fn without_namespaces_files_outside_stay_out_of_reach() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    let secret = bench.outside.join("secret");
    for act in ["cat", "truncate -s 0", "rm -f", "ls -R"] {
        let done = bench.sh(&format!("{act} {}", secret.display())).await;
        assert!(!done.output.contains("the secret"), "{act}: {done:?}");
        assert_eq!(
            fs::read_to_string(&secret).unwrap(),
            "the secret\n",
            "{act}"
        );
    }
    let write = bench
        .sh(&format!("echo x > {}", bench.outside("new")))
        .await;
    assert!(
        !write.succeeded() && !bench.outside.join("new").exists(),
        "{write:?}"
    );
    assert_eq!(bench.sh("echo x > f && cat f").await.output, "x\n");
}

/// Proves: S20.
#[tokio::test]
async fn without_namespaces_other_processes_stay_out_of_reach() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    let server = std::process::id();
    let mut threads = vec![server.to_string()];
    for entry in fs::read_dir("/proc/self/task").unwrap() {
        threads.push(entry.unwrap().file_name().to_str().unwrap().to_owned());
    }
    for target in threads {
        let traced = format!("import ctypes;print(ctypes.CDLL(None).ptrace(16,{target},0,0))");
        assert_eq!(
            bench.python(&traced).await.output,
            "-1\n",
            "ptrace {target}"
        );
        assert!(
            !bench.sh(&format!("kill -0 {target}")).await.succeeded(),
            "kill {target}"
        );
        assert!(
            !bench
                .sh(&format!("cat /proc/{target}/environ"))
                .await
                .succeeded()
        );
        assert!(
            !bench
                .sh(&format!("prlimit --pid {target} --nofile=64"))
                .await
                .succeeded()
        );
    }
}

/// Proves: S23.
#[tokio::test]
async fn without_namespaces_no_new_ones_can_be_made() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    for script in [
        "unshare -U true",
        "unshare -m true",
        "mount -t tmpfs none .",
        "chroot . true",
    ] {
        assert!(!bench.sh(script).await.succeeded(), "{script}");
    }
    let clone = "import ctypes;l=ctypes.CDLL(None,use_errno=True);print(l.syscall(56,0x10000000|17,0,0,0,0))";
    assert_eq!(bench.python(clone).await.output, "-1\n");
    assert!(
        bench.sh("sh -c 'exit 0' & wait $!").await.succeeded(),
        "ordinary processes work"
    );
}

/// Proves: S21.
#[tokio::test]
async fn without_namespaces_the_whole_tree_is_still_ended() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    let mark = unique_mark();
    let script = format!(
        "trap '' TERM; for i in 1 2 3 4 5; do sleep {mark} & (setsid sleep {mark} &) ; done; echo up; wait"
    );
    let mut command = bench.spawn(&["sh", "-c", &script]).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    until_marked(&mark, 10).await;
    command.kill();
    patiently(command.gone()).await;
    assert_eq!(processes_marked(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn without_namespaces_a_killed_host_leaves_nothing() {
    let bench = Bench::without(&[Layer::Namespaces]).await;
    let mark = unique_mark();
    let script = format!("(setsid sleep {mark} &); echo up; sleep {mark}");
    let mut command = bench.spawn(&["sh", "-c", &script]).await.unwrap();
    let mut output = command.take_output().unwrap();
    assert_eq!(read_line(&mut output).await, "up");
    assert!(
        bench
            .unconfined(&format!("kill -9 {}", bench.host.pid()))
            .status
            .success()
    );
    until_none_marked(&mark).await;
}

#[tokio::test]
async fn each_layer_alone_still_keeps_the_secret() {
    for layers in [
        vec![Layer::Landlock],
        vec![Layer::Seccomp],
        vec![Layer::Namespaces],
        vec![Layer::Namespaces, Layer::Seccomp],
    ] {
        let bench = Bench::without(&layers).await;
        let done = bench.sh(&format!("cat {}", bench.outside("secret"))).await;
        assert!(
            !done.output.contains("the secret"),
            "without {layers:?}: {done:?}"
        );
    }
}

/// Runs a command in a sandbox on a machine that lacks a kernel feature.
fn on_a_weaker_machine(what: &str, script: &str) -> (String, String) {
    let program = crate::support::host_program();
    let helper = program.with_file_name("weakened_host");
    let scope = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(helper)
        .args([what.as_ref(), program.as_os_str(), scope.path().as_os_str()])
        .args(["sh", "-c", script])
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Proves: S23.
#[test]
fn where_user_namespaces_are_refused_the_rest_still_holds() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "the secret\n").unwrap();
    let script = format!(
        "echo in; cat {}; unshare -U true || echo refused",
        outside.path().display()
    );
    let (output, report) = on_a_weaker_machine("no-user-namespaces", &script);
    assert!(
        output.starts_with("in\n") && output.ends_with("refused\n"),
        "{output} {report}"
    );
    assert!(!output.contains("the secret"), "{output}");
    assert!(
        report.contains("layer: Landlock, enforced: true"),
        "{report}"
    );
    assert!(
        report.contains("layer: Namespaces, enforced: false"),
        "{report}"
    );
    assert!(
        report.contains("no user namespace: Operation not permitted"),
        "{report}"
    );
}

/// Proves: S11.
#[test]
fn without_landlock_nothing_runs() {
    for what in ["no-landlock", "16-layers"] {
        let (output, report) = on_a_weaker_machine(what, "echo ran");
        assert_eq!(output, "", "{what}: {report}");
        assert!(report.contains("Landlock"), "{what}: {report}");
    }
}

/// Proves: S17.
#[test]
fn inside_another_sandbox_commands_are_confined_all_the_same() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "the secret\n").unwrap();
    let script = format!("echo in; cat {}", outside.path().display());
    let (output, report) = on_a_weaker_machine("3-layers", &script);
    assert!(
        output.starts_with("in\n") && !output.contains("the secret"),
        "{output} {report}"
    );
    assert!(
        report.contains("layer: Landlock, enforced: true"),
        "{report}"
    );
}

/// As in many containers, where parts of `/proc` are covered: no other one can be mounted there.
///
/// Proves: S42.
#[test]
fn where_proc_is_partly_hidden_commands_run_and_a_limit_that_does_not_hold_is_named() {
    let scope = tempfile::tempdir().unwrap();
    let confined = crate::support::host_program();
    let line = format!(
        "for f in kcore keys timer_list interrupts; do test -e /proc/$f && break; done; \
         mount --bind /dev/null /proc/$f && exec {} --processes 5 {} sh -c 'echo ran'",
        confined.display(),
        scope.path().display()
    );
    let is_root = rustix::process::geteuid().is_root();
    let output = std::process::Command::new("unshare")
        .arg(if is_root { "-m" } else { "-Urm" })
        .args(["sh", "-c", &line])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "{report}");
    assert!(
        report.contains("commands have no /proc of their own"),
        "{report}"
    );
    assert!(
        report.contains("the limit of 5 processes is not enforced"),
        "{report}"
    );
}

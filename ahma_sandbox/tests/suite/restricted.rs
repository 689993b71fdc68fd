//! Policies that take something away from a command: writing, the network, processes, memory.

use std::fs;

use ahma_sandbox::{Launch, Layer, Limits, Network, SandboxPolicy};

use crate::support::Bench;

/// Ways to change something, each with `$1` as the directory in which it is tried.
const CHANGES: [&str; 9] = [
    "echo x > $1/new",
    "echo x >> $1/file",
    "truncate -s 0 $1/file",
    "rm $1/file",
    "mv $1/file $1/moved",
    "mkdir $1/directory",
    "ln -s x $1/link",
    "ln $1/file $1/hard",
    "mkfifo $1/pipe",
];
const CHANGES_OF_ATTRIBUTES: [&str; 3] = [
    "chmod 600 $1/file",
    "touch -d @1 $1/file",
    "setfattr -n user.a -v b $1/file 2>/dev/null || \
     /usr/bin/python3 -c 'import os,sys; os.setxattr(sys.argv[1], \"user.a\", b\"b\")' $1/file",
];

async fn read_only(change: impl FnOnce(&mut SandboxPolicy)) -> Bench {
    let bench = Bench::with(|policy| {
        policy.read_only = true;
        let granted = policy.scope.with_file_name("granted");
        fs::create_dir(&granted).unwrap();
        policy.write.push(granted);
        change(policy);
    })
    .await;
    for directory in directories(&bench) {
        fs::write(directory.join("file"), "content\n").unwrap();
    }
    bench
}

fn directories(bench: &Bench) -> [std::path::PathBuf; 3] {
    [
        bench.scope.clone(),
        bench.scope.with_file_name("granted"),
        bench.policy.home(),
    ]
}

async fn succeeds(bench: &Bench, script: &str, directory: &std::path::Path) -> bool {
    let arguments = ["sh", "-c", script, "sh", directory.to_str().unwrap()];
    bench.run(&arguments).await.succeeded()
}

/// Proves: S41.
#[tokio::test]
async fn a_read_only_command_can_read_everything_and_write_only_temporary_files() {
    let forking = |policy: &mut SandboxPolicy| policy.launch = Launch::Fork;
    for bench in [read_only(|_| {}).await, read_only(forking).await] {
        for directory in directories(&bench) {
            assert!(succeeds(&bench, "cat $1/file", &directory).await);
            for change in CHANGES.iter().chain(&CHANGES_OF_ATTRIBUTES) {
                assert!(
                    !succeeds(&bench, change, &directory).await,
                    "{change} in {directory:?}"
                );
            }
        }
        assert!(
            bench
                .sh("echo x > $TMPDIR/f && mv $TMPDIR/f /tmp/g && cat /tmp/g")
                .await
                .succeeded()
        );
    }
}

#[tokio::test]
async fn the_same_changes_work_where_writing_is_allowed() {
    for change in CHANGES.iter().chain(&CHANGES_OF_ATTRIBUTES) {
        let bench = read_only(|policy| policy.read_only = false).await;
        for directory in directories(&bench) {
            assert!(
                succeeds(&bench, change, &directory).await,
                "{change} in {directory:?}"
            );
        }
    }
}

/// Proves: S41.
#[tokio::test]
async fn without_namespaces_a_read_only_command_cannot_write_either() {
    let bench = read_only(|policy| policy.without = vec![Layer::Namespaces]).await;
    for directory in directories(&bench) {
        assert!(succeeds(&bench, "cat $1/file", &directory).await);
        for change in CHANGES {
            assert!(
                !succeeds(&bench, change, &directory).await,
                "{change} in {directory:?}"
            );
        }
    }
    assert!(bench.sh("echo x > $TMPDIR/f").await.succeeded());
    // What Landlock does not cover is said.
    assert!(succeeds(&bench, "chmod 600 $1/file", &bench.scope).await);
    let report = bench.host.report();
    let gap = report.layers.iter().find_map(|layer| {
        let of_namespaces = layer.layer == Layer::Namespaces;
        layer.gap.clone().filter(|_| of_namespaces)
    });
    assert!(gap.unwrap().contains("although nothing may be written"));
}

/// Proves: S41.
#[tokio::test]
async fn a_limit_of_processes_counts_each_command_for_itself() {
    let bench = Bench::with(|policy| policy.limits.processes = Some(4)).await;
    // The shell and three more.
    let three = "sleep 1 & sleep 1 & sleep 1 & kill %1 %2 %3; wait";
    let four = "sleep 1 & sleep 1 & sleep 1 & sleep 1 & kill %1 %2 %3 %4; wait";
    let all = tokio::join!(bench.sh(three), bench.sh(three), bench.sh(three));
    for done in [all.0, all.1, all.2] {
        assert!(!done.output.contains("fork"), "{done:?}");
    }
    let done = bench.sh(four).await;
    assert!(done.output.contains("fork"), "{done:?}");
}

/// Proves: S42.
#[tokio::test]
async fn a_limit_of_processes_that_cannot_be_enforced_is_said_to_be_so() {
    let gap = |bench: &Bench| {
        let report = bench.host.report();
        let hygiene = report.layers.iter().find(|it| it.layer == Layer::Hygiene);
        hygiene.unwrap().gap.clone()
    };
    let unusual = |policy: &mut SandboxPolicy| policy.limits.processes = Some(7);
    assert_eq!(gap(&Bench::with(unusual).await), None);
    let bench = Bench::with(|policy| {
        policy.without = vec![Layer::Namespaces];
        unusual(policy);
    })
    .await;
    let said = gap(&bench).unwrap();
    assert!(said.contains("limit of 7 processes"), "{said}");
    assert!(bench.sh("true | true | true").await.succeeded());
    let usual = Bench::with(|policy| {
        policy.without = vec![Layer::Namespaces];
        policy.limits = Limits::default();
        policy.network = Network::Off;
    })
    .await;
    assert_eq!(gap(&usual), None);
}

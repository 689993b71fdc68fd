//! A directory in which commands may make files, while what is in it stays as it is.

use std::fs;
use std::path::Path;

use ahma_sandbox::{Layer, LockPlace, SandboxPolicy};
use tempfile::TempDir;

use crate::support::Bench;

/// With `$1` as the directory.
const ALLOWED: [&str; 4] = [
    "echo x > $1/refs.lock && rm $1/refs.lock",
    "echo new > $1/refs.new && mv $1/refs.new $1/refs && test \"$(cat $1/refs)\" = new",
    "rm $1/refs && echo again > $1/refs",
    "echo x > $1/open/file && mkdir $1/open/directory",
];
/// What works without a sandbox, in this order.
const REFUSED: [&str; 11] = [
    "echo x >> $1/settings",
    "echo x > $1/settings.lock && mv $1/settings.lock $1/settings",
    "rm $1/settings.lock; mv $1/settings $1/moved",
    "echo x > $1/closed/file",
    "mkdir $1/closed/directory",
    "mv $1/closed $1/elsewhere",
    "rm -r $1/elsewhere",
    "mkdir $1/directory",
    "ln -s x $1/link",
    "mkfifo $1/pipe",
    "mv $1/open $1/opened",
];

/// Not below `/tmp`, where commands may make anything.
fn place() -> TempDir {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["open", "closed"] {
        fs::create_dir(place.path().join(name)).unwrap();
    }
    for name in ["refs", "settings"] {
        fs::write(place.path().join(name), "old\n").unwrap();
    }
    place
}

fn grant(policy: &mut SandboxPolicy, place: &Path) {
    let directory = place.canonicalize().unwrap();
    policy.read.push(directory.clone());
    policy.write.push(directory.join("open"));
    policy.lock_places.push(LockPlace {
        directory,
        replaced: vec!["refs".to_owned()],
    });
}

async fn succeeds(bench: &Bench, script: &str, place: &Path) -> bool {
    let arguments = ["sh", "-c", script, "sh", place.to_str().unwrap()];
    bench.run(&arguments).await.succeeded()
}

/// Proves: S73.
#[tokio::test]
async fn files_can_be_made_there_and_what_is_there_cannot_be_changed() {
    let place = place();
    let bench = Bench::with(|policy| grant(policy, place.path())).await;
    for script in ALLOWED {
        assert!(succeeds(&bench, script, place.path()).await, "{script}");
    }
    for script in REFUSED {
        assert!(!succeeds(&bench, script, place.path()).await, "{script}");
    }
    assert!(succeeds(&bench, "cat $1/settings; ls $1/closed", place.path()).await);
    let refs = fs::read_to_string(place.path().join("refs")).unwrap();
    let settings = fs::read_to_string(place.path().join("settings")).unwrap();
    assert_eq!((refs.as_str(), settings.as_str()), ("again\n", "old\n"));
    for script in REFUSED {
        let mut shell = std::process::Command::new("sh");
        let control = shell.args(["-c", script, "sh"]).arg(place.path()).output();
        assert!(
            control.unwrap().status.success(),
            "the control failed: {script}"
        );
    }
}

/// Proves: S73.
#[tokio::test]
async fn without_a_view_or_the_right_to_write_it_is_only_read() {
    let place = place();
    let read_only = |policy: &mut SandboxPolicy| policy.read_only = true;
    let without = |policy: &mut SandboxPolicy| policy.without = vec![Layer::Namespaces];
    let benches = [
        Bench::with(|policy| {
            grant(policy, place.path());
            read_only(policy);
        })
        .await,
        Bench::with(|policy| {
            grant(policy, place.path());
            without(policy);
        })
        .await,
    ];
    for bench in &benches {
        assert!(succeeds(bench, "cat $1/refs", place.path()).await);
        for script in &ALLOWED[..3] {
            assert!(!succeeds(bench, script, place.path()).await, "{script}");
        }
    }
}

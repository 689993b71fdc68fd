//! What commands see of `/etc`: settings of programs, and no secrets.

use std::fs;
use std::os::unix::fs::symlink;

use ahma_sandbox::Layer;
use tempfile::TempDir;

use crate::planted_etc::{command, copy_into, plant};
use crate::support::{Bench, host_program};

/// A machine with its own `/etc`, and commands confined on it.
struct Machine {
    base: TempDir,
}

impl Machine {
    fn new() -> Self {
        let base = TempDir::new().unwrap();
        copy_into(&base.path().join("etc"));
        fs::create_dir(base.path().join("scope")).unwrap();
        fs::create_dir(base.path().join("tmp")).unwrap();
        Machine { base }
    }

    fn plant(&self, name: &str, mode: u32, content: &str) {
        plant(&self.base.path().join("etc"), name, mode, content);
    }

    /// What a script says, in a sandbox with every layer or in one without namespaces.
    fn confined(&self, namespaces: bool, script: &str) -> String {
        let path = |name: &str| self.base.path().join(name);
        let mut command = command(&path("etc"));
        command.env("TMPDIR", path("tmp"));
        if !namespaces {
            command.arg(host_program().with_file_name("weakened_host"));
            command.arg("no-user-namespaces");
        }
        command.arg(host_program()).arg(path("scope"));
        let output = command.args(["sh", "-c", script]).output().unwrap();
        let report = String::from_utf8_lossy(&output.stderr);
        let enforced = if namespaces { 5 } else { 3 };
        assert_eq!(
            report.matches("enforced: true").count(),
            enforced,
            "{report}"
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Proves: S71.
#[test]
fn settings_of_programs_are_seen_and_secrets_beside_them_are_not() {
    let machine = Machine::new();
    machine.plant("planted/security/java.security", 0o644, "one\n");
    machine.plant("planted.conf", 0o644, "two\n");
    machine.plant("mixed/settings", 0o644, "three\n");
    machine.plant("mixed/api-token", 0o644, "the secret\n");
    machine.plant("mixed/large", 0o644, &"four\n".repeat(10_000));
    symlink("planted/security", machine.base.path().join("etc/linked")).unwrap();
    let public = "cat planted/security/java.security planted.conf mixed/settings linked/java.security; \
                  head -1 mixed/large";
    let script =
        format!("cd /; cd /etc; {public}; cat mixed/api-token 2>/dev/null || echo refused");
    for namespaces in [true, false] {
        let seen = machine.confined(namespaces, &script);
        assert_eq!(seen, "one\ntwo\nthree\none\nfour\nrefused\n");
    }
}

/// Proves: S71.
#[tokio::test]
async fn nothing_of_etc_can_be_changed() {
    let bench = Bench::new().await;
    for script in [
        "echo x >> /etc/hosts",
        "echo x >> /etc/profile",
        "echo x > /etc/new",
        "rm -f /etc/profile; test ! -e /etc/profile",
        "mv /etc/profile /etc/moved",
        "chmod 666 /etc/profile",
        "touch /etc/ssl/new",
    ] {
        assert!(!bench.sh(script).await.succeeded(), "{script}");
    }
    assert!(bench.sh("cat /etc/profile /etc/hosts").await.succeeded());
}

/// Proves: S71.
#[tokio::test]
async fn what_is_seen_of_etc_is_what_is_there() {
    let bench = Bench::new().await;
    let list = "cd /etc; for f in services protocols profile login.defs; do sha256sum $f; done; readlink mtab os-release";
    let seen = bench.sh(list).await;
    assert!(seen.succeeded(), "{seen:?}");
    let there = bench.unconfined(list);
    assert_eq!(seen.output, String::from_utf8_lossy(&there.stdout));
    assert_eq!(seen.output.lines().count(), 6);
    let secrets = bench
        .sh("ls -d /etc/shadow* /etc/gshadow* /etc/sudoers* /etc/ssl/private /etc/machine-id")
        .await;
    assert!(!secrets.output.contains("\n/etc"), "{secrets:?}");
}

/// Proves: S71.
#[tokio::test]
#[ignore = "needs javac, mvn and fc-match; CI has them"]
async fn programs_find_their_settings() {
    for bench in [
        Bench::new().await,
        Bench::without(&[Layer::Namespaces]).await,
    ] {
        let java =
            "class A { public static void main(String[] a) { System.out.println(\"ran\"); } }";
        fs::write(bench.scope.join("A.java"), java).unwrap();
        let ran = bench.sh("javac A.java && java A").await;
        assert_eq!((ran.output.as_str(), ran.exit.code), ("ran\n", Some(0)));
        let maven = bench.sh("mvn -v").await;
        assert!(maven.output.contains("Apache Maven"), "{maven:?}");
        let font = bench.sh("fc-match sans 2>&1").await;
        assert!(
            font.succeeded() && !font.output.contains("Cannot load"),
            "{font:?}"
        );
    }
}

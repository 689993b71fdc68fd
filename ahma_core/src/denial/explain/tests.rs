//! Explanations of typical failures.

use std::path::{Path, PathBuf};

use super::super::{Command, DenialKind, Limits, Network, Presence};
use super::*;

/// A server with a scope, a private home, and a program of the user that commands do not see.
pub(super) struct Server {
    network: Network,
    is_root: bool,
    restrictions_known: bool,
}

pub(super) const USUAL: Server = Server {
    network: Network::On,
    is_root: false,
    restrictions_known: true,
};
const OFFLINE: Server = Server {
    network: Network::OffByOwner,
    ..USUAL
};
pub(super) const ROOT: Server = Server {
    is_root: true,
    ..USUAL
};

impl Lookup for Server {
    fn program_on_operator_path(&self, name: &str) -> Option<PathBuf> {
        (name == "rg").then(|| "/home/me/.local/bin/rg".into())
    }

    fn inside(&self, path: &Path) -> Presence {
        let is_link = path == Path::new("/home/me/src/app/link");
        if is_link {
            Presence::LeadsTo("/home/me/notes.txt".into())
        } else {
            Presence::Unknown
        }
    }
}

impl Server {
    pub(super) fn denial(&self, script: &str, output: &str, exit_code: i32) -> Option<Denial> {
        let protected = [PathBuf::from("/home/me/src/app/.git/hooks")];
        let readable = [PathBuf::from("/usr"), PathBuf::from("/bin")];
        let view = View {
            scope: Path::new("/home/me/src/app"),
            private_home: Path::new("/tmp/ahma-1/home"),
            private_tmp: Path::new("/tmp/ahma-1/tmp"),
            user_home: Some(Path::new("/home/me")),
            is_root: self.is_root,
            network: self.network,
            read_only: false,
            restrictions_known: self.restrictions_known,
            grants_read: &[],
            grants_write: &[],
            protected: &protected,
            readable: &readable,
            limits: Limits {
                memory_mb: Some(200),
                processes: Some(6),
                ..Limits::default()
            },
            deadline: Some(std::time::Duration::from_secs(300)),
        };
        let failure = Failure {
            command: Command::Script(script),
            output,
            exit_code: Some(exit_code),
            signal: None,
            ended: if exit_code == 124 {
                Ended::TimedOut
            } else {
                Ended::Failed
            },
            directory: Path::new("/home/me/src/app"),
            truncated: false,
            limit_reached: None,
        };
        explain(&failure, &view, self)
    }

    fn says(&self, script: &str, output: &str, exit_code: i32) -> (DenialKind, String, String) {
        let denial = self.denial(script, output, exit_code);
        let denial = denial.unwrap_or_else(|| panic!("nothing is said about {script}: {output}"));
        assert!(denial.text.contains("again"), "{}", denial.text);
        (denial.kind, denial.subject, denial.owner_can)
    }
}

#[track_caller]
pub(super) fn check(
    server: &Server,
    script: &str,
    output: &str,
    expected: (DenialKind, &str, &str),
) {
    let (kind, subject, owner_can) = server.says(script, output, 1);
    assert_eq!((kind, subject.as_str(), owner_can.as_str()), expected);
}

#[test]
fn paths_outside_are_named_with_the_flag_that_opens_them() {
    let read = "--sandbox-read /srv/a b.csv";
    check(
        &USUAL,
        "cat '/srv/a b.csv'",
        "cat: '/srv/a b.csv': No such file or directory",
        (DenialKind::ReadOutside, "/srv/a b.csv", read),
    );
    let write = "--sandbox-write /home/me/src";
    check(
        &USUAL,
        "touch ../new",
        "touch: cannot touch '../new': Read-only file system",
        (DenialKind::WriteOutside, "../new", write),
    );
    let output = "/bin/bash: line 1: /tmp/ahma-1/home/notes: No such file or directory";
    let home = "--sandbox-read /home/me/notes, and use that absolute path";
    check(
        &USUAL,
        "read x < ~/notes",
        output,
        (DenialKind::HomePrivate, "~/notes", home),
    );
    check(
        &USUAL,
        "cat link",
        "cat: link: No such file or directory",
        (
            DenialKind::ReadOutside,
            "/home/me/notes.txt",
            "--sandbox-read /home/me/notes.txt",
        ),
    );
    let protected = "bash: .git/hooks/x: Read-only file system";
    check(
        &USUAL,
        "echo > .git/hooks/x",
        protected,
        (
            DenialKind::ProtectedPath,
            ".git/hooks/x",
            "--unprotect .git/hooks",
        ),
    );
}

#[test]
fn other_refusals_have_their_kind() {
    check(
        &USUAL,
        "rg x",
        "/bin/bash: line 1: rg: command not found",
        (
            DenialKind::ProgramHidden,
            "rg",
            "--sandbox-read /home/me/.local/bin",
        ),
    );
    check(
        &OFFLINE,
        "curl https://x.org",
        "curl: (6) Could not resolve host: x.org",
        (DenialKind::NetworkOff, "x.org", "--network on"),
    );
    let refused = "PermissionError: [Errno 1] Operation not permitted";
    check(
        &OFFLINE,
        "python3 -c \"import socket; socket.socket().bind(('127.0.0.1', 0))\"",
        refused,
        (DenialKind::Loopback, "127.0.0.1", "--network on"),
    );
    let socket = "--sandbox-write /run/docker.sock (for docker this means root)";
    check(
        &USUAL,
        "docker ps",
        "Cannot connect to the Docker daemon at unix:///run/docker.sock. Is it running?",
        (DenialKind::SocketDenied, "/run/docker.sock", socket),
    );
    let key = "--pass-env of a token, or --sandbox-read /home/me/.ssh/id_rsa";
    check(
        &USUAL,
        "cat /home/me/.ssh/id_rsa",
        "cat: /home/me/.ssh/id_rsa: No such file or directory",
        (DenialKind::CredentialMissing, "/home/me/.ssh/id_rsa", key),
    );
    check(
        &USUAL,
        "stty",
        "stty: 'standard input': Inappropriate ioctl for device",
        (
            DenialKind::TtyMissing,
            "terminal",
            "none: commands have no terminal, use a non-interactive option",
        ),
    );
    check(
        &ROOT,
        "chown nobody x",
        "chown: changing ownership of 'x': Invalid argument",
        (
            DenialKind::SyscallDenied,
            "chown",
            "none: refused for every command, run it outside",
        ),
    );
    check(
        &USUAL,
        "python3 x.py",
        "MemoryError",
        (
            DenialKind::LimitMemory,
            "200 MiB",
            "raise limits.memory_mb in the tool file",
        ),
    );
    check(
        &USUAL,
        "make -j9",
        "make: fork: Resource temporarily unavailable",
        (
            DenialKind::LimitProcesses,
            "6",
            "raise limits.processes in the tool file",
        ),
    );
    let deadline = USUAL.says("sleep 999", "", 124);
    assert_eq!(
        deadline,
        (
            DenialKind::Deadline,
            "300 s".into(),
            "--timeout SECONDS or timeout_seconds of the call".into()
        )
    );
}

#[test]
fn what_the_sandbox_did_not_cause_is_not_explained() {
    for (script, output) in [
        ("cat x", "cat: x: No such file or directory"),
        ("cat /usr/x", "cat: /usr/x: No such file or directory"),
        (
            "touch /usr/x",
            "touch: cannot touch '/usr/x': Read-only file system",
        ),
        (
            "cat /etc/shadow",
            "cat: /etc/shadow: No such file or directory",
        ),
        (
            "chown root x",
            "chown: changing ownership of 'x': Operation not permitted",
        ),
        (
            "frobnicate",
            "/bin/bash: line 1: frobnicate: command not found",
        ),
        (
            "curl https://x.org",
            "curl: (6) Could not resolve host: x.org",
        ),
        ("echo x > y", "bash: y: Read-only file system"),
        ("false", ""),
    ] {
        assert_eq!(USUAL.denial(script, output, 1), None, "{script}");
    }
}

#[test]
fn text_that_is_only_printed_is_not_explained() {
    let complaint = "cat: /srv/x: No such file or directory";
    for (script, output) in [
        ("cat old.log; exit 1", complaint.to_owned()),
        (
            "echo 'cat: /srv/x: No such file or directory'; make",
            complaint.to_owned(),
        ),
        (
            "git diff --exit-code",
            format!("@@ -1 +1 @@\n-ok\n+{complaint}"),
        ),
        (
            "make test",
            format!("assertion failed\n  left: \"{complaint}\"\n right: \"\""),
        ),
        (
            "python3 -c \"raise FileNotFoundError(2, 'x', '/srv/x')\"",
            "FileNotFoundError: [Errno 2] x: '/srv/x'".to_owned(),
        ),
    ] {
        assert_eq!(USUAL.denial(script, &output, 1), None, "{script}");
    }
    // The same words of a program that really ran.
    check(
        &USUAL,
        "make",
        complaint,
        (DenialKind::ReadOutside, "/srv/x", "--sandbox-read /srv/x"),
    );
}

#[test]
fn a_restriction_that_is_not_known_is_inferred() {
    let unknown = Server {
        restrictions_known: false,
        ..USUAL
    };
    let read_only = (
        DenialKind::ReadOnlyPath,
        "/home/me/src/app/y",
        "writes: true in the tool file",
    );
    check(
        &unknown,
        "echo x > y",
        "bash: y: Read-only file system",
        read_only,
    );
    let text = unknown
        .denial("echo x > y", "bash: y: Read-only file system", 1)
        .unwrap()
        .text;
    assert!(text.contains("probably"), "{text}");
}

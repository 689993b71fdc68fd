//! The same for a server that is not root: the tests run as root in CI, so a server is started as
//! another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::host_program;

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;

struct Ordinary {
    scope: PathBuf,
    outside: PathBuf,
    program: PathBuf,
    base: TempDir,
}

impl Ordinary {
    fn new() -> Self {
        let base = TempDir::new().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = base.path().canonicalize().unwrap();
        let (scope, outside) = (root.join("scope"), root.join("outside"));
        for directory in [&scope, &outside, &root.join("tmp")] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(outside.join("secret"), "the secret\n").unwrap();
        // The build directory may be closed to other users.
        let program = root.join("confined");
        ahma_tests::copy_program(host_program(), &program);
        let ordinary = Ordinary {
            scope,
            outside,
            program,
            base,
        };
        for path in ["scope", "outside", "outside/secret", "tmp"] {
            if ordinary.is_root() {
                chown(root.join(path), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        ordinary
    }

    fn is_root(&self) -> bool {
        fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
    }

    /// A command of the ordinary user, confined or, as control, not.
    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.scope).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", self.base.path().join("tmp"));
        if self.is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    }

    fn confined(&self, script: &str) -> String {
        self.confined_with(&[], script)
    }

    fn confined_with(&self, options: &[&str], script: &str) -> String {
        let program = self.program.to_str().unwrap();
        let scope = self.scope.to_str().unwrap();
        let command = [scope, "sh", "-c", script];
        let output = self.run(program, &[options, &command].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(report.matches("enforced: true").count(), 5, "{report}");
        text
    }
}

#[test]
fn the_scope_works_and_files_belong_to_the_user() {
    let ordinary = Ordinary::new();
    assert_eq!(ordinary.confined("echo x > f && cat f && id -u"), {
        let id = ordinary.run("id", &["-u"]);
        format!("x\n{}", String::from_utf8_lossy(&id.stdout))
    });
    let made = fs::metadata(ordinary.scope.join("f")).unwrap();
    let owner = fs::metadata(&ordinary.scope).unwrap();
    assert_eq!(
        std::os::unix::fs::MetadataExt::uid(&made),
        std::os::unix::fs::MetadataExt::uid(&owner)
    );
}

/// Proves: S9.
#[test]
fn the_users_own_files_outside_stay_out_of_reach() {
    let ordinary = Ordinary::new();
    let secret = ordinary.outside.join("secret");
    let path = secret.display();
    for act in [
        format!("cat {path}"),
        format!("echo x >> {path}"),
        format!("chmod 600 {path}"),
        format!("touch -d 2000-01-01 {path}"),
        format!("stat {path}"),
        format!("rm {path}"),
    ] {
        let refused = ordinary.confined(&format!("{act} && echo WORKED"));
        assert!(!refused.contains("WORKED"), "{act}: {refused}");
        assert!(!refused.contains("the secret"), "{act}: {refused}");
        assert_eq!(
            fs::read_to_string(&secret).unwrap(),
            "the secret\n",
            "{act}"
        );
    }
    let control = ordinary.run("sh", &["-c", &format!("cat {path} && echo x >> {path}")]);
    assert!(control.status.success(), "{control:?}");
}

#[test]
fn no_capability_is_gained() {
    let ordinary = Ordinary::new();
    let status = ordinary
        .confined("grep -E 'CapEff|CapBnd' /proc/self/status; unshare -U true || echo refused");
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    assert!(status.ends_with("refused\n"), "{status}");
}

/// Proves: S72.
#[test]
fn two_hosts_without_a_network_share_a_loopback() {
    let ordinary = Ordinary::new();
    let server = ordinary.scope.join("server");
    let script = "#!/usr/bin/python3\nimport os, socket\n\
        s = socket.create_server(('127.0.0.1', 0))\n\
        open('unfinished', 'w').write(str(s.getsockname()[1]))\nos.rename('unfinished', 'port')\n\
        while True:\n    s.accept()[0].sendall(b'hello')\n";
    fs::write(&server, script).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let client = "while test ! -e port; do :; done; /usr/bin/python3 -c \
        \"import socket; print(socket.create_connection(('127.0.0.1', int(open('port').read()))).recv(9).decode())\"";
    let options = ["--no-network", "--another-host", "--beside", "./server"];
    assert_eq!(ordinary.confined_with(&options, client), "hello\n");
}

//! A developer who works in a project through the server: as the tester, or as an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use serde_json::json;

use super::AHMA_MCP;

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;
/// Installing takes as long as the registry does.
const TIMEOUT: Duration = Duration::from_secs(240);

pub(super) struct Developer {
    client: McpProcess,
    project: PathBuf,
    _base: Workspace,
}

impl Developer {
    /// Whoever runs the tests, with the toolchains that are there.
    pub(super) fn of_the_tester() -> Self {
        let base = Workspace::new();
        Self::new(base, &[], &[], &std::env::var("PATH").unwrap(), &[])
    }

    /// An ordinary user, who cannot enter the tester's home.
    pub(super) fn ordinary() -> Self {
        let base = Workspace::new();
        let toolchain = base.path().join("rust");
        take_over_rust(&toolchain);
        let path = format!("{}/bin:/usr/bin:/bin", toolchain.display());
        let user = NOBODY.to_string();
        let ids = [
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".to_owned(),
        ];
        Self::new(base, &ids.each_ref().map(String::as_str), &[], &path, &[])
    }

    pub(super) fn new(
        base: Workspace,
        ids: &[&str],
        arguments: &[&str],
        path: &str,
        more: &[(&str, &str)],
    ) -> Self {
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let [project, home, private] =
            ["project", "home", "private"].map(|name| base.path().join(name));
        base.write(
            "home/.gitconfig",
            "[user]\n\tname = Ada\n\temail = ada@example.org\n",
        );
        let cached = base.write("home/.npm/_cacache/index-v5/kept", "kept\n");
        for directory in [&project, &home, &private] {
            fs::create_dir_all(directory).unwrap();
        }
        let cache = cached.ancestors().take(4);
        let own = [&project, &home, &private].map(PathBuf::as_path);
        for path in own.into_iter().chain(cache).filter(|_| !ids.is_empty()) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        // The build directory may be closed to other users.
        let program = base.path().join("ahma_mcp");
        ahma_tests::copy_program(AHMA_MCP, &program);
        let program = program.to_str().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (private, git) = (text(&private), text(&home.join(".gitconfig")));
        let mut environment = vec![
            ("PATH", path),
            ("TMPDIR", private.as_str()),
            ("GIT_CONFIG_GLOBAL", git.as_str()),
        ];
        environment.extend(more);
        let npm = text(&home.join(".npm"));
        if more.is_empty() {
            environment.push(("npm_config_cache", npm.as_str()));
        }
        let home = text(&home);
        let client = if ids.is_empty() {
            McpProcess::connect(program, arguments, &project, &environment)
        } else {
            environment.push(("HOME", home.as_str()));
            let arguments = [ids, &[program], arguments].concat();
            McpProcess::connect("setpriv", &arguments, &project, &environment)
        };
        Developer {
            client,
            project: project.canonicalize().unwrap(),
            _base: base,
        }
    }

    /// Runs a script to its end, in a directory of its own unless that is the project.
    pub(super) fn run(&mut self, name: &str, script: &str) -> String {
        let directory = self.project.join(name.replace([' ', ','], "-"));
        let inside = directory.display();
        self.run_in_project(
            name,
            &format!("mkdir -p '{inside}' && cd '{inside}' && {script}"),
        )
    }

    pub(super) fn run_in_project(&mut self, name: &str, script: &str) -> String {
        let started = self
            .client
            .call("sandboxed_shell", &json!({ "command": script }));
        let waiting = json!({ "operation_id": started.operation_id(), "timeout_seconds": 20 });
        let end = Instant::now() + TIMEOUT;
        loop {
            let result = self.client.call("await", &waiting);
            if !result.text.contains("still running") {
                assert!(
                    result.text.contains("exit code 0"),
                    "{name}: {}",
                    result.text
                );
                return result.text;
            }
            assert!(Instant::now() < end, "{name}: {}", result.text);
        }
    }
}

/// Programs and libraries of the tester's Rust, without documentation, where anybody can read them.
fn take_over_rust(to: &Path) {
    let asked = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = PathBuf::from(String::from_utf8(asked.stdout).unwrap().trim());
    for part in ["bin", "lib"] {
        take_over(&sysroot.join(part), &to.join(part));
    }
}

fn take_over(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            take_over(&from, &to);
        } else if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap();
        }
    }
}

//! Developers' tools inside the full sandbox, for root and for an ordinary user, with the registries
//! of the machine where a package is installed.

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

const GIT_ANEW: &str = "git init -q -b main && echo a > f && git add f && git commit -q -m one && \
     git log --format='%an <%ae>'";
/// In a repository that was there when the host began, so that its hooks are protected.
const GIT_AGAIN: &str = "git checkout -q -b topic && echo b >> f && git diff --stat && git commit -q -a -m two && \
     git branch --track tracking main && git remote add origin . && git fetch -q origin && \
     git worktree add -q tree main && \
     git stash list && git rebase -q main && git gc -q && git status --short --branch && \
     ! touch .git/hooks/planted";

const EVERYDAY: [(&str, &str); 14] = [
    (
        "gcc",
        "echo 'int main(){return 0;}' > m.c && gcc m.c -o m && ./m",
    ),
    (
        "make",
        "printf 'all:\\n\\t@echo made\\n' > Makefile && make",
    ),
    (
        "tar",
        "mkdir d && echo x > d/f && tar czf a.tgz d && mkdir e && tar xzf a.tgz -C e && cat e/d/f",
    ),
    (
        "ps",
        "ps -e -o pid,comm | grep -q ps && ps aux | grep -v grep | grep -c ps",
    ),
    (
        "rg",
        "echo needle > h && if command -v rg; then rg -q needle .; fi && grep -rq needle .",
    ),
    (
        "find",
        "touch a b && find . -type f -print0 | xargs -0 -P2 ls",
    ),
    (
        "sort",
        "seq 200000 | sort -R -S 1M | sort -n -S 1M | tail -1 | grep -x 200000",
    ),
    (
        "bash",
        "diff <(printf 'a\\n') <(cat <<'X'\na\nX\n) && echo same | tee >(cat >t) && wait; true",
    ),
    (
        "pty",
        "script -qec 'test -t 0 && tty' /dev/null </dev/null | grep /dev/pts",
    ),
    (
        "shm",
        "/usr/bin/python3 -c 'from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,size=9); m.close(); m.unlink()'",
    ),
    (
        "multiprocessing",
        "/usr/bin/python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
    ),
    (
        "sqlite",
        "/usr/bin/python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); c.execute(\"create table t(a)\"); c.commit()'",
    ),
    (
        "node",
        "node -e 'const w=require(\"worker_threads\"); console.log(os=require(\"os\").cpus().length>0)'",
    ),
    (
        "rustc",
        "echo 'fn main(){println!(\"built\")}' > r.rs && rustc r.rs && ./r",
    ),
];

const INSTALLING: [(&str, &str); 4] = [
    (
        "cargo, offline",
        "cargo init -q --name app --vcs none && cargo build -q --offline && cargo test -q --offline",
    ),
    (
        "cargo add",
        "cargo init -q --name app --vcs none && cargo add -q fnv && echo 'use fnv as _; fn main() {}' > src/main.rs && \
         cargo build -q && cargo test -q",
    ),
    (
        "pip install",
        "/usr/bin/python3 -m venv v && v/bin/pip install -q six && v/bin/python -c 'import six'",
    ),
    (
        "npm install",
        "npm init -y >/dev/null && npm install --no-audit is-number && node -e 'require(\"is-number\")'",
    ),
];

struct Developer {
    client: McpProcess,
    project: PathBuf,
    _base: Workspace,
}

impl Developer {
    /// Whoever runs the tests, with the toolchains that are there.
    fn of_the_tester() -> Self {
        let base = Workspace::new();
        Self::new(base, &[], &[], &std::env::var("PATH").unwrap(), &[])
    }

    /// An ordinary user, who cannot enter the tester's home.
    fn ordinary() -> Self {
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

    fn new(
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
        fs::copy(AHMA_MCP, &program).unwrap();
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
    fn run(&mut self, name: &str, script: &str) -> String {
        let directory = self.project.join(name.replace([' ', ','], "-"));
        let inside = directory.display();
        self.run_in_project(
            name,
            &format!("mkdir -p '{inside}' && cd '{inside}' && {script}"),
        )
    }

    fn run_in_project(&mut self, name: &str, script: &str) -> String {
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

fn everything_works(mut developer: Developer) {
    let author = developer.run_in_project("git", GIT_ANEW);
    assert!(author.starts_with("Ada <ada@example.org>\n"), "{author}");
    developer.run_in_project("git", GIT_AGAIN);
    let cache = "cd ~/.npm/_cacache/index-v5 && cat kept && echo changed > kept && cat kept";
    let cache = developer.run_in_project("cache", cache);
    assert!(cache.starts_with("kept\nchanged\n"), "{cache}");
    for (name, script) in EVERYDAY.iter().chain(&INSTALLING) {
        developer.run(name, script);
    }
}

/// Proves: S43.
#[test]
fn tools_work_for_whoever_runs_the_server() {
    everything_works(Developer::of_the_tester());
}

/// Proves: S43, S44.
#[test]
fn tools_work_for_an_ordinary_user() {
    everything_works(Developer::ordinary());
}

/// Proves: S43.
#[test]
fn what_the_user_has_downloaded_is_there_without_a_network() {
    let path = std::env::var("PATH").unwrap();
    let base = Workspace::new();
    // Npm's cache is filled as a user fills it: unconfined, from the registry.
    let cache = base.path().join("npm-cache");
    let cache = cache.to_str().unwrap().to_owned();
    base.write("outside/package.json", "{}");
    let filled = std::process::Command::new("npm")
        .args(["install", "--no-audit", "--cache", &cache, "is-number"])
        .current_dir(base.path().join("outside"))
        .output()
        .unwrap();
    assert!(filled.status.success(), "{filled:?}");
    let offline = ["--network", "off"];
    let environment = [("npm_config_cache", cache.as_str())];
    let mut developer = Developer::new(base, &[], &offline, &path, &environment);
    let installed = developer.run(
        "npm",
        "npm init -y >/dev/null && npm install --offline --no-audit is-number && ls node_modules",
    );
    assert!(installed.contains("is-number\n"), "{installed}");
    let built = developer.run(
        "cargo",
        "cargo init -q --name app --vcs none && cargo add -q --offline itoa && \
         cargo build -q --offline && ls -d $CARGO_HOME/registry/src/*/itoa-* && ls -A $CARGO_HOME",
    );
    assert!(built.contains("itoa-"), "{built}");
}

//! Code left for programs outside at any depth of a scope: noticed and told, whoever hides it how.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, signal};
use serde_json::json;

fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// What the owner has been told so far.
fn told(served: &mut Served) -> String {
    let info = served.client.call("get_server_info", &json!({})).structured;
    let warnings = info["sandbox"]["warnings"].as_array().unwrap().clone();
    let lines = warnings.iter().filter_map(|it| it.as_str());
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs a script, and waits until the owner has been told of all that.
fn expect(served: &mut Served, script: &str, expected: &[&str]) {
    let done = served.sync(script);
    assert!(!done.is_error, "{}", done.text);
    for name in expected {
        until_told(served, name);
    }
}

fn until_told(served: &mut Served, name: &str) {
    until_so(served, &format!("`{name}` is told"), |told| {
        told.contains(name)
    });
}

fn until_so(served: &mut Served, what: &str, is_so: impl Fn(&str) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let told = told(served);
        if is_so(&told) {
            return;
        }
        assert!(Instant::now() < end, "not so: {what}; told was\n{told}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Proves: S54.
#[test]
fn files_of_agents_and_editors_are_noticed_in_any_directory() {
    let mut served = Served::new();
    let names = [
        ".amazonq/mcp.json",
        ".claude/settings.local.json",
        ".codex/config.toml",
        ".continue/config.json",
        ".cursor/hooks.json",
        ".cursor/mcp.json",
        ".devcontainer/devcontainer.json",
        ".fleet/run.json",
        ".gemini/settings.json",
        ".husky/pre-commit",
        ".kiro/settings/mcp.json",
        ".roo/mcp.json",
        ".vscode/tasks.json",
        ".windsurf/x",
        ".zed/tasks.json",
        ".ahma/tools/x.json",
        ".devcontainer.json",
        ".dir-locals.el",
        ".envrc",
        ".exrc",
        ".mcp.json",
        ".npmrc",
        ".nvim.lua",
        "rust-toolchain.toml",
        "x.code-workspace",
        ".cargo/config.toml",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".cursorrules",
        ".github/copilot-instructions.md",
    ];
    let script: String = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!("mkdir -p deep/{number}/$(dirname {name}); echo x > deep/{number}/{name}\n")
        })
        .collect();
    let expected: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let first = name.split('/').next().unwrap();
            let whole = [".cargo", ".github"].contains(&first);
            let name = if whole { name } else { first };
            format!("deep/{number}/{name} has appeared")
        })
        .collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expect(&mut served, &script, &expected);
    expect(
        &mut served,
        "echo changed > deep/5/.cursor/mcp.json; echo y >> deep/26/AGENTS.md; echo ordinary > deep/f",
        &["deep/5/.cursor/mcp.json has changed"],
    );
    let told = told(&mut served);
    assert!(!told.contains("deep/f "), "others are not told of: {told}");
    let instructions: Vec<&str> = told.lines().filter(|it| it.contains("AGENTS.md")).collect();
    assert_eq!(instructions.len(), 1, "{instructions:?}");
    assert!(
        instructions[0].starts_with("for information: "),
        "{instructions:?}"
    );
}

/// A project whose user has repositories in several layouts.
fn repositories() -> Workspace {
    let project = Workspace::new();
    let top = project.path();
    git(top, &["init", "-q"]);
    fs::write(top.join("f"), "x").unwrap();
    git(top, &["add", "f"]);
    git(top, &["commit", "-qm", "one"]);
    for nested in ["a", "b"] {
        git(top, &["init", "-q", nested]);
    }
    git(top, &["init", "-q", "--bare", "layout/.bare"]);
    fs::write(top.join("layout/.git"), "gitdir: ./.bare\n").unwrap();
    git(top, &["worktree", "add", "-q", "linked"]);
    fs::create_dir(top.join(".hooks-of-mine")).unwrap();
    fs::write(top.join(".hooks-of-mine/pre-commit"), "#!/bin/sh\n").unwrap();
    fs::write(top.join("more-settings"), "[user]\n\tname = x\n").unwrap();
    git(top, &["config", "core.hooksPath", ".hooks-of-mine"]);
    git(top, &["config", "include.path", "../more-settings"]);
    fs::create_dir(top.join("scripts")).unwrap();
    fs::write(top.join("scripts/check"), "#!/bin/sh\n").unwrap();
    symlink(
        "../../../scripts/check",
        top.join("a/.git/hooks/pre-commit"),
    )
    .unwrap();
    project
}

/// Proves: S54.
#[test]
fn code_for_git_is_noticed_in_every_layout() {
    let mut served = Served::of(repositories(), &[]);
    let hooks = served.sync("echo evil >> .hooks-of-mine/pre-commit");
    assert!(
        hooks.is_error,
        "what core.hooksPath names is protected: {}",
        hooks.text
    );
    expect(
        &mut served,
        "git init -q n/ested && git -C n/ested config core.fsmonitor ./evil
         git init -q --bare embedded && git -C embedded config core.fsmonitor ./evil
         mkdir sub && echo 'gitdir: ../n/ested/.git' > sub/.git
         echo ../elsewhere > .git/worktrees/linked/commondir
         git config --file .git/worktrees/linked/config.worktree core.fsmonitor ./evil
         git -C layout/.bare config core.fsmonitor ./evil
         echo evil > n/ested/.git/hooks/post-checkout; git -C b config core.sshCommand ./evil
         printf '[core]\\n\\tfsmonitor = ./evil\\n' >> more-settings
         mkdir -p .git/modules/x/modules/y/hooks .git/modules/x/modules/y/objects .git/modules/x/modules/y/refs
         echo ref > .git/modules/x/modules/y/HEAD; echo evil > .git/modules/x/modules/y/hooks/post-checkout
         git -C a config core.worktree /somewhere; git -C a config sendemail.sendmailcmd ./evil
         git -C a config imap.tunnel ./evil; git -C a config gc.recentObjectsHook ./evil
         echo evil >> scripts/check",
        &[
            "n/ested/.git/config got `core.fsmonitor = ./evil`",
            "embedded/config got `core.fsmonitor = ./evil`",
            "sub/.git has appeared",
            ".git/worktrees/linked/commondir has changed",
            ".git/worktrees/linked/config.worktree got `core.fsmonitor = ./evil`",
            "layout/.bare/config got `core.fsmonitor = ./evil`",
            "n/ested/.git/hooks/post-checkout has appeared",
            "b/.git/config got `core.sshcommand = ./evil`",
            "more-settings got `core.fsmonitor = ./evil`",
            ".git/modules/x/modules/y/hooks/post-checkout has appeared",
            "a/.git/config got `core.worktree = /somewhere`",
            "a/.git/config got `sendemail.sendmailcmd = ./evil`",
            "a/.git/config got `imap.tunnel = ./evil`",
            "a/.git/config got `gc.recentobjectshook = ./evil`",
            "scripts/check has changed",
        ],
    );
}

/// Proves: S54.
#[test]
fn ordinary_work_with_repositories_is_not_told_of() {
    let mut served = Served::of(repositories(), &[]);
    let done = served.sync(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
         git config core.hooksPath /dev/null && git init -q fresh && cd fresh && echo x > f && git add f &&
         git commit -qm one && git checkout -qb side && git remote add origin https://example.invalid/x.git &&
         git config branch.side.remote origin && git config user.name b && git tag t && git gc -q &&
         mkdir -p src/deep && touch src/deep/main.rs Makefile",
    );
    assert!(!done.is_error, "{}", done.text);
    // Something that is told of comes last, so that the look before it is over.
    expect(
        &mut served,
        "mkdir last && touch last/.envrc",
        &["last/.envrc has appeared"],
    );
    let told = told(&mut served);
    let lines: Vec<&str> = told
        .lines()
        .filter(|it| !it.contains("last/.envrc"))
        .collect();
    assert_eq!(lines.len(), 1, "{told}");
    assert!(lines[0].contains("core.hookspath = /dev/null"), "{told}");
}

/// Proves: S54.
#[test]
fn what_is_protected_is_watched_through_its_other_names() {
    let mut served = Served::new();
    expect(
        &mut served,
        "mkdir .vscode .c; echo '{}' > .vscode/tasks.json; ln .vscode/tasks.json .c/x
         echo '{}' > .c/t; ln -s ../.c/t .vscode/launch.json",
        &[".vscode has appeared"],
    );
    assert!(
        served.sync("echo evil > .vscode/tasks.json").is_error,
        "it is protected"
    );
    expect(
        &mut served,
        "echo evil > .c/x; echo evil > .c/t",
        &[".vscode/tasks.json has changed", ".c/t has changed"],
    );
}

/// A store through a mapping changes neither time nor size of a file.
///
/// Proves: S54.
#[test]
fn what_is_written_through_a_mapping_is_noticed() {
    let project = Workspace::new();
    project.write("sub/.envrc", "original\n");
    let mut served = Served::of(project, &[]);
    let script = "import mmap, os, time\n\
                  file = open('sub/.envrc', 'r+b')\n\
                  memory = mmap.mmap(file.fileno(), 0)\n\
                  def store(text):\n\
                  \x20   memory[0:3] = text\n\
                  def wait(name):\n\
                  \x20   while not os.path.exists(name): time.sleep(0.01)\n\
                  store(b'ONE'); open('one', 'w'); wait('go'); store(b'TWO'); open('two', 'w'); time.sleep(100)\n";
    served.project.write("map.py", script);
    let id = served.start("python3 map.py");
    served.until_exists("one");
    let count = |told: &str| told.matches("sub/.envrc has changed").count();
    until_so(&mut served, "told once", |told| count(told) == 1);
    served.project.write("go", "");
    served.until_exists("two");
    until_so(&mut served, "told twice", |told| count(told) == 2);
    served.client.call("cancel", &json!({ "operation_id": id }));
}

/// Proves: S54.
#[test]
fn a_directory_that_is_closed_is_told_of() {
    if rustix::process::geteuid().is_root() {
        // Nothing is closed to root.
        return expect_readable_for_root();
    }
    let project = Workspace::new();
    project.write("sub/f", "");
    let mut served = Served::of(project, &[]);
    served.sync("true");
    expect(&mut served, "chmod 000 sub", &["sub cannot be looked into"]);
    assert!(!served.sync("chmod 700 sub").is_error);
}

fn expect_readable_for_root() {
    let project = Workspace::new();
    project.write("sub/f", "");
    let mut served = Served::of(project, &[]);
    served.sync("chmod 000 sub");
    expect(
        &mut served,
        "chmod 700 sub; touch sub/.envrc",
        &["sub/.envrc has appeared"],
    );
}

/// Proves: S54.
#[test]
fn what_the_user_does_between_commands_is_not_told() {
    let mut served = Served::of(repositories(), &[]);
    served.sync("true");
    // Times of files are coarse.
    std::thread::sleep(Duration::from_millis(30));
    let top = served.project.path().to_owned();
    served.project.write("deep/.envrc", "x");
    served.project.write("deep/.cursor/mcp.json", "{}");
    served.project.write("AGENTS.md", "x");
    git(&top.join("a"), &["config", "core.fsmonitor", "./mine"]);
    fs::write(top.join("b/.git/hooks/pre-push"), "x").unwrap();
    std::thread::sleep(Duration::from_millis(30));
    expect(
        &mut served,
        "mkdir last && touch last/.envrc",
        &["last/.envrc has appeared"],
    );
    let told = told(&mut served);
    assert_eq!(told.lines().count(), 1, "{told}");
}

/// Proves: S54.
#[test]
fn what_a_command_left_in_its_last_moment_is_told_by_the_next_server() {
    let state = Workspace::new();
    let variables = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let mut served = Served::with(&[], &variables);
    let id =
        served.start("touch up; while sleep 0.02; do test -e go && mkdir -p deep/.cursor; done");
    served.until_exists("up");
    served.project.write("go", "");
    served.until_exists("deep/.cursor");
    assert!(signal("KILL", served.client.pid()), "{id}");
    served.client.wait();
    let mut next = Served::start_in(served.project, &[], &variables);
    until_told(&mut next, "deep/.cursor has appeared");
    next.client.close();
    next.client.wait();
    // Once is enough.
    let mut third = Served::start_in(next.project, &[], &variables);
    expect(
        &mut third,
        "mkdir last && touch last/.envrc",
        &["last/.envrc has appeared"],
    );
    assert!(
        !told(&mut third).contains(".cursor"),
        "{}",
        told(&mut third)
    );
}

/// Proves: S54.
#[test]
fn what_a_command_does_when_it_is_asked_to_end_is_told_when_the_server_ends() {
    let mut served = Served::new();
    served.start("trap 'mkdir -p late/.cursor; exit' TERM; touch up; while sleep 0.05; do :; done");
    served.until_exists("up");
    served.client.close();
    served.client.wait();
    let stderr = served.client.stderr();
    assert!(stderr.contains("late/.cursor has appeared"), "{stderr}");
}

/// Proves: S54.
#[test]
fn what_is_granted_for_writing_is_watched_too() {
    let other = Workspace::new();
    let path = other.path().canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let mut served = Served::with(&["--sandbox-write", path], &[]);
    let expected = format!("{path}/x/.cursor has appeared");
    expect(
        &mut served,
        &format!("mkdir -p {path}/x/.cursor"),
        &[&expected],
    );
}

/// Proves: S54, S47.
#[test]
fn tool_files_that_the_next_server_would_serve_are_told_of() {
    let mut served = Served::new();
    expect(
        &mut served,
        "mkdir tools && echo '{}' > tools/git.json && echo x > tools/build.sh",
        &["tools/git.json has appeared"],
    );
    assert!(!told(&mut served).contains("build.sh"));
}

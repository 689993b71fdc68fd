//! Ways of hiding a plant from the guard that were found by people who tried.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use ahma_tests::served::ahma_mcp;
use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, until};
use serde_json::json;

fn told(served: &mut Served) -> String {
    let info = served.client.call("get_server_info", &json!({})).structured;
    info["sandbox"]["warnings"].to_string()
}

fn until_told(served: &mut Served, all: &[&str]) {
    let mut last = String::new();
    for what in all {
        until(|| {
            last = told(served);
            last.contains(what)
        });
    }
}

fn run(served: &mut Served, script: &str) {
    let done = served.sync(script);
    assert!(!done.is_error, "{}", done.text);
}

/// Waits until a look has been made after everything that was done so far.
fn look(served: &mut Served, mark: &str) {
    run(served, &format!("mkdir {mark} && touch {mark}/.envrc"));
    until_told(served, &[&format!("{mark}/.envrc has appeared")]);
}

/// Proves: S54.
#[test]
fn a_directory_that_looks_like_a_repository_is_looked_at_like_any_other() {
    let mut served = Served::new();
    run(&mut served, "mkdir objects refs b b/hooks; touch HEAD");
    look(&mut served, "one");
    run(
        &mut served,
        "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo y > sub/.envrc; echo z > .mcp.json
         git init -q n; mkdir -p n/.git/hooks; echo evil > n/.git/hooks/post-checkout
         mkdir b/objects b/refs; touch b/HEAD; echo evil > b/hooks/post-commit
         mkdir tools; echo '{}' > tools/x.json",
    );
    until_told(
        &mut served,
        &[
            "sub/.vscode has appeared",
            "sub/.envrc has appeared",
            ".mcp.json has appeared",
            "n/.git/hooks/post-checkout has appeared",
            "b/hooks/post-commit has appeared",
            "tools/x.json has appeared",
        ],
    );
    run(
        &mut served,
        "rmdir objects refs; rm HEAD; mkdir late; touch late/.envrc",
    );
    until_told(&mut served, &["late/.envrc has appeared"]);
}

/// Proves: S54.
#[test]
fn what_was_prepared_earlier_and_is_moved_into_place_is_told() {
    let project = Workspace::new();
    project.write("cargo_/config.toml", "[build]\n");
    project.write("prep/hooks/post-commit", "evil\n");
    project.write("prep/config", "[core]\n\tfsmonitor = ./evil\n");
    for name in ["prep/objects", "prep/refs", "sub"] {
        project.make_directory(name);
    }
    let mut served = Served::of(project, &[]);
    look(&mut served, "one");
    run(
        &mut served,
        "mv cargo_ .cargo; mv prep sub/.git; echo 'ref: refs/heads/main' > sub/.git/HEAD",
    );
    until_told(
        &mut served,
        &[
            ".cargo/config.toml has appeared",
            "sub/.git/config got `core.fsmonitor = ./evil`",
            "sub/.git/hooks/post-commit has appeared",
        ],
    );
}

/// Proves: S54.
#[test]
fn links_to_directories_are_followed_inside_and_not_outside() {
    let project = Workspace::new();
    let outside = Workspace::new();
    outside.write("f", "x");
    project.write("conf/vs/tasks.json", "{}\n");
    symlink("conf/vs", project.path().join(".vscode")).unwrap();
    assert_eq!(project.run("git", &["init", "-q", "--template="]).code, 0);
    let mut served = Served::of(project, &[]);
    look(&mut served, "one");
    run(
        &mut served,
        "echo evil > .vscode/tasks.json
         mkdir -p .git/objects/h; echo evil > .git/objects/h/post-commit; ln -s objects/h .git/hooks",
    );
    until_told(
        &mut served,
        &[
            "conf/vs/tasks.json has changed",
            ".git/hooks has appeared",
            ".git/objects/h/post-commit has appeared",
        ],
    );
    let target = outside.path().display();
    run(
        &mut served,
        &format!("ln -s / l; ln -s l{target}/f sub.envrc; mkdir s; ln -s ../l{target}/f s/.envrc"),
    );
    look(&mut served, "two");
    let operation = served.start("sleep 2");
    fs::write(outside.path().join("f"), "y").unwrap();
    let ended = json!({ "operation_id": operation });
    served.client.call("await", &ended);
    look(&mut served, "three");
    let told = told(&mut served);
    assert!(!told.contains("/f has changed"), "{told}");
}

/// Proves: S54.
#[test]
fn many_pointers_cost_little_and_are_bounded() {
    let mut served = Served::new();
    run(
        &mut served,
        "mkdir h; for i in $(seq 200); do touch h/$(printf '%0100d' $i); done
         for n in $(seq 50); do mkdir -p r/$n/.git; { echo '[include]'; for i in $(seq 100); do
         echo \"path = $PWD/$(printf './%.0s' $(seq $i))h\"; done; } > r/$n/.git/config; done",
    );
    look(&mut served, "one");
    let status = fs::read_to_string(format!("/proc/{}/status", served.client.pid())).unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 150_000, "{peak} kB");
}

/// Proves: S54.
#[test]
fn what_runs_counts_in_a_directory_of_instructions_too() {
    let mut served = Served::new();
    run(
        &mut served,
        "mkdir -p sub/AGENTS.md; touch sub/AGENTS.md/.envrc; git init -q sub/AGENTS.md/r
         git -C sub/AGENTS.md/r config core.fsmonitor ./evil",
    );
    until_told(
        &mut served,
        &[
            "sub/AGENTS.md/.envrc has appeared; programs outside",
            "got `core.fsmonitor = ./evil`",
        ],
    );
}

/// Proves: S37.
#[test]
fn a_name_that_is_not_text_keeps_no_server_from_starting() {
    let project = Workspace::new();
    let odd = std::ffi::OsStr::from_bytes(b".git/modules/r\xff");
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(project.path().join(odd).join(name)).unwrap();
    }
    let mut served = Served::of(project, &[]);
    assert!(served.sync("echo fine").text.starts_with("fine\n"));
    assert!(told(&mut served).contains("its name is not text"));
}

/// Proves: S37.
#[test]
fn a_directory_that_is_closed_keeps_its_protection_across_a_restart() {
    let project = Workspace::new();
    for name in ["objects", "refs", "hooks"] {
        project.make_directory(&format!(".git/modules/m/{name}"));
    }
    let mut served = Served::of(project, &[]);
    run(&mut served, "chmod 000 .git");
    let project = served.project;
    drop(served.client);
    // Whoever may look all the same protects it; whoever may not does not start.
    let hooks = project.path().join(".git/modules/m/hooks");
    if fs::metadata(&hooks).is_ok() {
        let mut again = Served::of(project, &[]);
        let planted = again.sync("chmod 755 .git; echo evil > .git/modules/m/hooks/post-checkout");
        assert!(planted.is_error, "{}", planted.text);
    } else {
        let refused = project.run(&ahma_mcp(), &[]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(
            refused.stderr.contains("cannot be looked into"),
            "{}",
            refused.stderr
        );
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(project.path().join(".git"), open).unwrap();
    }
}

/// Proves: S62.
#[test]
fn a_link_that_commands_put_in_the_place_of_a_grant_leads_nowhere() {
    let (project, outside) = (Workspace::new(), Workspace::new());
    outside.write("secret", "the secret\n");
    for name in ["out", "rd", "inner"] {
        project.make_directory(name);
    }
    let path = |name: &str| project.path().join(name).to_str().unwrap().to_owned();
    let (out, rd, inner) = (path("out"), path("rd"), path("inner"));
    let grants = ["--sandbox-write", &out, "--sandbox-read", &rd];
    let refused = |arguments: &[&str]| {
        let finished = project.run(&ahma_mcp(), arguments);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        assert!(
            finished.stderr.contains("leads through the link"),
            "{}",
            finished.stderr
        );
    };
    assert_eq!(
        project.run(&ahma_mcp(), &grants).code,
        0,
        "without links it starts"
    );
    for name in ["out", "rd", "inner"] {
        fs::remove_dir(project.path().join(name)).unwrap();
        symlink(outside.path(), project.path().join(name)).unwrap();
    }
    refused(&grants[..2]);
    refused(&grants[2..]);
    let workspace = format!("inner={inner}");
    let nested = [
        "--mode",
        "http",
        "--http-token",
        "off",
        "--workspace",
        &workspace,
    ];
    refused(&nested);
}

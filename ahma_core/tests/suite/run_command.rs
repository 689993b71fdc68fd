//! `ahma_mcp run`: one command in the sandbox, as somebody at a terminal sees it.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::thread;

use ahma_tests::served::ahma_mcp;
use ahma_tests::{marked, unique_mark, until};

use super::world::World;

/// Proves: P75.
#[test]
fn streams_and_exit_code_are_those_of_the_command() {
    let world = World::new();
    let ran = world.run(&["run", "--", "echo out; echo err >&2; pwd; exit 7"]);
    let here = world.project.path().display();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (7, format!("out\n{here}\n").as_str())
    );
    assert_eq!(ran.stderr, "err\n");
    let ran = world.run(&["run", "--", "printf", "%s|", "a b", "c'd", "$HOME"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "a b|c'd|$HOME|"),
        "words are no script"
    );
    assert_eq!(world.run(&["run", "--", "kill -9 $$"]).code, 137);
    assert_eq!(world.run(&["run", "--", "no-such-program-here"]).code, 127);
    assert_eq!(world.run(&["run"]).code, 2);
}

/// Proves: P75.
#[test]
fn what_is_piped_in_is_read_and_what_nobody_reads_ends_the_command() {
    let world = World::new();
    let mut child = world
        .command(&["run", "--", "tr a-z A-Z"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = thread::spawn(move || stdin.write_all(&b"abc\n".repeat(100_000)));
    let ran = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert_eq!(ran.stdout, b"ABC\n".repeat(100_000));
    let mut child = world.command(&["run", "--", "yes"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 2]).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(137));
}

/// Proves: P75.
#[test]
fn nothing_is_left_of_a_command_that_ended_or_was_interrupted() {
    let world = World::new();
    let mark = unique_mark();
    let ran = world.run(&["run", "--", &format!("sleep {mark} & echo started")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "started\n"));
    assert_eq!(marked(&mark), 0);
    for signal in ["INT", "TERM", "HUP"] {
        let script = format!("touch begun; trap '' {signal}; sleep {mark}");
        let mut child = world.command(&["run", "--", &script]).spawn().unwrap();
        until(|| world.project.path().join("begun").exists());
        assert!(ahma_tests::signal(signal, child.id()));
        assert!(child.wait().unwrap().code().unwrap() > 128, "{signal}");
        assert_eq!(marked(&mark), 0, "{signal}");
        std::fs::remove_file(world.project.path().join("begun")).unwrap();
    }
}

/// Proves: P76.
#[test]
fn a_refusal_is_explained_with_the_flag_that_would_allow_it() {
    let world = World::new();
    let secret = world.home(".ssh/id_ed25519");
    world.home.write(".ssh/id_ed25519", "s3ntinel\n");
    let ran = world.run(&["run", "--", "cat", &secret]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr
            .contains("would hold credentials of the user, which commands do not get"),
        "{}",
        ran.stderr
    );
    let allow = format!("ahma_mcp: to allow it: ahma_mcp run --sandbox-read {secret} -- …\n");
    assert!(ran.stderr.ends_with(&allow), "{}", ran.stderr);
    // The same, allowed.
    let ran = world.run(&["run", "--sandbox-read", &secret, "--", "cat", &secret]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "s3ntinel\n", "")
    );
    let ran = world.run(&[
        "run",
        "--network",
        "off",
        "--",
        "curl -s http://127.0.0.1:9 || exit 3",
    ]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("ahma_mcp run --network on -- …"),
        "{}",
        ran.stderr
    );
    // A failure that has nothing to do with the sandbox.
    let ran = world.run(&["run", "--", "ls no-such-file"]);
    assert_eq!(ran.code, 2);
    assert!(!ran.stderr.contains("ahma_mcp:"), "{}", ran.stderr);
}

/// Proves: P76.
#[test]
fn no_flag_is_named_that_would_be_refused_and_what_is_planted_is_told() {
    let world = World::new();
    // The directory above is everything of the user, or is not there.
    for path in [world.home("new.txt"), world.home("no/such/directory/file")] {
        let ran = world.run(&["run", "--", &format!("echo x > {path}")]);
        assert_eq!(ran.code, 1);
        assert!(!ran.stderr.contains("to allow it"), "{}", ran.stderr);
    }
    let ran = world.run(&["run", "--", "mkdir .vscode && echo 1 > .vscode/tasks.json"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("ahma_mcp: ") && ran.stderr.contains(".vscode"),
        "{}",
        ran.stderr
    );
}

/// Proves: P75.
#[test]
fn settings_of_the_user_count_and_flags_come_before_them() {
    let world = World::new();
    world.home.write("data/a.txt", "granted\n");
    let file = world.home("data/a.txt");
    world.home.write(
        "config/ahma_mcp/ahma.toml",
        "[server]\nsandbox-read = [\"~/data\"]\n",
    );
    assert_eq!(world.run(&["run", "--", "cat", &file]).stdout, "granted\n");
    let elsewhere = world.home("");
    let other = format!("{elsewhere}/other");
    std::fs::create_dir(&other).unwrap();
    let ran = world.run(&["run", "--sandbox-read", &other, "--", "cat", &file]);
    assert_eq!(ran.code, 1, "the flag takes the place of the setting");
    // Before the word `run`, too.
    let ran = world.run(&["--sandbox-read", &file, "run", "--", "cat", &file]);
    assert_eq!(ran.stdout, "granted\n");
}

/// A terminal with somebody who types, by the program `script`.
fn typed(world: &World, words: &[&str], answers: &str) -> String {
    let program = ahma_mcp();
    let line = [&[program.as_str()], words].concat();
    let line = shell_words::join(line);
    let mut command = world.command(&[]);
    let mut typing = Command::new("script");
    typing
        .args(["-qec", &line, "/dev/null"])
        .current_dir(world.project.path());
    for (name, value) in command.get_envs() {
        typing.env(name, value.unwrap());
    }
    command.stdin(Stdio::null());
    let mut child = typing
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(answers.as_bytes())
        .unwrap();
    let said = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&said.stdout).replace('\r', "")
}

/// Proves: P77.
#[test]
fn learning_asks_for_each_grant_and_prints_those_that_were_needed() {
    let world = World::new();
    world.home.write("one/a.txt", "first\n");
    world.home.write("two/b.txt", "second\n");
    let (one, two) = (world.home("one/a.txt"), world.home("two/b.txt"));
    let script = format!("set -e; cat {one}; cat {two}");
    let said = typed(&world, &["run", "--learn", "--", &script], "y\ny\n");
    let needed = format!("ahma_mcp: it works with: --sandbox-read {one} --sandbox-read {two}\n");
    assert!(said.ends_with(&needed), "{said}");
    assert!(said.contains("first\nsecond\n"), "{said}");
    let said = typed(&world, &["run", "--learn", "--", &script], "n\n");
    assert!(
        said.ends_with("ahma_mcp: no flag was agreed to\n"),
        "{said}"
    );
    // Nobody to ask: nothing is granted.
    let ran = world.run(&["run", "--learn", "--", &script]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.ends_with("ahma_mcp: no flag was agreed to\n"),
        "{}",
        ran.stderr
    );
}

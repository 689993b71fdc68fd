//! What an agent reads when the sandbox was in the way, in a running server.

use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::Served;

/// A project in a home directory with neighbours that commands cannot reach.
struct World {
    home: Workspace,
    served: Served,
}

fn world(arguments: &[&str]) -> World {
    // Not in /tmp, which commands have a private one of.
    let home = Workspace::in_directory(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")));
    home.write("Documents/notes.txt", "notes");
    home.write(".aws/credentials", "s3cret");
    home.write(".local/bin/mytool", "#!/bin/sh\necho ran\n");
    home.write("src/lib/data.json", "{}");
    home.make_executable(".local/bin/mytool");
    let path = format!("{}/.local/bin:/usr/bin:/bin", home.path().display());
    let variables = [
        ("HOME", home.path().to_str().unwrap()),
        ("PATH", path.as_str()),
    ];
    let project = Workspace::in_directory(&home.path().join("src"));
    assert_eq!(project.run("git", &["init", "-q"]).code, 0);
    let served = Served::start_in(project, arguments, &variables);
    World { home, served }
}

/// What is said of a script: the text, and what programs are told.
fn refused(world: &mut World, script: &str) -> (String, Value) {
    let home = world.home.path().to_str().unwrap().to_owned();
    let script = script.replace("HOME", &home);
    let call = json!({
        "name": "sandboxed_shell", "arguments": { "command": script, "execution_mode": "sync" }
    });
    let answer = world.served.client.request("tools/call", &call);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let denial = answer["result"]["_meta"]["ahma/denial"].clone();
    (text.replace(&home, "HOME"), denial)
}

/// Proves: P15.
#[test]
fn failures_of_the_trial_are_explained_with_what_the_owner_can_do() {
    let mut world = world(&[]);
    for (script, kind, remedy) in [
        (
            "cat HOME/Documents/notes.txt",
            "read-outside",
            "--sandbox-read",
        ),
        (
            "cat HOME/Documents/no-such-file",
            "read-outside",
            "--sandbox-read",
        ),
        (
            "cat ~/Documents/notes.txt",
            "home-private",
            "--sandbox-read",
        ),
        ("touch ../sibling.txt", "write-outside", "--sandbox-write"),
        ("cd ../lib", "read-outside", "--sandbox-read"),
        (
            "python3 -c 'open(\"HOME/.aws/credentials\")'",
            "credential-missing",
            "--sandbox-read",
        ),
        (
            "git fetch HOME/src/remote.git",
            "read-outside",
            "--sandbox-read",
        ),
        (
            "echo x > .git/hooks/pre-commit",
            "protected-path",
            "--unprotect",
        ),
    ] {
        let (text, denial) = refused(&mut world, script);
        assert_eq!(denial["kind"], kind, "{script}: {text}\n{denial}");
        let owner_can = denial["owner_can"].as_str().unwrap();
        assert!(owner_can.contains(remedy), "{script}: {denial}");
        assert!(text.contains(remedy), "{script}: {text}");
    }
    for script in [
        "cat no-such-file",
        "exit 3",
        "echo 'cat: /srv/x: Permission denied'; false",
        "ls /usr/no-such",
    ] {
        let (text, denial) = refused(&mut world, script);
        assert_eq!(denial, Value::Null, "{script}: {text}");
    }
}

/// Proves: P15.
#[test]
fn what_is_said_does_not_depend_on_what_is_there() {
    let mut world = world(&[]);
    let (there, _) = refused(&mut world, "cat HOME/Documents/notes.txt");
    let (not_there, _) = refused(&mut world, "cat HOME/Documents/notez.txt");
    let line = |text: &str| {
        let text = text.replace("notez", "notes");
        let lines = text.lines().filter(|it| !it.starts_with("[op_"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(line(&there), line(&not_there));
}

/// Proves: P15.
#[test]
fn a_missing_network_is_named_and_recorded() {
    let mut world = world(&["--network", "off"]);
    let (text, denial) = refused(&mut world, "curl -sS http://api.example.invalid/x");
    assert_eq!(denial["kind"], "network-off", "{text}");
    assert!(text.contains("--network on"), "{text}");
    let cache = world.served.client.cache().to_owned();
    let mut record = Value::Null;
    until(|| {
        let files = std::fs::read_dir(cache.join("ahma_mcp")).unwrap();
        let files = files.map(|it| it.unwrap().path());
        let audits = files.filter(|it| it.to_str().unwrap().ends_with("audit.jsonl"));
        let text: String = audits
            .map(|it| std::fs::read_to_string(it).unwrap())
            .collect();
        let mut records = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        record = records.next_back().unwrap_or_default();
        record["event"] == "ended"
    });
    assert_eq!(record["denial"]["kind"], "network-off", "{record}");
}

/// Proves: S66.
#[test]
fn programs_that_the_user_has_installed_can_be_run_unless_that_is_switched_off() {
    let mut on = world(&[]);
    let ran = on.served.sync("mytool");
    assert!(ran.text.starts_with("ran\n"), "{ran:?}");
    let written = on.served.sync("echo x > \"$(command -v mytool)\"");
    assert!(written.text.contains("Read-only"), "{written:?}");
    let mut off = world(&["--user-path", "off"]);
    let (text, denial) = refused(&mut off, "mytool");
    assert_eq!(denial["kind"], "program-hidden", "{text}");
    assert!(text.contains("HOME/.local/bin"), "{text}");
}

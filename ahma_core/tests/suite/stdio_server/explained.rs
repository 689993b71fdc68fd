//! What an agent reads when the sandbox was in the way, in a running server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

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
    let identity = "git init -q && git config user.name me && git config user.email me@here";
    assert_eq!(project.run("sh", &["-c", identity]).code, 0);
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
            "git commit -q --allow-empty -m x && git push HOME/src/remote.git HEAD",
            "write-outside",
            "--sandbox-write",
        ),
        (
            "git worktree add ../beside",
            "write-outside",
            "--sandbox-write",
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

/// Answers whatever comes with the question who the user is.
fn host_that_knows_nobody() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|it| !it.is_empty()))
            {}
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                          Content-Length: 0\r\nConnection: close\r\n\r\n";
            // Git may be gone; the test sees that.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// Proves: P15.
#[test]
fn a_push_for_which_the_user_has_credentials_and_commands_have_none_is_explained() {
    let port = host_that_knows_nobody();
    let mut world = world(&[]);
    let push = format!(
        "git commit -q --allow-empty -m x && git push http://127.0.0.1:{port}/me/project.git HEAD"
    );
    let (text, denial) = refused(&mut world, &push);
    assert!(text.contains("could not read Username"), "{text}");
    assert_eq!(denial["kind"], "credential-missing", "{text}");
    assert_eq!(denial["subject"], "127.0.0.1", "{text}");
    assert_eq!(denial["owner_can"], "--pass-env of a token", "{text}");
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

/// A project can hold links to anywhere, and each step of one could be asked about.
///
/// Proves: P15.
#[test]
fn a_link_that_leads_outside_does_not_tell_what_is_there() {
    let mut world = world(&[]);
    let home = world.home.path().to_owned();
    world.home.make_directory("Documents/there");
    for (name, target) in [
        ("way", "Documents"),
        ("top-there", "Documents"),
        ("top-gone", "Documentz"),
        ("file-there", "Documents/notes.txt"),
        ("file-gone", "Documents/notez.txt"),
        ("step-there", "Documents/there/../notes.txt"),
        ("step-gone", "Documents/gonee/../notes.txt"),
    ] {
        let link = world.served.project.path().join(name);
        std::os::unix::fs::symlink(home.join(target), link).unwrap();
    }
    let link = world.served.project.path().join("hop");
    std::os::unix::fs::symlink("way/there", link).unwrap();
    for (there, gone) in [
        ("cat way/notes.txt", "cat way/notez.txt"),
        ("cat top-there/notes.txt", "cat top-gone/notes.txt"),
        ("cat file-there", "cat file-gone"),
        ("cat step-there", "cat step-gone"),
        ("cat hop/notes.txt", "cat hop/notez.txt"),
        ("touch way/there/x", "touch way/gonee/x"),
        ("ls way/there/deep", "ls way/gonee/deep"),
    ] {
        let [(told, denial), (told_of_gone, denial_of_gone)] =
            [there, gone].map(|script| refused(&mut world, script));
        let same = |text: &str| {
            let names = [
                ("notez", "notes"),
                ("gonee", "there"),
                ("Documentz", "Documents"),
                ("-gone", "-there"),
            ];
            let rename = |text: String, (from, to): (&str, &str)| text.replace(from, to);
            let text = names.into_iter().fold(text.to_owned(), rename);
            let lines = text.lines().filter(|it| !it.starts_with("[op_"));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(same(&told), same(&told_of_gone), "{there}");
        let (denial, denial_of_gone) = (denial.to_string(), denial_of_gone.to_string());
        assert_eq!(same(&denial), same(&denial_of_gone), "{there}");
        assert!(denial.contains("outside"), "{there}: {denial}");
    }
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

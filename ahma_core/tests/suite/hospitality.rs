//! What somebody meets who uses the program by hand: a greeting, help, completions, manual pages, cleaning up.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ahma_tests::mcp::McpProcess;
use ahma_tests::served::ahma_mcp;
use ahma_tests::{Workspace, signal, until};

/// What a terminal shows of a program that is started by hand, until somebody ends its input.
fn on_a_terminal(directory: &Workspace, line: &str) -> String {
    let mut child = Command::new("script")
        .args(["-qec", line, "/dev/null"])
        .current_dir(directory.path())
        .env("XDG_CACHE_HOME", directory.path().join("cache"))
        .env("XDG_CONFIG_HOME", directory.path().join("config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The end of the input, as it is typed.
    child.stdin.take().unwrap().write_all(&[4]).unwrap();
    let shown = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&shown.stdout).replace('\r', "")
}

/// Proves: P80.
#[test]
fn somebody_at_a_terminal_is_told_what_this_is_and_a_client_is_not() {
    let project = Workspace::new();
    let shown = on_a_terminal(&project, &ahma_mcp());
    let here = project.path().display();
    let greeting =
        format!("is an MCP server: it runs commands for AI agents, confined to\n  {here}\n");
    assert!(shown.contains(&greeting), "{shown}");
    assert!(shown.contains("ahma_mcp setup  "), "{shown}");
    let mut client = McpProcess::connect(&ahma_mcp(), &[], project.path(), &[]);
    client.call("status", &serde_json::json!({}));
    assert!(!client.stderr().contains("is an MCP server"));
}

/// Proves: P12.
#[test]
fn help_is_in_groups_and_the_short_one_is_short() {
    let project = Workspace::new();
    let short = project.run(&ahma_mcp(), &["-h"]).stdout;
    let long = project.run(&ahma_mcp(), &["--help"]).stdout;
    for group in ["Options:", "Tools:", "Sandbox:", "Calls:", "HTTP:", "Logs:"] {
        assert!(short.contains(&format!("\n{group}\n")), "{group}");
    }
    assert!(
        short.lines().count() * 2 < long.lines().count(),
        "{} and {}",
        short.lines().count(),
        long.lines().count()
    );
    assert!(!short.contains("--keep-minutes") && long.contains("--keep-minutes"));
    let misspelt = project.run(&ahma_mcp(), &["--sandbox-scop", "."]);
    assert!(
        misspelt.stderr.contains("--sandbox-scope"),
        "{}",
        misspelt.stderr
    );
}

/// Proves: P81.
#[test]
fn completions_are_what_the_shell_can_read_and_know_every_subcommand() {
    let project = Workspace::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = project.run(&ahma_mcp(), &["completions", shell]);
        assert_eq!(script.code, 0);
        for word in ["doctor", "setup", "sandbox-read", "downstream"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
        project.write(shell, &script.stdout);
    }
    assert_eq!(project.run("bash", &["-n", "bash"]).code, 0);
    let completing = "source ./bash; COMP_WORDS=(ahma_mcp doc); COMP_CWORD=1; _ahma_mcp ahma_mcp doc ahma_mcp; echo ${COMPREPLY[@]}";
    assert_eq!(project.run("bash", &["-c", completing]).stdout, "doctor\n");
}

/// Proves: P81.
#[test]
fn there_is_a_manual_page_for_each_subcommand() {
    let project = Workspace::new();
    assert_eq!(project.run(&ahma_mcp(), &["man", "pages"]).code, 0);
    for name in [
        "ahma_mcp.1",
        "ahma_mcp-run.1",
        "ahma_mcp-setup.1",
        "ahma_mcp-auth-login.1",
    ] {
        let page = fs::read_to_string(project.path().join("pages").join(name)).unwrap();
        assert!(
            page.contains(".TH ") && page.contains(".SH SYNOPSIS"),
            "{name}"
        );
    }
}

/// Proves: P82.
#[test]
fn what_nobody_uses_is_removed_and_what_is_used_stays() {
    let (user, gone, alive) = (Workspace::new(), Workspace::new(), Workspace::new());
    let variables = |user: &Workspace| {
        let at = |name: &str| user.path().join(name).to_str().unwrap().to_owned();
        [
            ("XDG_CACHE_HOME", at("cache")),
            ("XDG_STATE_HOME", at("state")),
            ("TMPDIR", at("tmp")),
        ]
    };
    fs::create_dir(user.path().join("tmp")).unwrap();
    let owned = variables(&user);
    let variables: Vec<(&str, &str)> = owned
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let serve =
        |project: &Workspace| McpProcess::connect(&ahma_mcp(), &[], project.path(), &variables);
    let mut killed = serve(&gone);
    killed.call(
        "sandboxed_shell",
        &serde_json::json!({ "command": "true", "execution_mode": "sync" }),
    );
    assert!(signal("KILL", killed.pid()));
    killed.wait();
    let left = || {
        let inside = |name: &str| {
            fs::read_dir(user.path().join(name))
                .into_iter()
                .flatten()
                .count()
        };
        (inside("cache/ahma_mcp/homes"), inside("tmp"))
    };
    // What one server leaves behind.
    let (homes, one) = left();
    assert_eq!((homes, one.min(1)), (1, 1));
    drop(gone);
    let mut living = serve(&alive);
    living.call(
        "sandboxed_shell",
        &serde_json::json!({ "command": "true", "execution_mode": "sync" }),
    );
    // The new server may have swept the private directory already.
    until(|| left() == (2, one));
    let clean =
        |words: &[&str]| user.run_with(&ahma_mcp(), &[&["clean"], words].concat(), &variables);
    let told = clean(&["--dry-run"]);
    assert!(
        told.stdout.contains("would remove ") && told.stdout.contains("home of commands in "),
        "{}",
        told.stdout
    );
    assert_eq!(left(), (2, one), "nothing was removed");
    let told = clean(&["--homes"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(
        left(),
        (1, one),
        "those of the living server stay: {told:?}"
    );
    living.call(
        "sandboxed_shell",
        &serde_json::json!({ "command": "true", "execution_mode": "sync" }),
    );
    assert_eq!(clean(&[]).stdout, "there is nothing to remove\n");
    assert!(
        fs::read_dir(user.path().join("cache/ahma_mcp"))
            .unwrap()
            .count()
            > 1
    );
    assert_eq!(clean(&["--logs"]).code, 0);
    let logs = fs::read_dir(user.path().join("cache/ahma_mcp"))
        .unwrap()
        .flatten();
    let logs = logs.filter(|it| it.file_name().to_string_lossy().ends_with("log"));
    assert_eq!(logs.count(), 0);
}

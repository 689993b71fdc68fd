//! Whatever way a command takes to its process, it is confined there.

use ahma_tests::{signal, until};
use serde_json::json;

use super::Served;

/// Tries to read a file outside, and works inside.
fn attempt(served: &Served) -> String {
    let secret = served.private.write("secret", "the secret\n");
    format!("cat {}; echo inside > f; cat f", secret.display())
}

fn assert_confined(text: &str) {
    assert!(text.contains("inside\n"), "{text}");
    assert!(!text.contains("the secret"), "{text}");
}

/// Proves: S30.
#[test]
fn in_a_call_that_waits() {
    let mut served = Served::new();
    let attempt = attempt(&served);
    assert_confined(&served.sync(&attempt).text);
}

/// Proves: S30.
#[test]
fn in_a_call_that_does_not_wait() {
    let mut served = Served::new();
    let attempt = attempt(&served);
    let id = served.start(&attempt);
    let result = served.client.call("await", &json!({ "operation_id": id }));
    assert_confined(&result.text);
}

/// Proves: S30.
#[test]
fn after_waiting_in_the_queue() {
    let mut served = Served::with(&["--max-operations", "1"], &[]);
    let attempt = attempt(&served);
    let first = served.start("touch up; sleep 60");
    served.until_exists("up");
    let queued = served.start(&attempt);
    let status = json!({ "operation_id": queued });
    let status = served.client.call("status", &status);
    assert_eq!(status.structured["operations"][0]["state"], "queued");
    served
        .client
        .call("cancel", &json!({ "operation_id": first }));
    let result = served
        .client
        .call("await", &json!({ "operation_id": queued }));
    assert_confined(&result.text);
}

/// Proves: S30.
#[test]
fn after_the_sandbox_host_was_restarted() {
    let mut served = Served::new();
    let attempt = attempt(&served);
    assert_confined(&served.sync(&attempt).text);
    let server = served.client.pid();
    let hosts = || {
        let of_thread =
            |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("children"));
        let threads = std::fs::read_dir(format!("/proc/{server}/task")).unwrap();
        let lists = threads.filter_map(|entry| of_thread(entry.unwrap()).ok());
        let pids: Vec<String> = lists
            .flat_map(|list| {
                list.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        pids
    };
    let before = hosts();
    for host in &before {
        assert!(signal("KILL", host));
    }
    until(|| hosts().is_empty());
    assert_confined(&served.sync(&attempt).text);
    assert_ne!(hosts(), before);
}

#[test]
fn when_a_call_is_cancelled_and_another_follows() {
    let mut served = Served::new();
    let attempt = attempt(&served);
    let id = served.start("touch up; sleep 60");
    served.until_exists("up");
    served.client.call("cancel", &json!({ "operation_id": id }));
    assert_confined(&served.sync(&attempt).text);
}

/// Proves: S16.
#[test]
fn not_the_words_of_a_command_are_judged_but_what_it_does() {
    let mut served = Served::new();
    let words = "echo '/etc/shadow ../../.. ~/.ssh rm -rf / sudo $HOME'";
    let result = served.sync(words);
    assert!(
        result.text.starts_with("/etc/shadow ../../.. ~/.ssh"),
        "{}",
        result.text
    );
    // The same path in disguise is refused by the kernel.
    let disguised = served.sync("p=$(printf '%s%s' /etc/sha dow); cat $p");
    assert!(disguised.is_error, "{}", disguised.text);
}

/// Proves: S35.
#[test]
fn a_scope_around_the_usual_place_for_private_directories_has_them_elsewhere() {
    let project = ahma_tests::Workspace::new();
    let temporary = [("TMPDIR", project.path().to_str().unwrap())];
    let mut client = ahma_tests::mcp::McpProcess::connect(
        super::AHMA_MCP,
        &["--home", "fresh"],
        project.path(),
        &temporary,
    );
    let arguments = json!({ "command": "echo $HOME; ls -a", "execution_mode": "sync" });
    let result = client.call("sandboxed_shell", &arguments);
    let home = result.text.lines().next().unwrap();
    assert!(home.contains("/ahma-"), "{}", result.text);
    assert!(
        !std::path::Path::new(home).starts_with(project.path()),
        "{home}"
    );
    assert!(!result.text.contains("\nahma-"), "{}", result.text);
}

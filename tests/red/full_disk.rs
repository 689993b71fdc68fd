//! A scope and a temporary directory that a command has filled to the last byte.

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use ahma_tests::served::ahma_mcp;
use serde_json::json;

/// Proves: O27.
#[test]
fn a_disk_that_commands_fill_stops_nothing() {
    let base = Workspace::new();
    for name in ["scope", "tmp"] {
        base.make_directory(name);
    }
    // In namespaces of its own, where it may mount two small file systems.
    let script = format!(
        "mount -t tmpfs -o size=8m tmpfs scope && mount -t tmpfs -o size=8m tmpfs tmp && export TMPDIR=$PWD/tmp && \
         cd scope && exec {}",
        ahma_mcp()
    );
    let words = [
        "--user",
        "--map-root-user",
        "--mount",
        "bash",
        "-c",
        &script,
    ];
    let mut client = McpProcess::connect("unshare", &words, base.path(), &[]);
    let mut run = |command: &str| {
        let arguments = json!({ "command": command, "execution_mode": "sync" });
        client.call("sandboxed_shell", &arguments)
    };
    let filled =
        run("head -c 20000000 /dev/zero > fill; head -c 20000000 /dev/zero > ~/fill; ls -s fill");
    assert!(
        filled.text.contains("No space left on device"),
        "{filled:?}"
    );
    let output = run("seq 300000; echo the end");
    assert!(
        !output.is_error && output.text.contains("the end"),
        "{output:?}"
    );
    // What is watched appears, so that a new sandbox host is started.
    let made = run("rm fill && mkdir -p .vscode; head -c 20000000 /dev/zero > fill");
    assert!(made.text.contains("No space left on device"), "{made:?}");
    let next = run("echo x > .vscode/tasks.json || echo protected");
    assert!(next.text.contains("protected"), "{next:?}");
    assert!(
        run("rm fill ~/fill && echo room > f && cat f")
            .text
            .starts_with("room\n")
    );
}

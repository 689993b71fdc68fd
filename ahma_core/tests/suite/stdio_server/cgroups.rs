//! What an agent reads of a command that took more than its tool file allows, where cgroups keep the limits.

use ahma_tests::Workspace;
use serde_json::json;

use super::Served;

/// Proves: S75.
#[test]
#[ignore = "wants a delegated cgroup of version 2, which tests/vm/run has"]
fn delegated_cgroups_end_a_tool_with_the_limit_in_its_result() {
    let project = Workspace::new();
    let holds =
        "dd if=/dev/zero bs=\"$1\"M count=1 2>/dev/null | (sleep 1; cat) > /dev/null; echo end";
    let tool = json!({
        "name": "hold", "description": "Holds memory for a second.", "command": "sh",
        "fixed_args": ["-c", holds, "sh"], "limits": { "memory_mb": 100 }, "synchronous": true,
        "positional_args": [{ "name": "size", "type": "integer", "required": true }]
    });
    project.write(".ahma/tools/hold.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let little = served.client.call("hold", &json!({ "size": 40 }));
    let (output, end) = little.text.split_once('[').unwrap();
    assert_eq!(output, "end\n");
    assert!(end.contains("completed, exit code 0"), "{end}");
    let arguments = json!({ "name": "hold", "arguments": { "size": 200 } });
    let answer = served.client.request("tools/call", &arguments);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("memory limit 100 MiB, peak 100.0 MiB"),
        "{text}"
    );
    let denial = &answer["result"]["_meta"]["ahma/denial"];
    assert_eq!(denial["kind"], "limit-memory", "{denial}");
}

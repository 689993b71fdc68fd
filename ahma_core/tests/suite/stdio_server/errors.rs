//! Errors: their kinds for programs, and what is said of tools that cannot be called.

use serde_json::json;

use super::Served;

/// Proves: O36.
#[test]
fn errors_name_their_kind_for_programs() {
    let mut served = Served::with(&["--max-operations", "1", "--max-queue", "0"], &[]);
    let kind = |served: &mut Served, tool: &str, arguments: serde_json::Value| {
        let call = json!({ "name": tool, "arguments": arguments });
        let answer = served.client.request("tools/call", &call);
        answer["result"]["_meta"]["ahma/error"]["kind"].clone()
    };
    let shell = "sandboxed_shell";
    let sync = |command: &str| json!({ "command": command, "execution_mode": "sync" });
    for (tool, arguments, expected) in [
        (shell, json!({ "comand": "true" }), json!("validation")),
        (
            "status",
            json!({ "operation_id": "op_none" }),
            json!("validation"),
        ),
        (
            shell,
            json!({ "command": "true", "working_directory": "/etc" }),
            json!("refused"),
        ),
        (shell, sync("exit 1"), json!("failed")),
        (
            shell,
            json!({ "command": "sleep 60", "execution_mode": "sync", "timeout_seconds": 1 }),
            json!("timeout"),
        ),
        (shell, sync("true"), json!(null)),
    ] {
        let said = kind(&mut served, tool, arguments.clone());
        assert_eq!(said, expected, "{tool} {arguments}");
    }
    served.start("sleep 60");
    assert_eq!(kind(&mut served, shell, sync("true")), "rate");
}

/// Proves: O37.
#[test]
fn a_tool_that_is_not_offered_is_explained() {
    let project = ahma_tests::Workspace::new();
    let tool = |name: &str, more: serde_json::Value| {
        let mut tool = json!({ "name": name, "description": "T.", "command": "echo" });
        tool.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        tool.to_string()
    };
    project.write(
        ".ahma/tools/missing.json",
        tool("missing", json!({ "availability_check": "which no-such-program", "install_instructions": "get it" })),
    );
    project.write(
        ".ahma/tools/fitting.json",
        tool("unfitting", json!({ "only_if": ["x.toml"] })),
    );
    project.write(
        ".ahma/tools/off.json",
        tool("off", json!({ "enabled": false })),
    );
    let mut served = Served::of(project, &[]);
    for (name, expected) in [
        (
            "sandboxed_shel",
            "there is no tool `sandboxed_shel`; did you mean `sandboxed_shell`?",
        ),
        (
            "missing",
            "the tool `missing` is not available here: its check failed; get it",
        ),
        (
            "unfitting",
            "the tool `unfitting` does not apply here: the project has none of these: x.toml",
        ),
        ("off", "the tool `off` is switched off by its file"),
        ("zzz", "there is no tool `zzz`"),
    ] {
        let call = json!({ "name": name, "arguments": {} });
        let answer = served.client.request("tools/call", &call);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["message"], expected);
    }
}

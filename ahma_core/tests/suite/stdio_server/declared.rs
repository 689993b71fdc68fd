//! Tools that files declare, as a client calls them.

use std::fs;

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::{Value, json};

use super::Served;

/// A project with one tool that shows what it was called with.
fn project() -> Workspace {
    let project = Workspace::new();
    let tool = json!({
        "name": "show", "description": "Shows its arguments.", "command": "sh",
        "fixed_args": ["-c", "pwd; printf '<%s>' \"$@\"; echo; cat; echo \"$WORD\"", "sh"],
        "env": { "WORD": "of the file" },
        "subcommand": [
            {
                "name": "all", "description": "Everything.",
                "options": [
                    { "name": "level", "type": "integer", "minimum": 1, "maximum": 5 },
                    { "name": "loud", "type": "boolean" },
                    { "name": "text", "type": "string", "stdin": true }
                ],
                "positional_args": [
                    { "name": "paths", "type": "array", "items": { "type": "string", "format": "path" } }
                ]
            },
            { "name": "now", "description": "At once.", "synchronous": true }
        ]
    });
    project.write(".ahma/tools/show.json", tool.to_string());
    project
}

fn sync(served: &mut Served, tool: &str, mut arguments: Value) -> CallResult {
    arguments["execution_mode"] = json!("sync");
    served.client.call(tool, &arguments)
}

fn names(served: &mut Served) -> Vec<String> {
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Proves: T40.
#[test]
fn a_declared_tool_runs_with_its_arguments_in_its_place() {
    let project = project();
    project.make_directory("sub");
    let mut served = Served::of(project, &[]);
    let arguments = json!({
        "level": 3, "loud": true, "text": "in\n", "paths": ["a b", "c"], "working_directory": "sub"
    });
    let result = sync(&mut served, "show_all", arguments);
    assert!(!result.is_error, "{}", result.text);
    let directory = served.project.path().canonicalize().unwrap().join("sub");
    let expected = format!(
        "{}\n<all><--level=3><--loud><a b><c>\nin\nof the file\n",
        directory.display()
    );
    assert!(result.text.starts_with(&expected), "{}", result.text);
    assert_eq!(result.record["tool"], "show_all");
}

/// Proves: T40.
#[test]
fn wrong_arguments_are_all_named_and_nothing_runs() {
    let mut served = Served::of(project(), &[]);
    let arguments = json!({ "level": 9, "lowd": true, "paths": ["/etc/passwd"] });
    let result = sync(&mut served, "show_all", arguments);
    assert!(result.is_error);
    for part in ["level", "lowd", "loud"] {
        assert!(result.text.contains(part), "{part}: {}", result.text);
    }
    let outside = sync(&mut served, "show_all", json!({ "paths": ["/etc/passwd"] }));
    assert!(
        outside.is_error && outside.text.contains("/etc/passwd"),
        "{}",
        outside.text
    );
    let status = served.client.call("status", &json!({}));
    assert!(status.text.contains("no operations"), "{}", status.text);
}

/// Proves: O2, O5.
#[test]
fn a_call_waits_when_operator_caller_or_file_say_so() {
    let mut served = Served::of(project(), &[]);
    let started = served.client.call("show_all", &json!({}));
    assert!(started.text.starts_with("started op_"), "{}", started.text);
    let waited = served.client.call("show_now", &json!({}));
    assert!(waited.text.contains("<now>"), "{}", waited.text);
    let not_waited = served
        .client
        .call("show_now", &json!({ "execution_mode": "async" }));
    assert!(
        not_waited.text.starts_with("started op_"),
        "{}",
        not_waited.text
    );
    let mut always = Served::of(project(), &["--sync"]);
    let waited = always
        .client
        .call("show_all", &json!({ "execution_mode": "async" }));
    assert!(waited.text.contains("<all>"), "{}", waited.text);
    let shell = always
        .client
        .call("sandboxed_shell", &json!({ "command": "echo hi" }));
    assert!(shell.text.starts_with("hi\n"), "{}", shell.text);
}

/// Proves: T40.
#[test]
fn what_a_file_gives_up_is_taken_from_its_commands() {
    let project = Workspace::new();
    let tool = json!({
        "name": "quiet", "description": "Q.", "command": "sh", "synchronous": true, "writes": false,
        "fixed_args": ["-c", "echo x > file || echo refused; echo y > $TMPDIR/f && cat $TMPDIR/f"]
    });
    project.write(".ahma/tools/quiet.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let result = served.client.call("quiet", &json!({}));
    assert!(result.text.contains("refused\ny\n"), "{}", result.text);
    assert!(!served.project.path().join("file").exists());
    assert!(!served.sync("echo x > file").is_error);
}

/// Proves: T40.
#[test]
fn a_deadline_of_the_file_or_of_the_call_ends_the_command() {
    let project = Workspace::new();
    let mark = unique_mark();
    let tool = json!({
        "name": "slow", "description": "S.", "command": "sleep", "fixed_args": [mark],
        "timeout_seconds": 1, "synchronous": true
    });
    project.write(".ahma/tools/slow.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let result = served.client.call("slow", &json!({}));
    assert_eq!(result.record["state"], "timed_out", "{}", result.text);
    until(|| marked(&mark) == 0);
}

/// Proves: T5, T40.
#[test]
fn a_rejected_file_keeps_no_other_from_working() {
    let project = project();
    let broken =
        r#"{ "name": "broken", "description": "B.", "command": "ls -l", "descripton": 1 }"#;
    project.write(".ahma/tools/broken.json", broken);
    let mut served = Served::of(project, &[]);
    let names = names(&mut served);
    assert!(names.contains(&"show_all".to_owned()), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("broken")),
        "{names:?}"
    );
    assert!(!sync(&mut served, "show_all", json!({})).is_error);
    let info = served.client.call("get_server_info", &json!({}));
    let tools = &info.structured["tools"];
    assert_eq!(tools["loaded"], 2);
    let file = tools["rejected"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("broken.json"), "{tools}");
    // With what can be done about each.
    let faults = json!([
        "1:53: `ls -l` is not the name of one program\n\
         hint: put the program into `command` and the words after it into `fixed_args`",
        "1:62: unknown field `descripton`\nhint: did you mean `description`?",
    ]);
    assert_eq!(tools["rejected"][0]["faults"], faults);
}

/// Proves: T37.
#[test]
fn without_tool_files_those_of_the_program_are_served() {
    let project = Workspace::new();
    project.write("f", "x");
    let git = project.run("git", &["init", "-q"]);
    assert_eq!(git.code, 0, "{}", git.stderr);
    let mut served = Served::of(project, &[]);
    let listed = names(&mut served);
    assert_eq!(listed[0], "sandboxed_shell");
    for name in ["git_status", "git_commit", "git_log"] {
        assert!(listed.contains(&name.to_owned()), "{name}: {listed:?}");
    }
    assert!(
        !listed.contains(&"cargo_build".to_owned()),
        "there is no Cargo.toml"
    );
    let status = sync(&mut served, "git_status", json!({}));
    assert!(
        status.text.contains('f') && !status.is_error,
        "{}",
        status.text
    );
}

/// Proves: T40.
#[test]
fn the_operator_chooses_files_and_can_leave_the_shell_out() {
    let project = project();
    fs::copy(
        project.path().join(".ahma/tools/show.json"),
        project.path().join("other.json"),
    )
    .unwrap();
    let mut served = Served::of(project, &["--no-shell", "--tools", "show"]);
    let listed = names(&mut served);
    assert_eq!(
        listed.first().map(String::as_str),
        Some("await"),
        "{listed:?}"
    );
    assert!(listed.contains(&"show_now".to_owned()));
    let refused = served.client.request(
        "tools/call",
        &json!({ "name": "sandboxed_shell", "arguments": { "command": "true" } }),
    );
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// Proves: T40.
#[test]
fn tools_are_listed_with_title_promises_and_schema() {
    let project = Workspace::new();
    let tool = json!({
        "name": "look", "title": "Look around", "description": "L.", "command": "ls",
        "annotations": { "read_only": true, "open_world": false },
        "options": [{ "name": "all", "type": "boolean" }]
    });
    project.write(".ahma/tools/look.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let look = tools.iter().find(|tool| tool["name"] == "look").unwrap();
    assert_eq!(look["title"], "Look around");
    assert_eq!(
        look["annotations"],
        json!({ "readOnlyHint": true, "openWorldHint": false })
    );
    assert_eq!(look["inputSchema"]["properties"]["all"]["type"], "boolean");
    assert!(look["description"].as_str().unwrap().starts_with("L."));
}

/// Proves: T53, T55, T56.
#[test]
fn exit_codes_of_success_and_variables_of_a_call_count() {
    let project = Workspace::new();
    let tool = json!({
        "name": "probe", "description": "Ends as it is told to.", "command": "sh", "synchronous": true,
        "fixed_args": ["-c", "echo \"word: $WORD\"; exit \"$1\"", "sh"], "success_exit_codes": [0, 3],
        "env": { "WORD": "of the file" },
        "options": [{ "name": "word", "type": "string", "env": "WORD" }],
        "positional_args": [{ "name": "code", "type": "integer", "required": true }]
    });
    project.write(
        ".ahma/tools/probe.json",
        format!("// What is tested here.\n{tool}"),
    );
    let mut served = Served::of(project, &[]);
    let mut probe = |arguments: Value| served.client.call("probe", &arguments);
    let well = probe(json!({ "code": 3, "word": "of the call" }));
    assert!(!well.is_error, "{well:?}");
    assert!(well.text.starts_with("word: of the call\n"), "{well:?}");
    assert!(well.text.contains("completed, exit code 3"), "{well:?}");
    let badly = probe(json!({ "code": 1 }));
    assert!(badly.is_error, "{badly:?}");
    assert!(badly.text.contains("word: of the file"), "{badly:?}");
    assert!(badly.text.contains("failed, exit code 1"), "{badly:?}");
}

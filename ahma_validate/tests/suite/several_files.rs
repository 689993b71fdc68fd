//! Faults that only several files together can have, and files that must not hide each other.

use ahma_tests::Workspace;

use crate::{AHMA_VALIDATE, GOOD};

fn tool(name: &str) -> String {
    GOOD.replace("demo", name)
}

fn sequence(name: &str, calls: &str) -> String {
    format!(
        r#"{{
  "name": "{name}",
  "description": "A flow.",
  "command": "sequence",
  "sequence": [
    {{ "tool": "{calls}" }}
  ]
}}
"#
    )
}

/// Proves: T13.
#[test]
fn of_two_files_with_one_tool_name_the_later_is_rejected_and_both_are_named() {
    let workspace = Workspace::new();
    workspace.write("tools/a.json", tool("git"));
    workspace.write("tools/b.json", tool("git"));
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

#[test]
fn a_name_made_of_tool_and_subcommand_collides_with_a_plain_one() {
    let workspace = Workspace::new();
    let nested = r#"{
  "name": "git",
  "description": "Git.",
  "command": "git",
  "subcommand": [
    { "name": "status", "description": "Status." }
  ]
}
"#;
    workspace.write("tools/a.json", nested);
    workspace.write("tools/b.json", tool("git_status"));
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

/// Proves: T21.
#[test]
fn a_cycle_across_files_is_reported_in_each_of_them() {
    let workspace = Workspace::new();
    workspace.write("tools/a.json", sequence("a", "b"));
    workspace.write("tools/b.json", sequence("b", "c"));
    workspace.write("tools/c.json", sequence("c", "a"));
    workspace.write("tools/leads-in.json", sequence("leads-in", "a"));
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

#[test]
fn a_step_into_a_rejected_file_says_which_file_to_correct() {
    let workspace = Workspace::new();
    workspace.write("tools/a.json", sequence("flow", "git"));
    workspace.write("tools/b.json", tool("git").replace("A demo.", ""));
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

/// Proves: T7.
#[test]
fn all_faults_of_all_files_are_reported_at_once() {
    let workspace = Workspace::new();
    workspace.write("tools/a.json", "{");
    workspace.write(
        "tools/b.json",
        r#"{"nam": 1, "description": 2, "command": "x", "title": ""}"#,
    );
    workspace.write("tools/c.json", tool("good"));
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

#[test]
fn a_single_file_may_call_its_neighbours_and_they_are_not_judged() {
    let workspace = Workspace::new();
    workspace.write("tools/flow.json", sequence("flow", "git"));
    workspace.write("tools/git.json", tool("git"));
    workspace.write("tools/broken.json", "{");
    let finished = workspace.run(AHMA_VALIDATE, &["tools/flow.json"]);
    assert_eq!(finished.stdout, "1 file good, offering 1 tool\n");
    assert_eq!(finished.code, 0);
}

#[test]
fn a_file_with_faults_of_its_own_is_told_about_its_steps_and_names_too() {
    let workspace = Workspace::new();
    let text = sequence("status", "nope").replace("A flow.", "");
    workspace.write("tools/a.json", text);
    insta::assert_snapshot!(workspace.run(AHMA_VALIDATE, &["tools"]).stdout);
}

/// Proves: T39.
#[test]
fn a_thousand_bad_steps_are_counted_not_listed() {
    let workspace = Workspace::new();
    let steps: Vec<String> = (0..90)
        .map(|step| format!(r#"{{"tool":"no{step}"}}"#))
        .collect();
    let flow = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"F.","sequence":[{}]}}"#,
            steps.join(",")
        )
    };
    let flows: Vec<String> = (0..20)
        .map(|flow_number| flow(&format!("f{flow_number}")))
        .collect();
    let text = format!(
        r#"{{"name":"t","description":"T.","command":"t","subcommand":[{}]}}"#,
        flows.join(",")
    );
    workspace.write("tools/a.json", text);
    let finished = workspace.run(AHMA_VALIDATE, &["tools"]);
    assert!(
        finished
            .stdout
            .ends_with("1 file rejected for 100 faults\n"),
        "{}",
        finished.stdout.len()
    );
}

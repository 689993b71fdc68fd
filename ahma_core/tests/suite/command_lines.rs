//! Names of tools, and the fixed words of their command lines.

use ahma_core::config::{Action, ToolSpec};
use serde_json::json;

use crate::{tool, tools_of};

fn words(tool: &ToolSpec) -> String {
    match &tool.action {
        Action::Run(line) => {
            let mut words = vec![line.program.as_str()];
            words.extend(line.words.iter().map(String::as_str));
            words.join(" ")
        }
        Action::Sequence(_) => panic!("{} is a sequence", tool.name),
    }
}

/// Proves: T1, T10.
#[test]
fn nested_subcommands_become_words_and_parts_of_the_name() {
    let tools = tools_of(&json!({
        "name": "git", "description": "G.", "command": "git", "fixed_args": ["--no-pager"],
        "subcommand": [
            { "name": "default", "description": "Help." },
            { "name": "remote", "description": "R.", "subcommand": [
                { "name": "default", "description": "List." },
                { "name": "add", "description": "Add.", "fixed_args": ["--no-tags"] }
            ]}
        ]
    }));
    let lines: Vec<(&str, String)> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), words(tool)))
        .collect();
    assert_eq!(
        lines,
        [
            ("git", "git --no-pager".to_owned()),
            ("git_remote", "git --no-pager remote".to_owned()),
            (
                "git_remote_add",
                "git --no-pager remote add --no-tags".to_owned()
            ),
        ]
    );
}

/// Proves: T32.
#[test]
fn a_command_of_its_own_begins_the_line_anew() {
    let tools = tools_of(&json!({
        "name": "files", "description": "F.", "command": "ls", "fixed_args": ["-x"],
        "subcommand": [
            { "name": "count", "description": "C.", "command": "wc", "fixed_args": ["-l"] },
            { "name": "list", "description": "L." }
        ]
    }));
    assert_eq!(words(&tool(&tools, "files_count")), "wc -l");
    assert_eq!(words(&tool(&tools, "files_list")), "ls -x list");
}

/// Proves: T11.
#[test]
fn subcommands_nest_as_deep_as_a_name_can_be() {
    let deepest = 31;
    let mut level = json!({ "name": "a", "description": "A." });
    for _ in 1..deepest {
        level = json!({ "name": "a", "description": "A.", "subcommand": [level] });
    }
    let tool = json!({ "name": "a", "description": "A.", "command": "a", "subcommand": [level] });
    let tools = tools_of(&tool);
    assert_eq!(tools[0].name, format!("a{}", "_a".repeat(deepest)));
    assert_eq!(words(&tools[0]).split(' ').count(), deepest + 1);
}

#[test]
fn the_longest_name_allowed_has_64_characters() {
    let name = "n".repeat(64);
    let tools = tools_of(&json!({ "name": name, "description": "N.", "command": "n" }));
    assert_eq!(tools[0].name, name);
}

//! `ahma_mcp new` for real programs: nothing is drafted that is not in their help, and drafted tools work.

use std::collections::HashSet;

use ahma_core::config::{Action, Delivery, ToolSpec};
use ahma_tests::Workspace;
use ahma_tests::help_flags::flags_in_help;
use ahma_tests::served::over_stdio::Served;
use serde_json::json;

use super::drafts::tools;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

/// Programs that every machine has on which this is developed.
const USUAL: [&str; 52] = [
    "basename", "cat", "chmod", "chown", "cksum", "comm", "cp", "csplit", "cut", "date", "dd",
    "df", "dirname", "du", "env", "expand", "factor", "fmt", "fold", "grep", "head", "id",
    "install", "join", "ln", "ls", "md5sum", "mkdir", "mktemp", "mv", "nl", "numfmt", "od",
    "paste", "pr", "readlink", "realpath", "rm", "sed", "seq", "shuf", "sort", "split", "stat",
    "tac", "tail", "tar", "tee", "touch", "tr", "uniq", "wc",
];
/// Programs that CI has.
const FURTHER: [&str; 13] = [
    "curl",
    "gh",
    "make",
    "node",
    "npm",
    "openssl",
    "perl",
    "pip",
    "python3",
    "rg",
    "rustc",
    "ssh-keygen",
    "xz",
];

/// Every flag that tools can pass.
pub(super) fn flags(tools: &[ToolSpec]) -> Vec<(ToolSpec, String)> {
    let mut all = Vec::new();
    for tool in tools {
        for argument in &tool.arguments {
            let flag = match &argument.delivery {
                Delivery::Flag(flag) | Delivery::File(Some(flag)) => Some(flag.text.clone()),
                _ => None,
            };
            let negated = argument.negated_flag.clone();
            all.extend(
                flag.into_iter()
                    .chain(negated)
                    .map(|flag| (tool.clone(), flag)),
            );
        }
    }
    all
}

/// Every flag in the help of a tool's command, asked for in both ways.
fn known(workspace: &Workspace, tool: &ToolSpec) -> HashSet<String> {
    let Action::Run(line) = &tool.action else {
        panic!("{} is a sequence", tool.name);
    };
    let mut help = String::new();
    let is_git = line.program == "git";
    for flag in ["--help", "-h"] {
        // Of some programs it is another flag, and `git --help` opens the manual.
        let is_asked = match flag {
            "-h" => is_git || ["cargo", "npm"].contains(&line.program.as_str()),
            _ => !is_git,
        };
        if is_asked {
            let mut words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            words.push(flag);
            let variables = [("COLUMNS", "120"), ("LC_ALL", "C.UTF-8")];
            let finished = workspace.run_with(&line.program, &words, &variables);
            help.push_str(&finished.stdout);
            help.push_str(&finished.stderr);
        }
    }
    flags_in_help(&help)
}

/// Drafts programs; how many there were, and how many flags.
fn assert_nothing_is_invented(programs: &[&str]) -> (usize, usize) {
    let workspace = Workspace::new();
    let mut invented = Vec::new();
    let (mut drafted, mut checked) = (0, 0);
    for program in programs {
        let finished = workspace.run(AHMA_MCP, &["new", program]);
        assert_eq!(finished.code, 0, "{program}: {}", finished.stderr);
        drafted += 1;
        for tool in tools(&finished.stdout) {
            let known = known(&workspace, &tool);
            for (tool, flag) in flags(&[tool]) {
                checked += 1;
                if !known.contains(&flag) {
                    invented.push(format!("{} {flag}", tool.name));
                }
            }
        }
    }
    assert!(invented.is_empty(), "not in any help text: {invented:#?}");
    (drafted, checked)
}

/// Proves: P60, P61.
#[test]
fn every_flag_drafted_for_forty_usual_programs_exists() {
    let (drafted, checked) = assert_nothing_is_invented(&USUAL);
    assert!(drafted >= 40, "{drafted}");
    assert!(checked > 500, "{checked}");
}

/// Proves: P61.
#[test]
fn every_flag_drafted_for_subcommands_of_git_and_cargo_exists() {
    let (drafted, checked) = assert_nothing_is_invented(&["git", "cargo"]);
    assert_eq!(drafted, 2);
    assert!(checked > 500, "{checked}");
}

/// Proves: P61.
#[test]
#[ignore = "needs curl, gh, make, node, npm, openssl, pip and rg, which not every developer has; CI has them"]
fn every_flag_drafted_for_further_programs_exists() {
    let (drafted, checked) = assert_nothing_is_invented(&FURTHER);
    assert_eq!(drafted, FURTHER.len());
    assert!(checked > 1000, "{checked}");
}

/// Proves: P64.
#[test]
fn drafted_tools_can_be_called() {
    let project = Workspace::new();
    project.write("a.txt", "one\ntwo\n");
    project.run("git", &["init", "-q"]);
    for words in [&["wc"][..], &["ls"], &["git", "status"]] {
        let finished = project.run(AHMA_MCP, &[&["new"], words, &["--add"]].concat());
        assert_eq!(finished.code, 0, "{words:?}: {}", finished.stderr);
    }
    let mut served = Served::of(project, &[]);
    let mut call = |tool: &str, mut arguments: serde_json::Value| {
        arguments["execution_mode"] = json!("sync");
        let result = served.client.call(tool, &arguments);
        assert!(!result.is_error, "{tool}: {}", result.text);
        result.text
    };
    let counted = call("wc", json!({ "lines": true, "file": ["a.txt"] }));
    assert!(counted.starts_with("2 a.txt\n"), "{counted}");
    let listed = call("ls", json!({ "all": true, "1": true }));
    assert!(
        listed.starts_with(".\n..\n.ahma\n.git\na.txt\n"),
        "{listed}"
    );
    let status = call("git_status", json!({ "short": true }));
    assert!(status.contains("?? a.txt"), "{status}");
}

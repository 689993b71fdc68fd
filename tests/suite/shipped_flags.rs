//! No flag of a shipped tool is invented: each one is in the help of the real program.
//!
//! Only help is asked for; no command is run that could change or fetch anything.

use std::collections::HashSet;

use ahma_core::config::{Action, CommandLine, Delivery, OutputKind, ToolSpec};
use ahma_tests::Workspace;
use ahma_tests::help_flags::flags_in_help;
use serde_json::Value;

use crate::shipped;

/// Further help texts of commands whose own help leaves out options they share with others.
const SHARED_OPTIONS: [(&str, &[&str]); 6] = [
    (
        "git --no-pager -c core.editor=true diff",
        &["git diff --git-completion-helper-all"],
    ),
    (
        "git --no-pager -c core.editor=true log",
        &["git rev-list -h", "git diff --git-completion-helper-all"],
    ),
    (
        "git --no-pager -c core.editor=true show",
        &["git diff --git-completion-helper-all"],
    ),
    (
        "git --no-pager -c core.editor=true stash show",
        &["git stash push -h", "git diff -h"],
    ),
    ("cargo clippy", &["cargo check -h"]),
    ("cargo clippy --fix", &["cargo check -h", "cargo fix -h"]),
];

/// How a program is asked for help.
fn help_flag(program: &str) -> &'static str {
    match program {
        // `--help` of these opens a manual page.
        "git" | "cargo" | "npm" => "-h",
        _ => "--help",
    }
}

fn command_line(tool: &ToolSpec) -> &CommandLine {
    match &tool.action {
        Action::Run(line) => line,
        Action::Sequence(_) => panic!("{} is a sequence", tool.name),
    }
}

/// Every flag the tool can pass, fixed ones included.
fn flags(tool: &ToolSpec) -> Vec<String> {
    let words = command_line(tool).words.iter();
    let mut flags: Vec<String> = words
        .filter(|word| word.starts_with('-'))
        .cloned()
        .collect();
    for argument in &tool.arguments {
        match &argument.delivery {
            Delivery::Flag(flag) | Delivery::File(Some(flag)) => flags.push(flag.text.clone()),
            Delivery::Positional(_) | Delivery::File(None) | Delivery::Stdin | Delivery::Env(_) => {
            }
        }
    }
    flags
}

/// A directory that Git takes for a repository: some of its help wants to be in one.
fn empty_repository() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(".git/HEAD", "ref: refs/heads/main\n");
    workspace.make_directory(".git/objects");
    workspace.make_directory(".git/refs");
    workspace
}

fn help_of(words: &[&str]) -> String {
    let finished = empty_repository().run(words[0], &words[1..]);
    let help = format!("{}\n{}", finished.stdout, finished.stderr);
    assert!(help.len() > 20, "{words:?} printed no help: {help}");
    help
}

/// `git log` and `git show` take options that only the manual lists. Given one of them together with
/// an option that does not exist, Git refuses to run and complains of the first it does not know.
fn git_history_knows(tool: &ToolSpec, flag: &str) -> bool {
    let Some(command @ ("log" | "show")) = tool.name.strip_prefix("git_") else {
        return false;
    };
    let complaint = |flag: &str| {
        // Twice: the first could be taken for the value of the flag.
        let args = [
            command,
            "--all",
            flag,
            "--no-such-option",
            "--no-such-option",
        ];
        let finished = empty_repository().run("git", &args);
        assert_ne!(finished.code, 0, "git {args:?} was not refused");
        finished.stderr
    };
    let named = format!("unrecognized argument: {flag}");
    [flag.to_owned(), format!("{flag}=x")]
        .iter()
        .any(|tried| !complaint(tried).contains(&named))
}

fn help_of_tool(line: &CommandLine) -> HashSet<String> {
    let mut words = vec![line.program.as_str()];
    words.extend(line.words.iter().map(String::as_str));
    let key = words.join(" ");
    words.push(help_flag(&line.program));
    let mut found = flags_in_help(&help_of(&words));
    // Fixed flags can belong to the program as a whole.
    found.extend(flags_in_help(&help_of(&[&line.program, "--help"])));
    let shared = SHARED_OPTIONS.iter().filter(|(command, _)| *command == key);
    for further in shared.flat_map(|(_, further)| further.iter()) {
        let words: Vec<&str> = further.split(' ').collect();
        found.extend(flags_in_help(&help_of(&words)));
    }
    found
}

/// Tools whose programs come by another way than the tool they belong to.
const ADD_ONS: [&str; 2] = ["cargo_nextest", "python_pytest"];

fn is_add_on(tool: &ToolSpec) -> bool {
    ADD_ONS.iter().any(|add_on| tool.name.starts_with(add_on))
}

fn assert_flags_exist(file: &str) {
    assert_flags_of_tools_exist(shipped(file).into_iter().filter(|tool| !is_add_on(tool)));
}

fn assert_flags_of_tools_exist(tools: impl Iterator<Item = ToolSpec>) {
    let mut checked = 0;
    let mut invented = Vec::new();
    for tool in tools {
        let known = help_of_tool(command_line(&tool));
        for flag in flags(&tool) {
            checked += 1;
            if !known.contains(&flag) && !git_history_knows(&tool, &flag) {
                invented.push(format!("{} {flag}", tool.name));
            }
        }
    }
    assert!(invented.is_empty(), "not in any help text: {invented:#?}");
    assert!(checked > 0, "no flag was checked");
}

/// Proves: T30.
#[test]
fn flags_of_git_exist() {
    assert_flags_exist("git.json");
}

/// Proves: T30.
#[test]
fn flags_of_cargo_exist() {
    assert_flags_exist("cargo.json");
}

/// Proves: T30.
#[test]
#[ignore = "needs npm, which not every developer has; CI installs it"]
fn flags_of_npm_exist() {
    assert_flags_exist("npm.json");
}

/// Proves: T30.
#[test]
fn flags_of_python_exist() {
    assert_flags_exist("python.json");
}

/// Proves: T30.
#[test]
#[ignore = "needs make, which not every developer has; CI installs it"]
fn flags_of_make_exist() {
    assert_flags_exist("make.json");
}

/// Proves: T30.
#[test]
fn flags_of_files_exist() {
    assert_flags_exist("files.json");
}

/// Proves: T30.
#[test]
#[ignore = "needs cargo-nextest and pytest, which not every developer has; CI installs them"]
fn flags_of_add_ons_exist() {
    for file in ["cargo.json", "python.json"] {
        assert_flags_of_tools_exist(shipped(file).into_iter().filter(is_add_on));
    }
}

/// Proves: T30.
#[test]
#[ignore = "needs ripgrep, which not every developer has; CI installs it"]
fn flags_of_rg_exist() {
    assert_flags_exist("rg.json");
}

/// Proves: T30.
#[test]
#[ignore = "needs the GitHub CLI, which not every developer has; CI installs it"]
fn flags_of_gh_exist() {
    assert_flags_exist("gh.json");
}

/// The fields that a command of the GitHub CLI can print as JSON. Asked for none, it names them and does nothing.
fn fields_of(line: &CommandLine) -> HashSet<String> {
    let words = line.words.iter().map(String::as_str);
    let words: Vec<&str> = words.chain(["--json"]).collect();
    let finished = Workspace::new().run(&line.program, &words);
    let names = finished.stderr.lines();
    let names = names.filter_map(|line| line.strip_prefix("  "));
    names.map(str::to_owned).collect()
}

/// Proves: T30.
#[test]
#[ignore = "needs the GitHub CLI, which not every developer has; CI installs it"]
fn default_fields_of_gh_exist() {
    let mut checked = Vec::new();
    for tool in shipped("gh.json") {
        let json = tool.arguments.iter().find(|it| it.name == "json");
        let default = json.and_then(|it| it.default.as_ref());
        let Some(Value::Array(default)) = default else {
            continue;
        };
        let known = fields_of(command_line(&tool));
        let invented: Vec<&Value> = default
            .iter()
            .filter(|field| !known.contains(field.as_str().unwrap()))
            .collect();
        assert!(invented.is_empty(), "{}: {invented:?}", tool.name);
        checked.push(tool.name);
    }
    let with_json = shipped("gh.json").into_iter();
    let with_json = with_json.filter(|it| it.result.kind == OutputKind::Json);
    let with_json: Vec<String> = with_json.map(|it| it.name).collect();
    assert_eq!(checked, with_json);
}

#[test]
fn an_invented_flag_of_git_is_noticed() {
    let log = shipped("git.json")
        .into_iter()
        .find(|tool| tool.name == "git_log")
        .unwrap();
    assert!(git_history_knows(&log, "--graph"));
    assert!(!git_history_knows(&log, "--grap-h"));
}

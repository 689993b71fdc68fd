//! The shipped tools as a whole: what ships, what waits, what is narrowed.

use ahma_core::config::{Action, Delivery, ToolSpec};
use ahma_tests::{shipped_tools, stem};

use crate::shipped;

fn every_leaf() -> Vec<ToolSpec> {
    let files = shipped_tools();
    files
        .iter()
        .flat_map(|path| shipped(path.file_name().unwrap().to_str().unwrap()))
        .collect()
}

fn tool(name: &str) -> ToolSpec {
    every_leaf()
        .into_iter()
        .find(|tool| tool.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_promised_tools_ship() {
    let names: Vec<String> = shipped_tools().iter().map(|path| stem(path)).collect();
    assert_eq!(
        names,
        ["cargo", "files", "gh", "git", "make", "npm", "python", "rg"]
    );
}

/// Proves: T31.
#[test]
fn what_changes_the_project_waits_and_what_takes_long_does_not() {
    for name in [
        "cargo_add",
        "cargo_remove",
        "cargo_update",
        "npm_install",
        "npm_uninstall",
        "npm_update",
        "git_commit",
        "git_add",
        "git_switch",
        "python_pip_install",
    ] {
        assert!(tool(name).synchronous, "{name}");
    }
    for name in [
        "cargo_build",
        "cargo_test",
        "cargo_clippy",
        "npm_run",
        "npm_ci",
        "git_clone",
        "git_fetch",
        "make",
        "python_pytest",
    ] {
        assert!(!tool(name).synchronous, "{name}");
    }
}

#[test]
fn tools_of_one_kind_of_project_stay_out_of_others() {
    for (name, condition) in [
        ("cargo_build", "Cargo.toml"),
        ("npm_run", "package.json"),
        ("make", "Makefile"),
        ("python_pytest", "pyproject.toml"),
        ("git_commit", ".git"),
    ] {
        let only_if = tool(name).only_if;
        assert!(
            only_if.iter().any(|path| path == condition),
            "{name}: {only_if:?}"
        );
    }
}

#[test]
fn a_tool_that_may_be_missing_says_how_to_install_it() {
    for tool in every_leaf() {
        if tool.name.starts_with("files_") {
            continue;
        }
        assert!(tool.availability.is_some(), "{}", tool.name);
        assert!(tool.install_instructions.is_some(), "{}", tool.name);
    }
    let gh = tool("gh_pr_list").install_instructions.unwrap();
    assert!(gh.contains("--pass-env GH_TOKEN"), "{gh}");
}

#[test]
fn looking_at_files_can_neither_write_nor_reach_the_network() {
    for name in [
        "rg",
        "rg_files",
        "rg_types",
        "files_list",
        "files_find",
        "files_head",
        "files_tail",
        "files_count",
        "files_diff",
        "files_usage",
    ] {
        let tool = tool(name);
        assert_eq!(tool.annotations.read_only, Some(true), "{name}");
        assert!(
            tool.restrictions.no_writes && tool.restrictions.no_network,
            "{name}"
        );
    }
}

#[test]
fn what_can_destroy_something_says_so() {
    for name in [
        "git_restore",
        "git_reset",
        "git_rm",
        "git_mv",
        "git_branch",
        "git_switch",
        "git_tag",
        "git_rebase",
        "git_push",
        "git_stash_drop",
        "git_worktree_remove",
        "cargo_clean",
        "cargo_fix",
        "files_copy",
        "files_move",
        "python_venv",
        "python_pip_uninstall",
        "gh_pr_merge",
        "gh_pr_close",
        "gh_pr_checkout",
    ] {
        assert_eq!(tool(name).annotations.destructive, Some(true), "{name}");
    }
}

#[test]
fn no_shipped_tool_knows_a_path_of_any_project() {
    for tool in every_leaf() {
        if let Action::Run(line) = &tool.action {
            let words = line.words.iter().chain([&line.program]);
            assert!(
                words.clone().all(|word| !word.contains('/')),
                "{}: {line:?}",
                tool.name
            );
        }
        for argument in &tool.arguments {
            let default = argument
                .default
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(!default.contains('/'), "{} {}", tool.name, argument.name);
        }
    }
}

#[test]
fn nothing_among_files_and_rg_can_start_another_program() {
    let starters = [
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-delete",
        "-fprint",
        "-fls",
        "--pre",
        "--hostname-bin",
        "--compress-program",
        "--to-command",
    ];
    for tool in every_leaf() {
        if !tool.name.starts_with("files_") && !tool.name.starts_with("rg") {
            continue;
        }
        for argument in &tool.arguments {
            if let Delivery::Flag(flag) = &argument.delivery {
                assert!(
                    !starters.contains(&flag.text.as_str()),
                    "{} {}",
                    tool.name,
                    flag.text
                );
            }
        }
    }
}

#[test]
fn every_leaf_runs_a_command_and_describes_each_argument() {
    for tool in every_leaf() {
        assert!(matches!(tool.action, Action::Run(_)), "{}", tool.name);
        for argument in &tool.arguments {
            assert!(
                argument.description.is_some(),
                "{} {}",
                tool.name,
                argument.name
            );
        }
    }
}

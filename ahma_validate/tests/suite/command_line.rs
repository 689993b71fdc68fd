//! The command line: help, version, formats, exit codes, where files are looked for.

use ahma_tests::{Workspace, repository};

use crate::{AHMA_VALIDATE, GOOD};

/// Proves: P12.
#[test]
fn help_shows_an_example() {
    let finished = Workspace::new().run(AHMA_VALIDATE, &["--help"]);
    assert_eq!(finished.code, 0);
    assert!(
        finished.stdout.contains("ahma_validate tools/"),
        "{}",
        finished.stdout
    );
}

/// Proves: P12.
#[test]
fn version_is_that_of_the_package() {
    let finished = Workspace::new().run(AHMA_VALIDATE, &["--version"]);
    let expected = concat!("ahma_validate ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((finished.code, finished.stdout.as_str()), (0, expected));
}

#[test]
fn the_shipped_tools_and_prompts_are_accepted() {
    for directory in ["tools", "tools/prompts"] {
        let directory = repository().join(directory);
        let finished = Workspace::new().run(AHMA_VALIDATE, &[directory.to_str().unwrap()]);
        assert_eq!(finished.code, 0, "{}", finished.stdout);
    }
}

/// Proves: T7.
#[test]
fn json_lists_every_file_asked_for() {
    let workspace = Workspace::new();
    workspace.write("tools/a.json", GOOD);
    workspace.write("tools/b.json", "{\n  \"nme\": \"b\"\n}");
    let finished = workspace.run(AHMA_VALIDATE, &["--format", "json", "tools/"]);
    assert_eq!(finished.code, 1);
    insta::assert_snapshot!(finished.stdout);
}

#[test]
fn a_path_that_does_not_exist_is_bad_usage() {
    let finished = Workspace::new().run(AHMA_VALIDATE, &["nowhere"]);
    let expected = "error: there is no file or directory nowhere\n";
    assert_eq!((finished.code, finished.stderr.as_str()), (2, expected));
}

#[test]
fn an_unknown_flag_is_bad_usage() {
    assert_eq!(Workspace::new().run(AHMA_VALIDATE, &["--fix"]).code, 2);
}

#[test]
fn without_arguments_and_tools_the_next_step_is_named() {
    let finished = Workspace::new().run(AHMA_VALIDATE, &[]);
    assert_eq!(finished.code, 2);
    assert!(
        finished.stderr.contains("hint: name files or directories"),
        "{}",
        finished.stderr
    );
}

#[test]
fn the_projects_own_directory_comes_before_the_common_one() {
    let workspace = Workspace::new();
    workspace.write(".ahma/tools/a.json", GOOD);
    workspace.write("tools/b.json", "broken, and not looked at");
    let finished = workspace.run(AHMA_VALIDATE, &[]);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (0, "1 file good, offering 1 tool\n")
    );
}

#[test]
fn in_the_common_directory_only_files_naming_our_schema_count() {
    let workspace = Workspace::new();
    workspace.write("tools/other.json", r#"{"unrelated": true}"#);
    let ours = GOOD.replacen('{', r#"{ "$schema": "../docs/mtdf.schema.json","#, 1);
    workspace.write("tools/ours.json", &ours);
    workspace.write("tools/ours-but-broken.json", ours.replace("echo", ""));
    workspace.write("tools/ours-but-no-json.json", &ours[..ours.len() - 3]);
    workspace.write("tools/mentions.json", r#"{"a": "see mtdf.schema.json"}"#);
    workspace.write("tools/mtdf.schema.json", "{}");
    let finished = workspace.run(AHMA_VALIDATE, &["--format", "json"]);
    assert_eq!(finished.code, 1);
    let note = "note: 2 of the files in tools were passed over";
    assert!(finished.stderr.starts_with(note), "{}", finished.stderr);
    insta::assert_snapshot!(finished.stdout);
}

#[test]
fn a_directory_without_tool_files_is_no_error() {
    let workspace = Workspace::new();
    workspace.write("tools/read.me", "");
    let finished = workspace.run(AHMA_VALIDATE, &["tools"]);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (0, "0 files good, offering 0 tools\n")
    );
}

#[test]
fn one_file_named_in_two_ways_is_one_file() {
    let workspace = Workspace::new();
    let path = workspace.write("tools/a.json", GOOD);
    let args = ["tools", "./tools/a.json", path.to_str().unwrap()];
    let finished = workspace.run(AHMA_VALIDATE, &args);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (0, "1 file good, offering 1 tool\n")
    );
}

#[test]
fn a_fault_far_into_a_line_is_shown_at_its_column() {
    let workspace = Workspace::new();
    for (filler, shows_line) in [(300, true), (5_000, false)] {
        let text = GOOD
            .replace("A demo.", &"x".repeat(filler))
            .replace("echo\"", "echo\", \"q\": 1");
        workspace.write("x.json", text);
        let column = GOOD.len() - " }".len() + filler - "A demo.".len() + ", ".len() + 1;
        let finished = workspace.run(AHMA_VALIDATE, &["x.json"]);
        let place = format!("x.json:1:{column}\n");
        assert!(
            finished.stdout.contains(&place),
            "{place}{}",
            finished.stdout
        );
        assert_eq!(
            finished.stdout.contains("^^^"),
            shows_line,
            "{}",
            finished.stdout
        );
    }
}

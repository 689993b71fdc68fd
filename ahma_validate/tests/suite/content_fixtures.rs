//! Prompt and resource files: every broken fixture has one fault, and every good one none. And files that are right and probably not
//! meant so: they are accepted, with a warning.

use std::fs;
use std::path::Path;

use ahma_tests::{Workspace, fixtures, stem};

use crate::AHMA_VALIDATE;

/// What is printed of a file, in a directory from whose name its kind is seen.
fn printed(kind: &str, fixture: &Path, content: &[u8]) -> (i32, String) {
    let workspace = Workspace::new();
    let file = format!("{kind}/{}.json", stem(fixture));
    workspace.write(&file, content);
    let finished = workspace.run(AHMA_VALIDATE, &[&file]);
    (finished.code, finished.stdout)
}

/// Proves: P39.
#[test]
fn each_broken_prompt_or_resource_is_explained_as_its_snapshot_says() {
    for kind in ["prompts", "resources"] {
        for fixture in fixtures(&format!("{kind}-broken")) {
            let name = stem(&fixture);
            let (code, stdout) = printed(kind, &fixture, &fs::read(&fixture).unwrap());
            assert_eq!(code, 1, "{name}: {stdout}");
            let end = "1 file rejected for 1 fault\n";
            assert!(stdout.ends_with(end), "{kind}/{name}: {stdout}");
            assert!(stdout.contains("= help: "), "{kind}/{name}: {stdout}");
            insta::assert_snapshot!(format!("{kind}-{name}"), stdout);
        }
    }
}

/// Proves: P39.
#[test]
fn good_prompts_and_resources_are_accepted_without_a_word() {
    for kind in ["prompts", "resources"] {
        for fixture in fixtures(&format!("{kind}-good")) {
            let (code, stdout) = printed(kind, &fixture, &fs::read(&fixture).unwrap());
            assert_eq!((code, stdout.lines().count()), (0, 1), "{kind}: {stdout}");
        }
    }
}

/// Proves: P39.
#[test]
fn the_kind_is_seen_from_the_directory_or_said() {
    let workspace = Workspace::new();
    let prompt = r#"{ "name": "a", "description": "A.", "messages": [{ "text": "a" }] }"#;
    workspace.write(".ahma/prompts/a.json", prompt);
    workspace.write("others/a.json", prompt);
    assert_eq!(workspace.run(AHMA_VALIDATE, &[]).code, 0);
    assert_eq!(workspace.run(AHMA_VALIDATE, &["others"]).code, 1);
    let said = ["--kind", "prompts", "others"];
    assert_eq!(workspace.run(AHMA_VALIDATE, &said).code, 0);
}

/// Proves: T64.
#[test]
fn what_is_probably_not_meant_is_a_warning_and_rejects_nothing() {
    for (directory, kind) in [
        ("warned", "tools"),
        ("prompts-warned", "prompts"),
        ("resources-warned", "resources"),
    ] {
        for fixture in fixtures(directory) {
            let name = stem(&fixture);
            let (code, stdout) = printed(kind, &fixture, &fs::read(&fixture).unwrap());
            assert_eq!(code, 0, "{name}: {stdout}");
            insta::assert_snapshot!(format!("warned-{kind}-{name}"), stdout);
        }
    }
}

/// Proves: T64.
#[test]
fn programs_read_warnings_apart_from_faults() {
    let workspace = Workspace::new();
    let file = r#"{ "name": "a", "description": "A.", "command": "true", "fixed_args": ["~/x"] }"#;
    workspace.write("tools/a.json", file);
    let finished = workspace.run(AHMA_VALIDATE, &["--format", "json", "tools"]);
    assert_eq!(finished.code, 0);
    insta::assert_snapshot!(finished.stdout);
}

/// Proves: P71.
#[test]
fn settings_are_checked_by_their_name_and_those_of_a_project_more_narrowly() {
    let workspace = Workspace::new();
    let wide = "[server]\nnetwork = \"on\"\nprofile = [\"java\"]\n";
    workspace.write("mine.toml", wide);
    let finished = workspace.run(AHMA_VALIDATE, &["mine.toml"]);
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (0, "1 file good, offering 2 settings\n")
    );
    workspace.write(".ahma/ahma.toml", wide);
    let finished = workspace.run(AHMA_VALIDATE, &[]);
    assert_eq!(finished.code, 1);
    insta::assert_snapshot!(finished.stdout);
}

//! `--mcp-config`: every broken fixture has one fault, and a person reading the message knows what to do and no secret.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ahma_tests::{Finished, Workspace, fixtures, stem};

use crate::{AHMA_VALIDATE, GOOD};

/// What stands for a secret in the fixtures.
const SECRETS: [&str; 2] = ["hunter2", "271828"];

fn check(workspace: &Workspace, file: &str) -> Finished {
    workspace.run(AHMA_VALIDATE, &["--mcp-config", file])
}

/// Scenario: 002/2.2, 002/2.3.
#[test]
fn each_broken_fixture_is_explained_as_its_snapshot_says() {
    for fixture in fixtures("mcp-config-broken") {
        let name = stem(&fixture);
        let workspace = Workspace::new();
        let file = format!("{name}.json");
        workspace.write(&file, fs::read(&fixture).unwrap());
        let finished = check(&workspace, &file);
        assert_eq!(finished.code, 1, "{name}: {finished:?}");
        assert!(
            finished.stdout.ends_with("0 servers good; 1 fault\n"),
            "{name} has not exactly one fault:\n{}",
            finished.stdout
        );
        assert!(
            finished.stdout.contains("= help: "),
            "{name} has no hint:\n{}",
            finished.stdout
        );
        for secret in SECRETS {
            assert!(
                !finished.stdout.contains(secret),
                "{name} shows a secret:\n{}",
                finished.stdout
            );
        }
        insta::assert_snapshot!(name, finished.stdout);
    }
}

#[test]
fn no_snapshot_is_left_of_a_fixture_that_is_gone() {
    let known: BTreeSet<String> = fixtures("mcp-config-broken")
        .iter()
        .map(|path| stem(path))
        .chain(["all_faults_at_once", "a_verdict_for_programs"].map(str::to_owned))
        .collect();
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/snapshots");
    for entry in fs::read_dir(snapshots).unwrap() {
        let name = stem(&entry.unwrap().path());
        if let Some(fixture) = name.strip_prefix("suite__mcp_config__") {
            let fixture = fixture.trim_end_matches(".snap");
            assert!(
                known.contains(fixture),
                "no fixture for the snapshot {name}"
            );
        }
    }
}

#[test]
fn good_fixtures_are_accepted() {
    for (name, summary) in [
        ("all-fields", "3 servers good\n"),
        ("as-other-clients-write-it", "5 servers good, 1 disabled\n"),
        ("both-lists", "3 servers good\n"),
        ("no-servers", "0 servers good\n"),
    ] {
        let workspace = Workspace::new();
        let fixture = fixtures("mcp-config-good")
            .into_iter()
            .find(|path| stem(path) == name)
            .unwrap();
        workspace.write("mcp.json", fs::read(fixture).unwrap());
        let finished = check(&workspace, "mcp.json");
        assert_eq!((finished.code, finished.stdout.as_str()), (0, summary));
    }
}

/// Three faulty entries beside a good one, and a secret in every line.
const MANY_FAULTS: &str = r#"{
  "servers": {
    "good": { "command": "good", "env": { "T": "hunter2" } },
    "a": { "env": { "T": "hunter2" }, "command": 1, "start": "now", "headres": { "K": "hunter2" } },
    "b c": { "args": ["--key=hunter2"], "command": "b", "cwd": "", "tools": { "core": "all" } },
    "d": { "env": { "T": "hunter2 ${" }, "command": "d", "idle_minutes": 1.5, "prefix": "g d" }
  }
}
"#;

#[test]
fn all_faults_at_once() {
    let workspace = Workspace::new();
    workspace.write("mcp.json", MANY_FAULTS);
    let finished = check(&workspace, "mcp.json");
    assert_eq!(finished.code, 1);
    assert!(!finished.stdout.contains("hunter2"), "{}", finished.stdout);
    insta::assert_snapshot!(finished.stdout);
}

#[test]
fn a_verdict_for_programs() {
    let workspace = Workspace::new();
    workspace.write(
        "mcp.json",
        r#"{ "servers": { "a": { "command": "a" }, "b": { "comand": "b" }, "c": { "disabled": true } } }"#,
    );
    let args = ["--format", "json", "--mcp-config", "mcp.json"];
    let finished = workspace.run(AHMA_VALIDATE, &args);
    assert_eq!(finished.code, 1);
    insta::assert_snapshot!(finished.stdout);
}

#[test]
fn a_file_that_does_not_exist_is_bad_usage() {
    let finished = check(&Workspace::new(), "nowhere.json");
    let expected = "error: there is no file nowhere.json\n";
    assert_eq!((finished.code, finished.stderr.as_str()), (2, expected));
}

#[test]
fn tool_files_beside_it_are_bad_usage() {
    let workspace = Workspace::new();
    workspace.write("mcp.json", r#"{ "servers": {} }"#);
    workspace.write("tool.json", GOOD);
    let args = ["--mcp-config", "mcp.json", "tool.json"];
    assert_eq!(workspace.run(AHMA_VALIDATE, &args).code, 2);
}

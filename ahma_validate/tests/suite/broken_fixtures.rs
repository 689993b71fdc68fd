//! Every broken fixture has one fault, and a person reading the message knows what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ahma_tests::{Workspace, fixtures, stem};

use crate::AHMA_VALIDATE;

/// Proves: T5, T12, T15, T16, T21, T39, T57, T61, T62, T63.
#[test]
fn each_broken_fixture_is_explained_as_its_snapshot_says() {
    for fixture in fixtures("broken") {
        let name = stem(&fixture);
        let workspace = Workspace::new();
        let file = format!("{name}.json");
        workspace.write(&file, fs::read(&fixture).unwrap());
        let finished = workspace.run(AHMA_VALIDATE, &[&file]);
        assert_eq!(finished.code, 1, "{name}: {finished:?}");
        assert!(
            finished.stdout.ends_with("1 file rejected for 1 fault\n"),
            "{name} has not exactly one fault:\n{}",
            finished.stdout
        );
        assert!(
            finished.stdout.contains("= help: "),
            "{name} has no hint:\n{}",
            finished.stdout
        );
        insta::assert_snapshot!(name, finished.stdout);
    }
}

#[test]
fn no_snapshot_is_left_of_a_fixture_that_is_gone() {
    let known: BTreeSet<String> = fixtures("broken").iter().map(|path| stem(path)).collect();
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/snapshots");
    let prefix = "suite__broken_fixtures__";
    for entry in fs::read_dir(snapshots).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "snap") {
            continue;
        }
        let name = stem(&path);
        if let Some(fixture) = name.strip_prefix(prefix) {
            assert!(
                known.contains(fixture),
                "no fixture for the snapshot {name}"
            );
        }
    }
}

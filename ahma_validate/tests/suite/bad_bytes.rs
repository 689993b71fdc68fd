//! Files that are not text, not files, too large or too deep: a clear error each, at once.

use std::fs;
use std::os::unix::fs::symlink;

use ahma_tests::{Finished, Workspace};

use crate::{AHMA_VALIDATE, GOOD};

/// Checks the workspace's `tools` directory, which holds a bad file beside a good one: the bad one
/// is explained and the good one is still counted.
fn check_beside_a_good_file(workspace: &Workspace) -> String {
    workspace.write("tools/a-good-one.json", GOOD);
    let Finished {
        code,
        stdout,
        stderr,
    } = workspace.run(AHMA_VALIDATE, &["tools"]);
    assert_eq!((code, stderr.as_str()), (1, ""), "{stdout}");
    let last = "1 file good, offering 1 tool; 1 file rejected for 1 fault\n";
    assert!(stdout.ends_with(last), "{stdout}");
    stdout
}

#[test]
fn a_byte_order_mark_is_named() {
    let workspace = Workspace::new();
    workspace.write("tools/x.json", format!("\u{feff}{GOOD}"));
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

#[test]
fn invalid_utf8_is_shown_with_its_offset() {
    let workspace = Workspace::new();
    let mut bytes = GOOD.as_bytes().to_vec();
    bytes[14] = 0xff;
    workspace.write("tools/x.json", bytes);
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

/// Proves: T29.
#[test]
fn ten_megabytes_are_too_large() {
    let workspace = Workspace::new();
    let filler = "x".repeat(10 * 1024 * 1024);
    workspace.write("tools/x.json", GOOD.replace("A demo.", &filler));
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

/// Proves: T29.
#[test]
fn ten_thousand_levels_are_too_deep() {
    let workspace = Workspace::new();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    workspace.write("tools/x.json", deep);
    let stdout = check_beside_a_good_file(&workspace);
    assert!(
        stdout.contains("error: the document is nested more than 80 levels deep"),
        "{stdout}"
    );
}

#[test]
fn a_hundred_levels_of_subcommands_are_too_deep() {
    let workspace = Workspace::new();
    let open = r#"{"name":"a","description":"A.","subcommand":["#.repeat(100);
    let close = "]}".repeat(100);
    workspace.write("tools/x.json", format!("{open}{close}"));
    let stdout = check_beside_a_good_file(&workspace);
    assert!(
        stdout.contains("error: the document is nested more than 80 levels deep"),
        "{stdout}"
    );
}

#[test]
fn a_directory_with_the_name_of_a_file_is_named() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path().join("tools/x.json")).unwrap();
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

#[test]
fn a_dangling_link_is_named() {
    let workspace = Workspace::new();
    workspace.write("tools/a-good-one.json", GOOD);
    symlink("nowhere", workspace.path().join("tools/x.json")).unwrap();
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

#[test]
fn a_link_in_a_circle_is_named() {
    let workspace = Workspace::new();
    workspace.write("tools/a-good-one.json", GOOD);
    symlink("x.json", workspace.path().join("tools/x.json")).unwrap();
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

#[test]
fn a_file_that_fails_while_it_is_read_is_named() {
    let workspace = Workspace::new();
    workspace.write("tools/a-good-one.json", GOOD);
    // A regular file by its kind, but address 0 of a process cannot be read, not even by root.
    symlink("/proc/self/mem", workspace.path().join("tools/x.json")).unwrap();
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

#[test]
fn an_endless_device_is_not_read() {
    let workspace = Workspace::new();
    workspace.write("tools/a-good-one.json", GOOD);
    symlink("/dev/zero", workspace.path().join("tools/x.json")).unwrap();
    insta::assert_snapshot!(check_beside_a_good_file(&workspace));
}

/// Proves: T29.
#[test]
fn more_than_a_hundred_faults_are_counted_not_listed() {
    let workspace = Workspace::new();
    let fields: Vec<String> = (0..250).map(|number| format!("\"q{number}\": 1")).collect();
    let text = GOOD.replace("\"name\"", &format!("{}, \"name\"", fields.join(", ")));
    workspace.write("x.json", text);
    let finished = workspace.run(AHMA_VALIDATE, &["x.json"]);
    let expected = "error: 150 more faults in this file are not listed";
    assert!(finished.stdout.contains(expected), "{}", finished.stdout);
    assert!(
        finished.stdout.ends_with("rejected for 101 faults\n"),
        "{}",
        finished.stdout
    );
}

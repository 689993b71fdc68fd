//! Which files are loaded, in which order, and what becomes of bad ones.

use ahma_core::config::files::{Selection, read_directory};
use ahma_core::config::load;
use ahma_tests::Workspace;

use crate::load_texts;

fn tool(name: &str) -> String {
    format!(r#"{{ "name": "{name}", "description": "D.", "command": "{name}" }}"#)
}

/// Proves: T2.
#[test]
fn json_files_of_the_directory_itself_are_read_in_sorted_order() {
    let workspace = Workspace::new();
    for name in ["b", "a", "c"] {
        workspace.write(&format!("{name}.json"), tool(name));
    }
    workspace.write("deeper/d.json", tool("d"));
    workspace.write("notes.txt", "no tool");
    workspace.write(".hidden.json", "no tool either");
    let catalog = load(
        read_directory(workspace.path(), Selection::Every).unwrap(),
        &ahma_core::server_facts(),
    );
    let names: Vec<&str> = catalog
        .tools()
        .map(|(_, tool)| tool.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(catalog.rejected.is_empty());
}

/// Proves: T6.
#[test]
fn a_bad_file_is_rejected_alone() {
    let catalog = load_texts(&[("a", tool("a")), ("b", "{".to_owned()), ("c", tool("c"))]);
    let names: Vec<&str> = catalog
        .tools()
        .map(|(_, tool)| tool.name.as_str())
        .collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(catalog.rejected.len(), 1);
    assert_eq!(catalog.rejected[0].path.to_str(), Some("b"));
}

#[test]
fn a_disabled_leaf_takes_no_name() {
    let disabled = tool("git").replacen('{', r#"{ "enabled": false,"#, 1);
    let catalog = load_texts(&[("a", disabled), ("b", tool("git"))]);
    assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
    assert_eq!(catalog.tools().count(), 1);
}

#[test]
fn a_file_rejected_for_a_taken_name_takes_no_other_name() {
    let two = r#"{ "name": "a", "description": "A.", "command": "a", "subcommand": [
        { "name": "default", "description": "D." }, { "name": "b", "description": "B." }] }"#;
    let catalog = load_texts(&[("1", tool("a")), ("2", two.to_owned()), ("3", tool("a_b"))]);
    let rejected: Vec<_> = catalog
        .rejected
        .iter()
        .map(|file| file.path.to_str().unwrap())
        .collect();
    assert_eq!(rejected, ["2"]);
}

/// Proves: T39.
#[test]
fn a_directory_of_very_many_files_is_read_within_bounds() {
    let workspace = Workspace::new();
    for number in 0..1010 {
        workspace.write(&format!("{number:04}.json"), tool(&format!("t{number}")));
    }
    let sources = read_directory(workspace.path(), Selection::Every).unwrap();
    assert_eq!(sources.len(), 1001, "the last says why there are no more");
    assert!(sources[999].content.is_ok());
    let fault = sources[1000].content.as_ref().unwrap_err();
    assert!(fault.message.contains("1000 tool files"), "{fault:?}");
}

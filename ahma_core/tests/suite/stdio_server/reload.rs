//! Tool files that change while the server runs.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use ahma_tests::{Workspace, signal, until};
use serde_json::json;

use super::Served;

const CHANGED: &str = "notifications/tools/list_changed";

fn tool(name: &str, words: &str) -> String {
    json!({
        "name": name, "description": format!("{name}."), "command": "echo", "fixed_args": [words],
        "synchronous": true
    })
    .to_string()
}

fn served() -> Served {
    let project = Workspace::new();
    project.write(".ahma/tools/first.json", tool("first", "one"));
    Served::of(project, &[])
}

fn has(served: &mut Served, name: &str) -> bool {
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["name"] == name)
}

fn says(served: &mut Served, name: &str, words: &str) -> bool {
    let result = served.client.call(name, &json!({}));
    result.text.starts_with(&format!("{words}\n"))
}

fn rejected(served: &mut Served) -> usize {
    let info = served.client.call("get_server_info", &json!({}));
    info.structured["tools"]["rejected"]
        .as_array()
        .unwrap()
        .len()
}

/// Proves: T3, T4.
#[test]
fn a_file_that_comes_changes_or_goes_is_noticed_and_told() {
    let mut served = served();
    assert!(!has(&mut served, "second"));
    served
        .project
        .write(".ahma/tools/second.json", tool("second", "two"));
    served.client.notification(CHANGED);
    assert!(has(&mut served, "second") && says(&mut served, "second", "two"));
    // By renaming over it, as editors do.
    let new = served.project.write("new.json", tool("renamed", "three"));
    fs::rename(new, served.project.path().join(".ahma/tools/second.json")).unwrap();
    served.client.notification(CHANGED);
    assert!(has(&mut served, "renamed") && !has(&mut served, "second"));
    fs::remove_file(served.project.path().join(".ahma/tools/second.json")).unwrap();
    served.client.notification(CHANGED);
    assert!(!has(&mut served, "renamed") && has(&mut served, "first"));
}

/// Proves: T4.
#[test]
fn a_change_that_no_client_sees_is_taken_over_without_a_word() {
    let mut served = served();
    // The same size, too.
    served
        .project
        .write(".ahma/tools/first.json", tool("first", "two"));
    until(|| says(&mut served, "first", "two"));
    assert_eq!(served.client.notifications_so_far(CHANGED), 0);
}

/// Proves: T4.
#[test]
fn a_broken_file_keeps_its_last_good_version_and_is_reported() {
    let mut served = served();
    let file = ".ahma/tools/first.json";
    served.project.write(file, "{ \"name\": \"first\", ");
    until(|| rejected(&mut served) == 1);
    assert!(says(&mut served, "first", "one"));
    assert_eq!(served.client.notifications_so_far(CHANGED), 0);
    served.project.write(file, tool("first", "mended"));
    until(|| rejected(&mut served) == 0);
    assert!(says(&mut served, "first", "mended"));
}

/// Proves: T4.
#[test]
fn a_directory_that_is_replaced_is_followed_when_the_operator_asks() {
    let mut served = served();
    let tools = served.project.path().join(".ahma/tools");
    let other = served.project.path().join(".ahma/other");
    served
        .project
        .write(".ahma/other/third.json", tool("third", "three"));
    fs::remove_dir_all(&tools).unwrap();
    fs::rename(&other, &tools).unwrap();
    hang_up(&served);
    until(|| has(&mut served, "third"));
    served
        .project
        .write(".ahma/tools/fourth.json", tool("fourth", "four"));
    until(|| has(&mut served, "fourth"));
    assert!(!has(&mut served, "first"));
}

/// Proves: T4, T44.
#[test]
fn a_directory_that_commands_can_write_is_read_again_only_when_the_operator_asks() {
    let project = Workspace::new();
    project.write(".ahma/tools/first.json", tool("first", "one"));
    let mut served = Served::of(project, &["--unprotect", ".ahma"]);
    let planted = served.sync(&format!(
        "echo '{}' > .ahma/tools/evil.json",
        tool("evil", "x")
    ));
    assert!(!planted.is_error, "{}", planted.text);
    // A directory beside it, which is safe, would have been read by now: this one is slower.
    let mut other = self::served();
    other
        .project
        .write(".ahma/tools/second.json", tool("second", "two"));
    other.client.notification(CHANGED);
    assert!(!has(&mut served, "evil"));
    hang_up(&served);
    until(|| has(&mut served, "evil"));
}

/// Proves: T4.
#[test]
fn a_change_beside_a_directory_that_commands_can_write_does_not_have_that_one_read() {
    let safe = Workspace::new();
    safe.write("first.json", tool("first", "one"));
    let project = Workspace::new();
    project.write("mine/second.json", tool("second", "two"));
    let (outside, inside) = (safe.path(), project.path().join("mine"));
    let arguments = [
        "--tools-dir",
        outside.to_str().unwrap(),
        "--tools-dir",
        inside.to_str().unwrap(),
        "--unprotect",
        "mine",
    ]
    .map(str::to_owned);
    let mut served = Served::of(project, &arguments.each_ref().map(String::as_str));
    let planted = format!("echo '{}' > mine/evil.json", tool("evil", "x"));
    assert!(!served.sync(&planted).is_error);
    safe.write("third.json", tool("third", "three"));
    // A server that is told of such a change by then.
    let mut other = self::served();
    other
        .project
        .write(".ahma/tools/second.json", tool("second", "two"));
    other.client.notification(CHANGED);
    assert!(!has(&mut served, "evil"));
    hang_up(&served);
    until(|| has(&mut served, "evil") && has(&mut served, "third"));
}

fn hang_up(served: &Served) {
    assert!(signal("HUP", served.client.pid()));
}

/// Changes a file in one of the ways editors and scripts do. All contents of a round have the same size.
fn change(project: &Workspace, number: usize, round: usize) {
    let name = format!("tool{number}");
    let file = format!(".ahma/tools/{name}.json");
    let content = tool(&name, &format!("round {round}"));
    match number % 3 {
        // In two halves, of which the first is not JSON.
        0 => {
            let path = project.write(&file, &content[..content.len() / 2]);
            let mut rest = OpenOptions::new().append(true).open(path).unwrap();
            rest.write_all(&content.as_bytes()[content.len() / 2..])
                .unwrap();
        }
        // Written beside it, and put in its place.
        1 => {
            let beside = project.write(&format!(".ahma/tools/{name}.new"), content);
            fs::rename(beside, project.path().join(file)).unwrap();
        }
        // In place, to the same size.
        _ => {
            project.write(&file, content);
        }
    }
}

/// Proves: T4.
#[test]
fn a_storm_of_changes_loses_no_call_and_ends_in_the_last_state() {
    const FILES: usize = 500;
    let mut served = served();
    let ids: Vec<u64> = (0..50)
        .map(|_| {
            let call = json!({ "name": "first", "arguments": {} });
            served.client.send("tools/call", &call)
        })
        .collect();
    for round in 0..3 {
        for number in 0..FILES {
            change(&served.project, number, round);
        }
    }
    for id in ids {
        let answer = served.client.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("one\n"), "{answer}");
    }
    let last = format!("tool{}", FILES - 1);
    until(|| has(&mut served, &last));
    for number in [0, 1, 2, FILES - 3, FILES - 2, FILES - 1] {
        let name = format!("tool{number}");
        until(|| says(&mut served, &name, "round 2"));
    }
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["tools"]["rejected"], json!([]), "no half is left");
    assert_eq!(info["tools"]["loaded"], FILES + 1);
}

/// A link in the scope can be turned elsewhere by a command.
///
/// Proves: T44.
#[test]
fn a_directory_that_a_link_leads_to_is_read_again_only_when_the_operator_asks() {
    let (project, outside) = (Workspace::new(), Workspace::new());
    outside.write("first.json", tool("first", "one"));
    project.make_directory(".ahma");
    std::os::unix::fs::symlink(outside.path(), project.path().join(".ahma/tools")).unwrap();
    let named = project.path().join(".ahma/tools");
    let arguments = [
        "--unprotect",
        ".ahma",
        "--tools-dir",
        named.to_str().unwrap(),
    ];
    let mut served = Served::of(project, &arguments);
    assert!(has(&mut served, "first"));
    outside.write("second.json", tool("second", "two"));
    let info = served.client.call("get_server_info", &json!({})).structured;
    let held_back = info["tools"]["held_back"].as_str().unwrap();
    assert!(held_back.contains("SIGHUP"), "{held_back}");
    hang_up(&served);
    until(|| has(&mut served, "second"));
}

/// Proves: T45.
#[test]
fn a_check_that_takes_long_does_not_hold_changes_back() {
    let project = Workspace::new();
    let slow = json!({
        "name": "slow", "description": "S.", "command": "true",
        "availability_check": { "command": "sleep", "args": ["60"] }
    });
    project.write(".ahma/tools/slow.json", slow.to_string());
    let mut served = Served::of(project, &[]);
    served.client.request("tools/list", &json!({}));
    served
        .project
        .write(".ahma/tools/first.json", tool("first", "one"));
    served.client.notification(CHANGED);
    assert!(has(&mut served, "first"));
}

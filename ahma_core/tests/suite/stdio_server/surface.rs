//! Which tools a client sees, and how the others are found.

use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::{AHMA_MCP, Served, modern, unspoken_to};

const CHANGED: &str = "notifications/tools/list_changed";

fn names(served: &mut Served) -> Vec<String> {
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn tool(name: &str, says: &str) -> String {
    json!({
        "name": name, "description": "Says.", "command": "echo", "fixed_args": [says], "synchronous": true
    })
    .to_string()
}

fn repository(project: &Workspace) {
    let made = project.run("git", &["init", "-q"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Proves: T37.
#[test]
fn tools_of_the_project_are_there_beside_the_shipped_ones_and_win_by_name() {
    let project = Workspace::new();
    repository(&project);
    project.write(".ahma/tools/own.json", tool("own", "mine"));
    project.write(
        ".ahma/tools/status.json",
        tool("git_status", "another status"),
    );
    let mut served = Served::of(project, &[]);
    let listed = names(&mut served);
    for name in ["own", "git_status", "git_diff"] {
        assert_eq!(
            listed.iter().filter(|it| *it == name).count(),
            1,
            "{name}: {listed:?}"
        );
    }
    let said = served.client.call("git_status", &json!({}));
    assert!(said.text.starts_with("another status\n"), "{said:?}");

    let project = Workspace::new();
    repository(&project);
    project.write(".ahma/tools/git.json", tool("mine", "all of it"));
    let mut served = Served::of(project, &["--tools", "all"]);
    let listed = names(&mut served);
    assert!(listed.contains(&"mine".to_owned()), "{listed:?}");
    assert!(
        !listed.iter().any(|it| it.starts_with("git_")),
        "its file is replaced: {listed:?}"
    );

    let mut served = Served::of(Workspace::new(), &["--no-shipped-tools", "--tools", "all"]);
    assert!(!names(&mut served).contains(&"git_init".to_owned()));
}

/// Proves: T51.
#[test]
fn a_directory_called_tools_counts_only_with_tool_files_in_it() {
    let project = Workspace::new();
    project.write("tools/build.sh", "true");
    project.write("tools/package.json", r#"{ "name": "x", "version": "1" }"#);
    let mut served = Served::of(project, &[]);
    let written = served.sync("echo x > tools/new && echo written");
    assert!(written.text.starts_with("written"), "{written:?}");
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["tools"]["rejected"], json!([]), "{info}");

    let project = Workspace::new();
    project.write("tools/build.sh", "true");
    project.write("tools/own.json", tool("own", "mine"));
    let mut served = Served::of(project, &[]);
    assert!(names(&mut served).contains(&"own".to_owned()));
    let refused = served.sync("echo x > tools/new");
    assert!(refused.text.contains("Read-only"), "{refused:?}");
}

/// Proves: T4.
#[test]
fn files_of_a_relative_directory_are_watched_too() {
    let project = Workspace::new();
    project.write("my-tools/own.json", tool("own", "mine"));
    let mut served = Served::of(project, &["--tools-dir", "my-tools"]);
    assert!(names(&mut served).contains(&"own".to_owned()));
    served
        .project
        .write("my-tools/next.json", tool("next", "next"));
    served.client.notification(CHANGED);
    assert!(names(&mut served).contains(&"next".to_owned()));
}

/// Proves: T47, T48.
#[test]
fn what_is_not_listed_is_found_and_called_in_both_lifecycles() {
    let project = Workspace::new();
    repository(&project);
    let mut stateless = unspoken_to(&project);
    let mut served = Served::of(Workspace::new(), &[]);
    repository(&served.project);
    let mut call = |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let older = served.client.request("tools/call", &params);
        let newer = stateless.request("tools/call", &modern(params));
        let text = |answer: &Value| answer["result"]["content"][0]["text"].clone();
        [text(&older), text(&newer)].map(|it| it.as_str().unwrap_or_default().to_owned())
    };
    for said in call(
        "find_tools",
        json!({ "query": "initialise a new repository" }),
    ) {
        assert!(said.starts_with("git_init: "), "{said}");
        assert!(
            said.contains("initial-branch"),
            "with what it takes: {said}"
        );
        assert!(
            !said.contains("execution_mode"),
            "not with what all take: {said}"
        );
    }
    for said in call("find_tools", json!({})) {
        assert!(said.lines().any(|it| it == "git_clone"), "{said}");
    }
    for said in call("find_tools", json!({ "query": "zzz" })) {
        assert!(said.contains("no unlisted tool"), "{said}");
    }
    for said in call("find_tools", json!({ "query": "read_output" })) {
        let last = said.lines().last().unwrap();
        let listed = "[listed already, to be called by their names: read_output";
        assert!(last.starts_with(listed), "{said}");
    }
    let branch = json!({ "name": "git_init", "arguments": { "directory": "sub", "execution_mode": "sync" } });
    for said in call("call_tool", branch) {
        assert!(said.contains("completed"), "{said}");
    }
    let wrong = json!({ "name": "git_init", "arguments": { "nosuch": 1 } });
    for said in call("call_tool", wrong) {
        assert!(
            said.contains("`git_init` has no argument `nosuch`"),
            "{said}"
        );
    }
    for (inside, expected) in [
        ("git_int", "did you mean"),
        ("call_tool", "cannot call itself"),
    ] {
        for said in call("call_tool", json!({ "name": inside })) {
            assert!(said.contains(expected), "{said}");
        }
    }
}

/// Proves: T47.
#[test]
fn nothing_is_searched_where_everything_is_listed() {
    let mut served = Served::of(Workspace::new(), &["--tools", "all"]);
    let listed = names(&mut served);
    assert!(listed.contains(&"git_init".to_owned()), "{listed:?}");
    assert!(!listed.contains(&"find_tools".to_owned()), "{listed:?}");
    assert!(!listed.contains(&"call_tool".to_owned()), "{listed:?}");
}

/// Proves: T49.
#[test]
fn a_command_that_makes_a_project_makes_its_tools_appear() {
    let mut served = Served::new();
    assert!(!names(&mut served).contains(&"git_status".to_owned()));
    served.sync("git init -q");
    served.client.notification(CHANGED);
    assert!(names(&mut served).contains(&"git_status".to_owned()));
    let status = served
        .client
        .call("git_status", &json!({ "execution_mode": "sync" }));
    assert!(status.text.contains("branch"), "{status:?}");
    for (script, is_there) in [("touch Makefile", true), ("rm Makefile", false)] {
        served.sync(script);
        served.client.notification(CHANGED);
        assert_eq!(
            names(&mut served).contains(&"make".to_owned()),
            is_there,
            "{script}"
        );
    }
}

/// Proves: T49, T50.
#[test]
fn programs_of_the_project_are_used_and_make_tools_available() {
    let project = Workspace::new();
    let tool = json!({
        "name": "check", "description": "Checks.", "command": "my-checker", "synchronous": true,
        "local_bin": [".venv/bin"],
        "availability_check": { "command": "false", "or_exists": [".venv/bin/my-checker"] }
    });
    project.write(".ahma/tools/check.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    assert!(!names(&mut served).contains(&"check".to_owned()));
    let script = "mkdir -p .venv/bin; printf '#!/bin/sh\\necho checked by $0\\n' > .venv/bin/my-checker; \
                  chmod +x .venv/bin/my-checker";
    served.sync(script);
    served.client.notification(CHANGED);
    assert!(names(&mut served).contains(&"check".to_owned()));
    let said = served.client.call("check", &json!({}));
    let expected = served.project.path().join(".venv/bin/my-checker");
    assert!(
        said.text
            .starts_with(&format!("checked by {}", expected.display())),
        "{said:?}"
    );
}

/// Proves: T45.
#[test]
fn a_list_does_not_wait_for_checks_that_were_made_by_an_earlier_server() {
    let cache = Workspace::new();
    let place = cache.path().to_str().unwrap().to_owned();
    let environment = [("XDG_CACHE_HOME", place.as_str())];
    // Longer than a list waits.
    let tool = json!({
        "name": "checked", "description": "T.", "command": "echo", "availability_check": "sleep 4"
    });
    let start = || {
        let project = Workspace::new();
        project.write(".ahma/tools/checked.json", tool.to_string());
        Served::start_in(project, &[], &environment)
    };
    let mut first = start();
    until(|| names(&mut first).contains(&"checked".to_owned()));
    until(|| cache.path().join("ahma_mcp/availability.json").exists());
    let mut second = start();
    assert!(names(&mut second).contains(&"checked".to_owned()));
}

/// Proves: T52.
#[test]
fn a_client_and_the_mode_that_lists_tools_agree() {
    let project = Workspace::new();
    repository(&project);
    project.write("Makefile", "");
    project.write(".ahma/tools/own.json", tool("own", "mine"));
    let missing = json!({
        "name": "missing", "description": "T.", "command": "echo",
        "availability_check": "which no-such-program", "install_instructions": "get it"
    });
    project.write(".ahma/tools/missing.json", missing.to_string());
    let finished = project.run(AHMA_MCP, &["--mode", "list-tools"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let all = document["tools"].as_array().unwrap().clone();
    let mut served = Served::of(project, &[]);
    let listed: Vec<&str> = all
        .iter()
        .filter(|it| it["listed"] != false && it["available"] != false)
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, names(&mut served));
    let find = |name: &str| all.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(find("missing")["available"], false);
    assert_eq!(find("missing")["install_instructions"], "get it");
    assert_eq!(find("git_clone")["listed"], false);
}

//! Nothing of a project runs before somebody calls a tool, and nothing it holds makes a read-only tool change anything.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use ahma_tests::served::over_stdio::Served;
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// Tools whose checks were made: the names of those that are listed.
fn listed(served: &mut Served) -> Vec<String> {
    let names = |served: &mut Served| {
        let listed = served.client.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let names = tools
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    until(|| names(served).iter().any(|it| it == "control"));
    // Checks are reported all at once.
    names(served)
}

/// Proves: T46.
#[test]
fn checks_run_no_code_of_the_project_and_can_do_nothing() {
    let project = Workspace::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    project.write("planted.py", "");
    let marker = project.path().canonicalize().unwrap().join("marker");
    let connect = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    let checks = [
        ("imports", json!(["-m", "planted"])),
        (
            "writes",
            json!(["-c", format!("open({:?}, 'w')", marker.to_str().unwrap())]),
        ),
        ("connects", json!(["-c", connect])),
        ("control", json!(["-c", "pass"])),
    ];
    for (name, arguments) in &checks {
        let check = json!({ "command": "python3", "args": arguments });
        let tool = json!({
            "name": name, "description": "T.", "command": "python3", "synchronous": true,
            "fixed_args": arguments, "availability_check": check
        });
        project.write(&format!(".ahma/tools/{name}.json"), tool.to_string());
    }
    let mut served = Served::of(project, &[]);
    let names = listed(&mut served);
    for (name, _) in checks {
        assert_eq!(
            names.contains(&name.to_owned()),
            name == "control",
            "{names:?}"
        );
    }
    assert!(!marker.exists());
    // Called by somebody, the same work.
    for script in [
        "python3 -m planted",
        "touch marker",
        &format!("python3 -c \"{connect}\""),
    ] {
        assert!(!served.sync(script).is_error, "{script}");
    }
}

/// A repository whose settings make Git run a program that leaves a mark, in every way that looking at it can.
fn trapped() -> (Workspace, impl Fn(&Workspace) -> bool) {
    let project = Workspace::new();
    let top = project.path();
    git(top, &["init", "-q"]);
    project.write(".gitattributes", "*.txt filter=trap diff=trap\n");
    project.write("a.txt", "a\n");
    git(top, &["add", "."]);
    git(top, &["commit", "-qm", "one"]);
    project.write("a.txt", "b\n");
    let trap = project.write(
        "trap",
        "#!/bin/sh\necho x >> \"$(dirname \"$0\")/marks\"\necho a\n",
    );
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.canonicalize().unwrap();
    let trap = trap.to_str().unwrap();
    for (name, value) in [
        ("filter.trap.clean", trap.to_owned()),
        ("diff.trap.textconv", trap.to_owned()),
        ("core.fsmonitor", trap.to_owned()),
        ("core.pager", trap.to_owned()),
        ("diff.external", trap.to_owned()),
    ] {
        git(top, &["config", name, &value]);
    }
    let is_marked = |project: &Workspace| project.path().join("marks").exists();
    (project, is_marked)
}

/// Proves: T46.
#[test]
fn finding_out_about_a_project_runs_nothing_of_it() {
    let (project, is_marked) = trapped();
    // With the filter, the file would be what was committed.
    git(project.path(), &["config", "--unset", "core.fsmonitor"]);
    let mut served = Served::of(project, &[]);
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(
        info["project"]["git"]["status"], "dirty",
        "{}",
        info["project"]
    );
    assert!(!is_marked(&served.project));
    let plain =
        served.sync("rm -f .git/index; git reset -q; git status --porcelain -- a.txt; true");
    assert!(is_marked(&served.project), "{}", plain.text);
}

/// Proves: T46.
#[test]
fn tools_that_are_said_to_change_nothing_do_not_whatever_a_project_holds() {
    let (project, is_marked) = trapped();
    let mut served = Served::of(project, &["--tools", "all"]);
    let tools = served.client.request("tools/list", &json!({}));
    let tools: Vec<Value> = tools["result"]["tools"].as_array().unwrap().clone();
    let is_read_only = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
    let of_git: Vec<&str> = tools
        .iter()
        .filter(is_read_only)
        .filter_map(|tool| tool["name"].as_str())
        .filter(|name| name.starts_with("git_"))
        .collect();
    assert!(of_git.len() >= 8, "{of_git:?}");
    for name in &of_git {
        let arguments = match *name {
            "git_blame" => json!({ "path": "a.txt" }),
            _ => json!({}),
        };
        served.client.call(name, &arguments);
        assert!(!is_marked(&served.project), "{name}");
    }
    served.sync("git status --short; git diff");
    assert!(is_marked(&served.project), "by themselves they would");
}

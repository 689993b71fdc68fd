//! The server is not confined, and tells nobody what is outside.

use std::os::unix::fs::symlink;

use ahma_tests::Workspace;
use ahma_tests::served::ahma_mcp;
use ahma_tests::served::over_stdio::Served;
use serde_json::json;

/// Proves: S55.
#[test]
fn a_call_learns_nothing_about_directories_outside() {
    let outside = Workspace::new();
    outside.write("there/file", "x");
    let mut served = Served::new();
    let project = served.project.path().canonicalize().unwrap();
    symlink(outside.path().join("there"), project.join("link")).unwrap();
    symlink(outside.path().join("missing"), project.join("dangling")).unwrap();
    let mut answer = |directory: &str| {
        let call =
            json!({ "command": "true", "working_directory": directory, "execution_mode": "sync" });
        let answer = served.client.call("sandboxed_shell", &call);
        assert!(answer.is_error, "{directory}");
        answer.text.replace(directory, "DIRECTORY")
    };
    let base = outside.path().canonicalize().unwrap();
    let path = |name: &str| base.join(name).to_str().unwrap().to_owned();
    let there = answer(&path("there"));
    assert!(there.contains("is outside the sandbox scope"), "{there}");
    for other in [
        path("missing"),
        path("there/file"),
        path("there/missing"),
        "link".to_owned(),
        "link/missing".to_owned(),
        "dangling".to_owned(),
        "dangling/x".to_owned(),
        "/proc/self/fd/1".to_owned(),
        "/root".to_owned(),
    ] {
        assert_eq!(answer(&other), there, "{other}");
    }
    let inside = answer("missing");
    assert!(
        inside.contains("No such file"),
        "inside it is told: {inside}"
    );
}

/// Proves: S55.
#[test]
fn a_tool_file_of_a_project_cannot_lead_to_a_file_outside() {
    let outside = Workspace::new();
    let token = outside.write("token", "\"SECRETTOKENVALUE\"");
    let project = Workspace::new();
    project.write(".ahma/tools/other.json", "{}");
    symlink(&token, project.path().join(".ahma/tools/x.json")).unwrap();
    let mut served = Served::of(project, &[]);
    let info = served.client.call("get_server_info", &json!({})).structured;
    let text = info.to_string();
    assert!(!text.contains("SECRET"), "{text}");
    let rejected = info["tools"]["rejected"].to_string();
    assert!(
        rejected.contains("x.json") && rejected.contains("this is a link"),
        "{rejected}"
    );
    // Named by the operator, it may.
    let named = Workspace::new();
    let tool = outside.write(
        "t.json",
        r#"{"name": "t", "description": "T.", "command": "true"}"#,
    );
    symlink(tool, named.path().join("t.json")).unwrap();
    let arguments = ["--tools-dir", named.path().to_str().unwrap()];
    let mut served = Served::with(&arguments, &[]);
    let listed = served.client.request("tools/list", &json!({})).to_string();
    assert!(listed.contains("\"name\":\"t\""), "{listed}");
}

/// Proves: S55.
#[test]
fn a_tools_directory_of_a_project_cannot_be_a_link() {
    let outside = Workspace::new();
    outside.write("x.json", "\"SECRETTOKENVALUE\"");
    let project = Workspace::new();
    std::fs::create_dir(project.path().join(".ahma")).unwrap();
    symlink(outside.path(), project.path().join(".ahma/tools")).unwrap();
    let refused = project.run(&ahma_mcp(), &[]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--tools-dir"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("SECRET"), "{}", refused.stderr);
}

/// Proves: S56.
#[test]
fn no_mode_lets_commands_reach_the_tokens_of_servers() {
    let home = Workspace::new();
    let project = home.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&project).unwrap();
    let state = home.path().canonicalize().unwrap().join(".local/state");
    std::fs::create_dir_all(state.join("ahma_mcp/http-tokens")).unwrap();
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let local = home.path().canonicalize().unwrap().join(".local");
    let inner = state.join("ahma_mcp/http-tokens");
    let whole = home.path().canonicalize().unwrap();
    for mode in ["stdio", "http", "dual"] {
        for (flag, path) in [
            ("--sandbox-read", &local),
            ("--sandbox-write", &local),
            ("--sandbox-read", &inner),
            ("--sandbox-scope", &whole),
        ] {
            let arguments = [
                "--mode",
                mode,
                "--allow-wide-scope",
                flag,
                path.to_str().unwrap(),
            ];
            let refused = home.run_with(&ahma_mcp(), &arguments, &variables);
            assert_eq!(refused.code, 2, "{mode} {flag}: {}", refused.stderr);
            assert!(refused.stderr.contains("tokens"), "{}", refused.stderr);
        }
    }
    // What is beside them may be granted.
    let beside = whole.join("beside");
    std::fs::create_dir(&beside).unwrap();
    let arguments = ["--sandbox-read", beside.to_str().unwrap()];
    let mut served = Served::with(&arguments, &variables);
    assert!(served.sync("true").text.contains("exit code 0"));
}

/// Proves: S56.
#[test]
fn a_grant_of_the_temporary_directory_does_not_show_private_directories_of_others() {
    let temporary = Workspace::new();
    let path = temporary.path().canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let variables = [("TMPDIR", path), ("XDG_RUNTIME_DIR", path)];
    let mut served = Served::with(&["--sandbox-read", path], &variables);
    let home = served.sync("echo $HOME");
    assert!(!home.text.starts_with(path), "{}", home.text);
}

//! Code that a command leaves for programs outside: prevented where it can be, told about where not.

use ahma_tests::served::over_stdio::Served;
use ahma_tests::{signal, until};
use serde_json::json;

/// A project with a repository that has a hook.
fn repository(arguments: &[&str]) -> Served {
    let project = ahma_tests::Workspace::new();
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(project.path())
        .status();
    assert!(git.unwrap().success());
    project.write(".git/hooks/pre-commit", "original\n");
    Served::of(project, arguments)
}

/// Proves: S37.
#[test]
fn hooks_cannot_be_planted_and_git_works() {
    let mut served = repository(&[]);
    let planted = served.sync("echo evil > .git/hooks/pre-commit");
    assert!(planted.is_error, "{}", planted.text);
    let commit = served.sync(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
         echo x > f && git add f && git commit -qm one --no-verify && git checkout -qb side && git log --oneline",
    );
    assert!(!commit.is_error, "{}", commit.text);
    assert!(!commit.text.contains("warning:"), "{}", commit.text);
    let hook = served.project.path().join(".git/hooks/pre-commit");
    assert_eq!(std::fs::read_to_string(hook).unwrap(), "original\n");
    let info = served.client.call("get_server_info", &json!({}));
    let protected = info.structured["sandbox"]["protected"].as_array().unwrap();
    assert_eq!(protected.len(), 1, "{protected:?}");
}

/// Proves: S37.
#[test]
fn settings_that_run_programs_are_told_about_once() {
    let mut served = repository(&[]);
    let planted = served.sync("git config core.fsmonitor ./evil");
    let warning = "warning: while commands ran, .git/config got `core.fsmonitor = ./evil`";
    assert!(planted.text.contains(warning), "{}", planted.text);
    assert!(!planted.is_error);
    let harmless = served.sync("git config user.name x");
    assert!(!harmless.text.contains("warning:"), "{}", harmless.text);
    let link = served.sync("rm .git/config && ln -s /etc/passwd .git/config");
    assert!(
        link.text
            .contains("something else than an ordinary configuration"),
        "{}",
        link.text
    );
    assert!(!link.text.contains("root:"), "{}", link.text);
}

/// Proves: S37.
#[test]
fn another_repository_in_place_of_this_one_is_told_about() {
    let mut served = repository(&[]);
    let planted = served.sync("echo ../evil > .git/commondir");
    assert!(
        planted.text.contains(".git/commondir has appeared"),
        "{}",
        planted.text
    );
}

/// Proves: S37.
#[test]
fn what_appears_is_told_about_and_protected_from_then_on() {
    let mut served = Served::new();
    let planted = served.sync("mkdir .vscode && echo '{}' > .vscode/tasks.json");
    assert!(
        planted.text.contains(".vscode has appeared"),
        "{}",
        planted.text
    );
    let again = served.sync("echo evil > .vscode/tasks.json");
    assert!(
        again.is_error && !again.text.contains("warning:"),
        "{}",
        again.text
    );
    let repository = served.sync("git init -q . && ls .git/hooks | head -1");
    assert!(!repository.is_error, "{}", repository.text);
    assert!(served.sync("echo evil > .git/hooks/pre-commit").is_error);
}

/// Proves: S37.
#[test]
fn the_operator_decides_what_is_protected() {
    let mut served = repository(&["--unprotect", ".git/hooks", "--protect", "important"]);
    served.project.write("important/file", "original\n");
    // It was not there when the server started, and is protected all the same.
    let refused = served.sync("echo x > important/file");
    assert!(refused.is_error, "{}", refused.text);
    assert!(!refused.text.contains("warning:"), "{}", refused.text);
    let hook = served.sync("echo x > .git/hooks/pre-commit");
    assert!(!hook.is_error, "{}", hook.text);
}

/// Proves: S37.
#[test]
fn what_the_operator_changes_between_commands_is_no_news() {
    let mut served = Served::new();
    served.sync("true");
    // Nobody does anything within milliseconds of a command's end, and times of files are no finer.
    std::thread::sleep(std::time::Duration::from_millis(30));
    served.project.write(".mcp.json", "{}");
    let after = served.sync("true");
    assert!(!after.text.contains("warning:"), "{}", after.text);
}

#[test]
fn what_the_operator_replaces_stays_protected() {
    let project = ahma_tests::Workspace::new();
    project.write(".mcp.json", "{}");
    let mut served = Served::of(project, &[]);
    assert!(served.sync("echo evil > .mcp.json").is_error);
    // As editors save.
    let new = served.project.write("new", "{ }");
    std::fs::rename(new, served.project.path().join(".mcp.json")).unwrap();
    let refused = served.sync("echo evil > .mcp.json");
    assert!(refused.is_error, "{}", refused.text);
}

#[test]
fn a_trap_in_the_project_does_not_keep_the_server_from_starting() {
    let project = ahma_tests::Workspace::new();
    let pipe = project.path().join(".gitmodules");
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.unwrap().success());
    let mut served = Served::of(project, &[]);
    assert!(served.sync("echo on").text.starts_with("on\n"));
}

/// Proves: S47.
#[test]
fn the_directory_that_tools_are_read_from_cannot_be_written() {
    let schema = "\"$schema\": \"mtdf.schema.json\"";
    let tool = format!(r#"{{{schema}, "name": "good", "description": "G.", "command": "true"}}"#);
    let project = |directory: &str| {
        let project = ahma_tests::Workspace::new();
        project.write(&format!("{directory}/good.json"), &tool);
        project
    };
    for directory in ["tools", "elsewhere/mine"] {
        let path = project(directory);
        let named = path.path().join("elsewhere/mine");
        let arguments: &[&str] = match directory {
            "tools" => &[],
            _ => &["--tools-dir", named.to_str().unwrap()],
        };
        let mut served = Served::of(path, arguments);
        for script in [
            format!("echo '{{}}' > {directory}/evil.json"),
            format!("rm {directory}/good.json"),
            format!("mv {0} {0}2", directory.split('/').next().unwrap()),
        ] {
            assert!(served.sync(&script).is_error, "{script}");
        }
    }
    let mut allowed = Served::of(project("tools"), &["--unprotect", "tools"]);
    assert!(!allowed.sync("echo '{}' > tools/more.json").is_error);
}

/// Proves: S47.
#[test]
fn a_tool_file_that_a_command_plants_is_not_served() {
    let mut served = Served::with(&["--tools", "all"], &[]);
    let tool = r#"{"name": "evil", "description": "E.", "command": "true"}"#;
    let planted = served.sync(&format!(
        "for d in .ahma/tools tools; do mkdir -p $d && echo '{tool}' > $d/evil.json; done"
    ));
    assert!(
        planted.text.contains(".ahma has appeared"),
        "{}",
        planted.text
    );
    let again = served.sync("echo '{}' > .ahma/tools/evil.json");
    assert!(again.is_error, "{}", again.text);
    // Not even when the operator has everything read again.
    assert!(signal("HUP", served.client.pid()));
    // Tools of the program whose checks run a command come after that.
    until(|| {
        let listed = served.client.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["name"] != "evil"), "{listed}");
        tools.iter().any(|tool| tool["name"] == "files_list")
    });
}

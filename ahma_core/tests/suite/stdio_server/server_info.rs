//! What the server tells about itself and the project.

use ahma_tests::Workspace;
use serde_json::{Value, json};

use super::Served;

fn info(served: &mut Served) -> Value {
    served.client.call("get_server_info", &json!({})).structured
}

fn git(project: &Workspace, arguments: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];
    let done = project.run("git", &[&identity, arguments].concat());
    assert_eq!(done.code, 0, "{}", done.stderr);
}

/// Proves: P8.
#[test]
fn everything_a_client_needs_to_know_is_told() {
    let project = Workspace::new();
    let tool = json!({ "name": "wc", "description": "Counts.", "command": "wc" });
    project.write(".ahma/tools/wc.json", tool.to_string());
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("tools/list", &json!({}));
    let listed = listed["result"]["tools"].as_array().unwrap().len();
    let info = info(&mut served);
    assert_eq!(info["server"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["server"]["transport"], "stdio");
    assert_eq!(info["server"]["pid"], served.client.pid());
    assert!(info["server"]["uptime_seconds"].is_u64());
    assert!(
        info["server"]["started_at"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert_eq!(listed, 10, "nine built-in ones, and the declared one");
    assert_eq!(info["capabilities"]["tools_available"], listed);
    assert_eq!(info["tools"]["loaded"], 1);
    assert_eq!(info["tools"]["shadowed"], json!([]));
    assert_eq!(info["sandbox"]["enforced"], true);
    assert!(info["sandbox"]["layers"].as_array().unwrap().len() >= 4);
    assert_eq!(info["sandbox"]["warnings"], json!([]));
    assert_eq!(info.get("downstream"), None, "there is nothing behind it");
    assert_eq!(info["sessions"], 1);
    assert!(info["processes"].as_u64().unwrap() >= 2, "{info}");
    assert_eq!(info["operations"], json!({ "running": 0, "queued": 0 }));
}

/// Proves: P8.
#[test]
fn a_directory_without_a_repository_has_its_own_name() {
    let mut served = Served::new();
    let project = info(&mut served)["project"].clone();
    let root = served.project.path().canonicalize().unwrap();
    let name = root.file_name().unwrap().to_str().unwrap();
    assert_eq!(project, json!({ "name": name, "root": root, "git": null }));
}

/// Proves: P8.
#[test]
fn a_repository_is_told_about_without_its_password() {
    let project = Workspace::new();
    git(&project, &["init", "-q", "-b", "trunk"]);
    let url = "https://me:secret@example.invalid/team/widget.git";
    git(&project, &["remote", "add", "origin", url]);
    project.write("file", "content\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "one"]);
    let mut served = Served::of(project, &[]);
    let clean = info(&mut served)["project"].clone();
    assert_eq!(clean["name"], "widget", "{clean}");
    let told = &clean["git"];
    assert_eq!(told["remote"], "https://example.invalid/team/widget.git");
    assert_eq!(told["branch"], "trunk");
    assert_eq!(told["status"], "clean");
    let commit = told["commit"].as_str().unwrap();
    assert_eq!(commit.len(), 40);
    assert!(commit.starts_with(told["commit_short"].as_str().unwrap()));
    served.project.write("file", "other\n");
    assert_eq!(info(&mut served)["project"]["git"]["status"], "dirty");
}

/// What a repository can make Git run does not run outside the sandbox, and does not keep the answer.
///
/// Proves: P8.
#[test]
fn a_repository_cannot_make_the_question_run_its_programs() {
    let project = Workspace::new();
    git(&project, &["init", "-q"]);
    project.write("file", "content\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "one"]);
    let mark = project.path().join("ran");
    let program = format!("touch {}", mark.display());
    git(&project, &["config", "core.fsmonitor", &program]);
    let mut served = Served::of(project, &[]);
    let told = info(&mut served)["project"].clone();
    assert!(told["git"].is_object(), "{told}");
    assert!(!mark.exists());
    // As a control: Git on its own does run it.
    served.project.run("git", &["status"]);
    assert!(mark.exists());
}

/// Proves: P73.
#[test]
fn settings_that_are_not_the_default_are_told_with_where_they_come_from() {
    let config = Workspace::new();
    config.write("ahma_mcp/ahma.toml", "[server]\ntimeout = 77\n");
    let project = Workspace::new();
    project.write(".ahma/ahma.toml", "[server]\nno-shell = true\n");
    let variables = [
        ("XDG_CONFIG_HOME", config.path().to_str().unwrap()),
        ("AHMA_NETWORK", "off"),
    ];
    let mut served = Served::start_in(project, &["--keep-minutes", "5"], &variables);
    let told = served.client.call("get_server_info", &json!({})).structured;
    let file = config.path().join("ahma_mcp/ahma.toml");
    let own = served.project.path().join(".ahma/ahma.toml");
    let settings = told["settings"].as_array().unwrap().iter();
    let about = |it: &&Value| it["name"] != "inline-ms";
    let settings: Vec<&Value> = settings.filter(about).collect();
    assert_eq!(
        json!(settings),
        json!([
            { "name": "network", "value": "off", "source": "variable AHMA_NETWORK" },
            { "name": "timeout", "value": "77", "source": format!("[server] of {}:2", file.display()) },
            { "name": "keep-minutes", "value": "5", "source": "flag" },
            { "name": "no-shell", "value": "true", "source": format!("{}:2", own.display()) },
        ])
    );
    assert_eq!(told["sandbox"]["network"], false);
    assert_eq!(told["capabilities"]["shell"], false);
}

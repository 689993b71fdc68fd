//! The home of commands, from one server to the next.

use ahma_tests::Workspace;
use serde_json::json;

use super::Served;

fn serve(project: Workspace, cache: &Workspace, arguments: &[&str]) -> Served {
    let place = cache.path().to_str().unwrap().to_owned();
    Served::start_in(project, arguments, &[("XDG_CACHE_HOME", place.as_str())])
}

/// Ends a server and gives its project back.
fn ended(served: Served) -> Workspace {
    let Served {
        mut client,
        project,
        ..
    } = served;
    client.close();
    assert_eq!(client.wait().code(), Some(0));
    project
}

/// Proves: S67.
#[test]
fn what_commands_install_into_their_home_is_found_by_the_next_server() {
    let cache = Workspace::new();
    let mut first = serve(Workspace::new(), &cache, &[]);
    let script = "mkdir -p ~/.local/bin; printf '#!/bin/sh\\necho installed\\n' > ~/.local/bin/my-own; \
                  chmod +x ~/.local/bin/my-own; my-own";
    let ran = first.sync(script);
    assert!(
        ran.text.starts_with("installed\n"),
        "found at once: {ran:?}"
    );
    let mut second = serve(ended(first), &cache, &[]);
    let again = second.sync("my-own");
    assert!(again.text.starts_with("installed\n"), "{again:?}");
    let mut fresh = serve(ended(second), &cache, &["--home", "fresh"]);
    let gone = fresh.sync("my-own");
    assert!(gone.text.contains("not found"), "{gone:?}");
    // Another scope has another home.
    let mut other = serve(Workspace::new(), &cache, &[]);
    let gone = other.sync("my-own");
    assert!(gone.text.contains("not found"), "{gone:?}");
}

/// Proves: S67.
#[test]
fn what_was_left_in_a_home_decides_nothing_for_the_server() {
    let cache = Workspace::new();
    let project = Workspace::new();
    assert_eq!(project.run("git", &["init", "-q"]).code, 0);
    let mut first = serve(project, &cache, &[]);
    // A program that a check would find, and settings that Git would run.
    let script = "mkdir -p ~/.local/bin ~/.config/git; \
                  printf '#!/bin/sh\\ntouch %s/ran\\n' \"$PWD\" > ~/.local/bin/no-such-program; \
                  chmod +x ~/.local/bin/no-such-program; \
                  printf '[core]\\nfsmonitor = touch %s/ran\\n' \"$PWD\" > ~/.config/git/config";
    first.sync(script);
    let project = ended(first);
    let tool = json!({
        "name": "checked", "description": "T.", "command": "echo",
        "availability_check": "which no-such-program"
    });
    project.write(".ahma/tools/checked.json", tool.to_string());
    let mut second = serve(project, &cache, &[]);
    let info = second.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["tools"]["unavailable"][0]["name"], "checked", "{info}");
    assert!(info["project"]["git"].is_object(), "{info}");
    assert!(!second.project.path().join("ran").exists());
    // For commands it counts: that is the control.
    second.sync("git status; no-such-program");
    assert!(second.project.path().join("ran").exists());
}

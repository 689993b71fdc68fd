//! The file that names other servers, changed while the server runs.

use std::fs;
use std::path::Path;

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::AHMA_MCP;
use super::behind::{Behind, entry, info, names};

const CHANGED: &str = "notifications/tools/list_changed";

/// Whether a tool is listed.
fn has(client: &mut McpProcess, tool: &str) -> bool {
    names(client).iter().any(|it| it == tool)
}

/// The process of a server.
fn pid(client: &mut McpProcess, server: &str) -> String {
    let path = json!({ "path": "/proc/self/stat" });
    let stat = client.call(&format!("{server}_read"), &path).text;
    stat.split(' ').next().unwrap().to_owned()
}

fn is_gone(pid: &str) -> bool {
    !Path::new("/proc").join(pid).exists()
}

/// Calls a tool that takes its time, and waits until it runs.
fn slow(client: &mut McpProcess, behind: &Behind, server: &str, seconds: u32) -> u64 {
    let before = behind.count("call slow");
    let params = json!({ "name": format!("{server}_slow"), "arguments": { "seconds": seconds } });
    let id = client.send("tools/call", &params);
    until(|| behind.count("call slow") > before);
    id
}

/// What the server says of the file.
fn file(client: &mut McpProcess) -> Value {
    let info = client.call("get_server_info", &json!({})).structured;
    info["mcp_config"].clone()
}

/// Starts a server that knows from the last time what the others offer, so that nothing changes by itself.
fn start(behind: &Behind) -> McpProcess {
    names(&mut behind.start());
    behind.start()
}

fn logged(behind: &Behind) -> Value {
    entry(&[&format!("--log={}", behind.log().display())])
}

/// Proves: C51.
#[test]
fn servers_that_come_and_go_are_taken_over_and_told_once() {
    let behind = Behind::new(&json!({}));
    let up = logged(&behind);
    behind.name(&json!({ "keep": up, "old": up }));
    let mut client = start(&behind);
    assert!(has(&mut client, "old_echo"));
    let (keep, old) = (pid(&mut client, "keep"), pid(&mut client, "old"));
    let running = slow(&mut client, &behind, "keep", 2);
    let lost = slow(&mut client, &behind, "old", 60);
    behind.name(&json!({ "keep": up, "new": entry(&[]) }));
    let lost = CallResult::of(&client.answer(lost));
    assert!(lost.is_error, "{lost:?}");
    let why = "the server `old` was removed from the file that names servers";
    assert!(lost.text.contains(why), "{lost:?}");
    client.notification(CHANGED);
    let now = names(&mut client);
    assert!(now.iter().any(|it| it == "new_echo"), "{now:?}");
    assert!(!now.iter().any(|it| it.starts_with("old_")), "{now:?}");
    until(|| is_gone(&old));
    let went_on = CallResult::of(&client.answer(running));
    assert!(went_on.text.contains("done"), "{went_on:?}");
    assert_eq!(pid(&mut client, "keep"), keep);
    assert_eq!(client.call("new_echo", &json!({ "text": "x" })).text, "x");
    assert_eq!(client.notifications_so_far(CHANGED), 0, "once is enough");
    let servers: Vec<Value> = info(&mut client)
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(servers, ["keep", "new"]);
}

/// Proves: C51.
#[test]
fn a_server_whose_entry_changes_begins_anew_with_it() {
    let behind = Behind::new(&json!({}));
    let with = |value: &str| {
        let mut up = logged(&behind);
        up["env"] = json!({ "KEY": value });
        up
    };
    behind.name(&json!({ "up": with("one"), "keep": entry(&[]) }));
    let mut client = start(&behind);
    let (first, keep) = (pid(&mut client, "up"), pid(&mut client, "keep"));
    let lost = slow(&mut client, &behind, "up", 60);
    let starts = behind.count("start");
    behind.name(&json!({ "up": with("two"), "keep": entry(&[]) }));
    let lost = CallResult::of(&client.answer(lost));
    assert!(lost.text.contains("`up` has changed"), "{lost:?}");
    // It ran, so that it runs again by itself.
    until(|| behind.count("start") == starts + 1);
    let key = client.call("up_env", &json!({ "name": "KEY" }));
    assert_eq!(key.text, "two");
    assert!(is_gone(&first));
    assert_ne!(pid(&mut client, "up"), first);
    assert_eq!(pid(&mut client, "keep"), keep);
    assert_eq!(
        client.notifications_so_far(CHANGED),
        0,
        "the tools are the same"
    );
    // What is offered of it is a change that clients see.
    let mut hidden = with("two");
    hidden["tools"] = json!({ "deny": ["echo"] });
    behind.name(&json!({ "up": hidden, "keep": entry(&[]) }));
    client.notification(CHANGED);
    assert!(!has(&mut client, "up_echo"));
    assert!(has(&mut client, "up_reverse"));
}

/// Proves: C52.
#[test]
fn a_file_with_a_fault_changes_nothing_until_it_is_repaired() {
    let behind = Behind::new(&json!({ "up": entry(&[]) }));
    let mut client = start(&behind);
    let up = pid(&mut client, "up");
    let mut wrong = entry(&[]);
    wrong["timout_seconds"] = json!(5);
    let text = json!({ "servers": { "new": entry(&[]), "odd": wrong } });
    behind.place.write("mcp.json", format!("{text:#}"));
    until(|| file(&mut client)["faults"] != json!([]));
    let told = file(&mut client);
    let fault = told["faults"][0].as_str().unwrap();
    let path = behind.place.path().join("mcp.json");
    assert!(
        fault.starts_with(&format!("{}:14:7:", path.display())),
        "{fault}"
    );
    assert!(fault.contains("did you mean `timeout_seconds`?"), "{fault}");
    assert_eq!(told["file"], json!(path));
    assert!(!has(&mut client, "new_echo"), "not even what is right");
    assert_eq!(pid(&mut client, "up"), up);
    behind.place.write("mcp.json", "{ \"servers\": ");
    until(|| {
        let faults = file(&mut client)["faults"].to_string();
        faults.contains("mcp.json:1:")
    });
    assert_eq!(pid(&mut client, "up"), up);
    behind.name(&json!({ "up": entry(&[]), "new": entry(&[]) }));
    client.notification(CHANGED);
    assert_eq!(file(&mut client)["faults"], json!([]));
    assert!(has(&mut client, "new_echo"));
    assert_eq!(pid(&mut client, "up"), up);
}

/// Proves: C51.
#[test]
fn the_file_of_the_user_may_come_later_be_replaced_and_go() {
    let (project, home) = (Workspace::new(), Workspace::new());
    let variables = [("XDG_CONFIG_HOME", home.path().to_str().unwrap())];
    let arguments = ["--sandbox-scope", project.path().to_str().unwrap()];
    let mut client = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &variables);
    assert!(!has(&mut client, "up_echo"));
    assert_eq!(file(&mut client), Value::Null);
    let text = |servers: &Value| json!({ "servers": servers }).to_string();
    home.write("ahma_mcp/mcp.json", text(&json!({ "up": entry(&[]) })));
    client.notification(CHANGED);
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
    // As editors do it.
    let both = json!({ "up": entry(&[]), "more": entry(&[]) });
    let written = home.write("ahma_mcp/.mcp.json.swp", text(&both));
    fs::rename(written, home.path().join("ahma_mcp/mcp.json")).unwrap();
    client.notification(CHANGED);
    assert!(has(&mut client, "more_echo"));
    // A link to a file elsewhere, which is replaced in its turn.
    let (elsewhere, name) = (Workspace::new(), "ahma_mcp/mcp.json");
    let real = elsewhere.write("real.json", text(&json!({ "linked": entry(&[]) })));
    std::os::unix::fs::symlink(&real, home.path().join("ahma_mcp/link")).unwrap();
    fs::rename(home.path().join("ahma_mcp/link"), home.path().join(name)).unwrap();
    client.notification(CHANGED);
    assert!(has(&mut client, "linked_echo"));
    let written = elsewhere.write("other.json", text(&json!({ "last": entry(&[]) })));
    fs::rename(written, real).unwrap();
    client.notification(CHANGED);
    assert!(has(&mut client, "last_echo"));
    fs::remove_file(home.path().join(name)).unwrap();
    client.notification(CHANGED);
    assert!(!has(&mut client, "last_echo"));
    assert_eq!(file(&mut client), Value::Null);
}

/// Proves: C24, C51.
#[test]
fn a_file_that_commands_can_write_is_read_once() {
    let project = Workspace::new();
    let text = |name: &str| json!({ "servers": { name: entry(&[]) } }).to_string();
    project.write("mcp.json", text("up"));
    let scope = project.path().to_str().unwrap();
    let arguments = ["--sandbox-scope", scope, "--mcp-config", "mcp.json"];
    let mut client = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &[]);
    assert!(has(&mut client, "up_echo"));
    let held_back = file(&mut client)["held_back"].as_str().unwrap().to_owned();
    assert!(held_back.contains("read once"), "{held_back}");
    project.write("mcp.json", text("evil"));
    assert!(ahma_tests::signal("HUP", client.pid()));
    // A server that has noticed such a change by then.
    let behind = Behind::new(&json!({ "up": entry(&[]) }));
    let mut other = start(&behind);
    assert!(has(&mut other, "up_echo"));
    assert_eq!(file(&mut other)["held_back"], Value::Null);
    behind.name(&json!({ "evil": entry(&[]) }));
    other.notification(CHANGED);
    assert!(has(&mut other, "evil_echo"));
    assert!(!has(&mut client, "evil_echo"));
    assert_eq!(client.call("up_echo", &json!({ "text": "x" })).text, "x");
}

/// Proves: C27, C51.
#[test]
fn prompts_and_resources_come_and_go_with_their_server() {
    let behind = Behind::new(&json!({ "up": entry(&[]) }));
    let mut client = start(&behind);
    assert!(has(&mut client, "up_echo"));
    let told = info(&mut client);
    let counts = ["tools", "prompts", "resources"].map(|it| told[0][it].clone());
    assert_eq!(counts, [json!(13), json!(1), json!(1)]);
    behind.name(&json!({ "other": entry(&["--only-tools"]) }));
    client.notification("notifications/prompts/list_changed");
    client.notification("notifications/resources/list_changed");
    let listed = client.request("prompts/list", &json!({}));
    assert_eq!(listed["result"]["prompts"], json!([]));
    let wanted = client.request("resources/read", &json!({ "uri": "test://note" }));
    assert_eq!(wanted["error"]["code"], -32002, "{wanted}");
}

//! Start, settings and end of a server.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Workspace, example, marked, processes_below, signal, unique_mark, until};
use serde_json::json;

use super::{AHMA_MCP, Served, unspoken_to};

/// A server on a machine that lacks a kernel feature.
fn weakened(what: &str, project: &Workspace) -> ahma_tests::Finished {
    let helper = example("weakened_server");
    project.run(helper.to_str().unwrap(), &[what, AHMA_MCP])
}

#[test]
fn server_info_tells_what_is_enforced() {
    let mut served = Served::new();
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["sandbox"]["enforced"], true);
    let layers = info["sandbox"]["layers"].as_array().unwrap();
    assert!(
        layers.iter().all(|layer| layer["enforced"] == true),
        "{layers:?}"
    );
    assert_eq!(info["server"]["pid"], served.client.pid());
    assert_eq!(info["operations"], json!({ "running": 0, "queued": 0 }));
}

#[test]
fn secrets_of_the_server_reach_no_command_unless_named() {
    let secrets = [("MY_API_KEY", "sentinel-1"), ("GH_TOKEN", "sentinel-2")];
    let mut served = Served::with(&["--pass-env", "GH_TOKEN"], &secrets);
    let result = served.sync("env; cat /proc/*/environ | tr '\\0' '\\n'");
    assert!(!result.text.contains("sentinel-1"), "{}", result.text);
    assert!(
        result.text.contains("GH_TOKEN=sentinel-2"),
        "{}",
        result.text
    );
}

#[test]
fn grants_and_network_follow_the_operator() {
    let extra = Workspace::new();
    extra.write("file", "granted\n");
    let path = extra.path().to_str().unwrap();
    let mut served = Served::with(&["--sandbox-read", path, "--network", "off"], &[]);
    let result = served.sync(&format!("cat {path}/file; echo x >> {path}/file"));
    assert!(
        result.text.starts_with("granted\n") && result.is_error,
        "{}",
        result.text
    );
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["sandbox"]["network"], false);
}

/// Proves: S18.
#[test]
fn without_the_sandbox_every_result_says_so() {
    let mut served = Served::with(&["--no-sandbox"], &[]);
    let outside = served.private.write("file", "outside\n");
    let result = served.sync(&format!("cat {}", outside.display()));
    assert!(
        result
            .text
            .starts_with("outside\nThe sandbox is switched off.\n"),
        "{}",
        result.text
    );
    let info = served.client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["sandbox"]["enforced"], false);
    let mark = unique_mark();
    let id = served.start(&format!("(setsid sleep {mark} &); touch up; sleep {mark}"));
    served.until_exists("up");
    served.client.call("cancel", &json!({ "operation_id": id }));
    assert_eq!(marked(&mark), 0, "trees are ended all the same");
}

/// Proves: O10.
#[test]
fn when_the_client_goes_everything_ends() {
    let mut served = Served::new();
    let mark = unique_mark();
    served.start(&format!("(setsid sleep {mark} &); touch up; sleep {mark}"));
    served.until_exists("up");
    let processes = processes_below(served.client.pid());
    assert!(processes.len() >= 4, "{processes:?}");
    served.client.close();
    let status = served.client.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(marked(&mark), 0);
    for process in processes {
        assert!(
            !Path::new("/proc").join(process.to_string()).exists(),
            "{process} is left"
        );
    }
    let left: Vec<_> = fs::read_dir(served.private.path()).unwrap().collect();
    assert!(left.is_empty(), "private directories are removed: {left:?}");
}

/// Proves: O10.
#[test]
fn a_termination_signal_ends_everything() {
    let mut served = Served::new();
    let mark = unique_mark();
    served.start(&format!("touch up; sleep {mark}"));
    served.until_exists("up");
    assert!(signal("TERM", served.client.pid()));
    assert_eq!(served.client.wait().code(), Some(0));
    assert_eq!(marked(&mark), 0);
}

/// The SDK alone would wait five seconds for the answer of the call before anything else.
///
/// Proves: O22.
#[test]
fn a_client_that_goes_in_the_middle_of_a_call_ends_its_command_at_once() {
    let mut served = Served::new();
    let mark = unique_mark();
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": format!("touch up; sleep {mark}"), "execution_mode": "sync" }
    });
    served.client.send("tools/call", &call);
    served.until_exists("up");
    let gone = Instant::now();
    served.client.close();
    assert_eq!(served.client.wait().code(), Some(0));
    assert!(gone.elapsed() < Duration::from_secs(3), "{gone:?}");
    assert_eq!(marked(&mark), 0);
}

/// Proves: O22.
#[test]
fn a_signal_ends_stubborn_commands_within_three_seconds() {
    for name in ["TERM", "INT"] {
        let mut served = Served::new();
        let mark = unique_mark();
        served.start(&format!(
            "trap '' TERM; touch up; sleep {mark}; sleep {mark}"
        ));
        served.until_exists("up");
        let told = Instant::now();
        assert!(signal(name, served.client.pid()));
        assert_eq!(served.client.wait().code(), Some(0), "{name}");
        assert!(told.elapsed() < Duration::from_secs(3), "{name}");
        assert_eq!(marked(&mark), 0);
    }
}

/// Proves: O22.
/// Scenario: 002/11.7.
#[test]
fn a_second_signal_ends_the_server_at_once() {
    let mut served = Served::new();
    let mark = unique_mark();
    let stubborn = format!("trap 'touch told' TERM; touch up; while :; do sleep {mark}; done");
    served.start(&stubborn);
    served.until_exists("up");
    assert!(signal("TERM", served.client.pid()));
    served.until_exists("told");
    assert!(signal("INT", served.client.pid()));
    assert_eq!(served.client.wait().code(), Some(1));
    until(|| marked(&mark) == 0);
    let cache = served.client.cache().join("ahma_mcp");
    let files = fs::read_dir(cache).unwrap().map(|it| it.unwrap().path());
    let mut audits = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let records = fs::read_to_string(audits.next().unwrap()).unwrap();
    assert!(
        records.contains("\"state\":\"lost\""),
        "recorded all the same: {records}"
    );
}

/// Proves: O22.
#[test]
fn a_call_that_is_ended_by_a_signal_is_answered() {
    let mut served = Served::new();
    let call = json!({
        "name": "sandboxed_shell",
        "arguments": { "command": "echo begun; touch up; sleep 60", "execution_mode": "sync" }
    });
    let call = served.client.send("tools/call", &call);
    served.until_exists("up");
    assert!(signal("TERM", served.client.pid()));
    let result = CallResult::of(&served.client.answer(call));
    assert!(result.text.contains("begun\n"), "{result:?}");
    assert!(result.text.contains("the server is stopping"), "{result:?}");
    assert_eq!(served.client.wait().code(), Some(0));
}

/// Proves: O22.
#[test]
fn a_client_that_only_looks_is_left_in_peace() {
    let project = Workspace::new();
    let mut client = unspoken_to(&project);
    client.close();
    assert_eq!(client.wait().code(), Some(0));
}

/// Proves: O10.
#[test]
fn a_killed_server_leaves_no_process() {
    let mut served = Served::new();
    let mark = unique_mark();
    served.start(&format!("(setsid sleep {mark} &); touch up; sleep {mark}"));
    served.until_exists("up");
    served.client.kill();
    until(|| marked(&mark) == 0);
    let next = Served::new();
    drop(next);
}

#[test]
fn a_server_whose_program_was_removed_can_still_start_hosts() {
    let (project, private) = (Workspace::new(), Workspace::new());
    let copy = private.path().join("ahma_mcp");
    ahma_tests::copy_program(AHMA_MCP, &copy);
    let client = McpProcess::connect(copy.to_str().unwrap(), &[], project.path(), &[]);
    let mut served = Served {
        client,
        project,
        private,
    };
    fs::remove_file(copy).unwrap();
    let info = served.client.call("get_server_info", &json!({})).structured;
    let host = info["sandbox"]["hosts"][0].as_u64().unwrap().to_string();
    assert!(signal("KILL", host));
    until(|| served.sync("echo again").text.starts_with("again\n"));
}

/// Proves: P16.
#[test]
fn a_start_leaves_the_project_as_it_was() {
    let mut served = Served::new();
    served.client.call("get_server_info", &json!({}));
    served.client.close();
    served.client.wait();
    assert_eq!(fs::read_dir(served.project.path()).unwrap().count(), 0);
}

/// Proves: S64.
#[test]
fn a_scope_that_is_too_wide_is_refused_with_a_hint_that_works() {
    let workspace = Workspace::new();
    for more in [&[][..], &["--allow-wide-scope"]] {
        let arguments = [&["--sandbox-scope", "/"], more].concat();
        let refused = workspace.run(AHMA_MCP, &arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        for useless in ["--allow-wide-scope", "XDG_STATE_HOME"] {
            assert!(!refused.stderr.contains(useless), "{}", refused.stderr);
        }
        assert!(refused.stderr.contains("\nhint: "), "{}", refused.stderr);
    }

    let home = workspace.path().canonicalize().unwrap();
    let home = home.to_str().unwrap();
    let inside = format!("{home}/state");
    let run = |arguments: &[&str], state: &str| {
        let variables = [("HOME", home), ("XDG_STATE_HOME", state)];
        let arguments = [&["--sandbox-scope", home], arguments].concat();
        workspace.run_with(AHMA_MCP, &arguments, &variables)
    };
    let refused = run(&[], &inside);
    assert_eq!(refused.code, 2);
    for useful in ["the scope", "--allow-wide-scope", "XDG_STATE_HOME"] {
        assert!(refused.stderr.contains(useful), "{}", refused.stderr);
    }
    let refused = run(&["--allow-wide-scope"], &inside);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("XDG_STATE_HOME"),
        "{}",
        refused.stderr
    );
    let outside = Workspace::new();
    let served = run(&["--allow-wide-scope"], outside.path().to_str().unwrap());
    assert_eq!(served.code, 0, "{}", served.stderr);
}

/// Proves: S11, S15, S17.
#[test]
fn without_landlock_the_server_refuses_and_says_what_to_do() {
    for what in ["no-landlock", "16-layers"] {
        let finished = weakened(what, &Workspace::new());
        assert_eq!(finished.code, 3, "{what}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "{what}");
        for part in [
            "error: the sandbox cannot be set up: Landlock is not available",
            "Linux 5.13 or newer",
            "an agent could damage files anywhere",
            "--no-sandbox",
            "AHMA_NO_SANDBOX=1",
        ] {
            assert!(
                finished.stderr.contains(part),
                "{what} lacks {part}: {}",
                finished.stderr
            );
        }
    }
}

/// Proves: S59.
#[test]
fn a_sandbox_that_lacks_a_layer_is_told_of_and_can_be_refused() {
    let helper = example("weakened_server");
    let helper = helper.to_str().unwrap();
    let (project, private) = (Workspace::new(), Workspace::new());
    let temporary = [("TMPDIR", private.path().to_str().unwrap())];
    let arguments = ["no-user-namespaces", AHMA_MCP];
    let mut client = McpProcess::connect(helper, &arguments, project.path(), &temporary);
    let echo = json!({ "command": "echo hello", "execution_mode": "sync" });
    let said =
        "the sandbox is incomplete on this machine: commands can see which files exist outside";
    let first = client.call("sandboxed_shell", &echo);
    assert!(first.warnings.to_string().contains(said), "{first:?}");
    assert!(client.stderr().contains(said), "{}", client.stderr());
    let info = client.call("get_server_info", &json!({})).structured;
    let warnings = info["sandbox"]["warnings"].to_string();
    assert!(warnings.contains(said), "{warnings}");
    let second = client.call("sandboxed_shell", &echo);
    assert!(
        !second.text.contains("incomplete"),
        "once is enough: {}",
        second.text
    );

    let required = [AHMA_MCP, "--require", "namespaces,landlock"];
    let refused = project.run(helper, &[&["no-user-namespaces"], &required[..]].concat());
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let why = "the sandbox is not as it is required to be: Namespaces is not enforced";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let off = [("AHMA_NO_SANDBOX", "1")];
    let refused = project.run_with(AHMA_MCP, &required[1..], &off);
    assert_eq!(
        refused.code, 3,
        "no variable takes it away: {}",
        refused.stderr
    );
    let mut whole = Served::with(&required[1..], &[]);
    assert!(whole.sync("echo hello").text.starts_with("hello\n"));
    assert!(!whole.client.stderr().contains("incomplete"));
}

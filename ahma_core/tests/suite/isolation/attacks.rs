//! Two clients side by side, each trying to get at the other.

use ahma_tests::http::Client;
use ahma_tests::{marked, unique_mark, until};
use serde_json::{Value, json};

use super::Isolated;

/// What a call says of an operation that is not there.
fn of_nothing(client: &Client, tool: &str) -> Value {
    answer(client, tool, "op_aaaaaaaaaaaaaaaaaaaaaaaaaa")
}

fn answer(client: &Client, tool: &str, id: &str) -> Value {
    let result = client.call(tool, &json!({ "operation_id": id }));
    json!([
        result.is_error,
        result.text.replace(id, "ID"),
        result.structured
    ])
}

/// Proves: I1.
#[test]
fn files_of_another_session_cannot_be_read_or_written() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    one.sync("echo precious > secret; mkdir -p \"$TMPDIR\"; echo private > \"$TMPDIR/t\"; echo private > \"$HOME/h\"");
    let places = one.sync("echo \"$HOME\"; echo \"$TMPDIR\"").text;
    let mut places = places.lines();
    let (home, temporary) = (places.next().unwrap(), places.next().unwrap());
    let secret = isolated.project("one").join("secret");
    let secret = secret.to_str().unwrap();
    for path in [secret, &format!("{home}/h"), &format!("{temporary}/t")] {
        let read = two.sync(&format!("cat {path}"));
        assert_eq!(read.record["state"], "failed", "{path}: {read:?}");
        let write = two.sync(&format!("echo planted > {path}"));
        assert_eq!(write.record["state"], "failed", "{path}: {write:?}");
        two.sync(&format!(
            "ln -s {path} link; cat link > copy; mv {path} x; rm -f {path}; ln {path} y"
        ));
        let own = one.sync(&format!("cat {path}"));
        assert_eq!(
            own.record["state"], "completed",
            "its owner reads it: {own:?}"
        );
        assert!(!own.text.contains("planted"), "{own:?}");
    }
    let copied = std::fs::read_to_string(isolated.project("two").join("copy")).unwrap();
    assert_eq!(copied, "");
    let home_of_two = two.sync("echo \"$HOME\"").text;
    assert!(!home_of_two.starts_with(home), "{home_of_two}");
    let escaped = two.call(
        "sandboxed_shell",
        &json!({ "command": "pwd", "working_directory": isolated.project("one"), "execution_mode": "sync" }),
    );
    assert!(escaped.is_error, "{escaped:?}");
}

/// Proves: I9.
#[test]
fn operations_of_another_session_are_as_unknown_as_those_that_never_were() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let mark = unique_mark();
    let id = one.start(&format!("echo precious; sleep {mark}"));
    until(|| marked(&mark) >= 1);
    for tool in ["await", "status", "cancel", "read_output"] {
        assert_eq!(answer(&two, tool, &id), of_nothing(&two, tool), "{tool}");
    }
    assert_eq!(
        two.call("status", &json!({})).structured["operations"],
        json!([])
    );
    let waited = two.call(
        "await",
        &json!({ "tools": ["sandboxed_shell"], "timeout_seconds": 1 }),
    );
    assert!(!waited.text.contains(&id), "{waited:?}");
    let stateless = isolated.process.stateless();
    let request = stateless.message(&json!(1), "tasks/get", &json!({ "taskId": id }));
    let task = request.header("mcp-name", &id).send(stateless.address).body;
    assert!(!task.contains("working"), "{task}");
    assert!(marked(&mark) >= 1, "it still runs");
    assert_eq!(
        one.call("status", &json!({})).structured["operations"][0]["operation_id"],
        json!(id)
    );
}

/// Proves: I9.
#[test]
fn nobody_is_told_of_what_another_session_did() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let mut stream = two.stream();
    let id = one.start("echo precious");
    one.call("await", &json!({ "operation_id": id }));
    let own = two.start("echo own");
    let told = stream.message("notifications/message");
    assert_eq!(
        told["params"]["_meta"]["ahma/operation"]["operation_id"],
        json!(own),
        "the first that comes is its own"
    );
}

/// Proves: I9.
#[test]
fn processes_of_another_session_cannot_be_seen_or_signalled() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let mark = unique_mark();
    one.start(&format!("sleep {mark}"));
    until(|| marked(&mark) >= 1);
    let pids: Vec<String> = ahma_tests::processes_marked(&mark);
    let pids: Vec<&str> = pids
        .iter()
        .map(|it| it.split(' ').next().unwrap())
        .collect();
    let seen = two.sync("cat /proc/*/cmdline | tr '\\0' ' '; ls /proc");
    assert!(!seen.text.contains(&mark), "{seen:?}");
    let killing = format!(
        "kill -9 {}; kill -9 -1; pkill -9 sleep; true",
        pids.join(" ")
    );
    two.sync(&killing);
    assert!(marked(&mark) >= 1);
}

/// Proves: I9.
#[test]
fn sockets_of_another_session_cannot_be_reached() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let listening = "exec /usr/bin/python3 -c \"\
        import socket\n\
        s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.listen()\n\
        a = socket.socket(socket.AF_UNIX); a.bind('\\\\0ahma-test-one'); a.listen()\n\
        open('ready', 'w')\n\
        import time; time.sleep(600)\"";
    one.start(listening);
    let project = isolated.project("one");
    until(|| project.join("ready").exists());
    let connecting = |address: &str| {
        format!(
            "/usr/bin/python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{address}'); print('reached')\""
        )
    };
    let path = project.join("sock");
    for address in [path.to_str().unwrap(), "\\\\0ahma-test-one"] {
        let refused = two.sync(&connecting(address));
        assert!(
            !refused.text.contains("reached\n"),
            "{address}: {refused:?}"
        );
    }
    let own = one.sync(&connecting("sock"));
    assert!(
        own.text.contains("reached\n"),
        "its own session reaches it: {own:?}"
    );
}

/// Proves: I9.
#[test]
fn the_name_of_a_session_is_not_to_be_had_and_not_enough() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let name = one.session.clone().unwrap();
    let search = two.sync("env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; grep -r . \"$HOME\" \"$TMPDIR\"; true");
    assert!(search.text.contains("PATH="), "{search:?}");
    assert!(!search.text.contains(&name), "{search:?}");
    let info = two
        .call("get_server_info", &json!({}))
        .structured
        .to_string();
    assert!(!info.contains(&name));
    assert!(
        !info.contains(isolated.project("one").to_str().unwrap()),
        "{info}"
    );
    let thief = Client {
        token: None,
        ..one.clone()
    };
    let refused = thief
        .message(&json!(1), "ping", &json!({}))
        .send(one.address);
    assert_eq!(refused.status, 401);
}

/// Proves: I1.
#[test]
fn server_info_tells_of_the_callers_own_world_only() {
    let isolated = Isolated::new();
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    one.start("sleep 600");
    let own = one.call("get_server_info", &json!({})).structured;
    let other = two.call("get_server_info", &json!({})).structured;
    assert_eq!(other["operations"], json!({ "running": 0, "queued": 0 }));
    assert_eq!(own["operations"], json!({ "running": 1, "queued": 0 }));
    assert_eq!(
        (&own["sessions"], &other["sessions"]),
        (&json!(1), &json!(1))
    );
    let hosts = |info: &Value| info["sandbox"]["hosts"].as_array().unwrap().clone();
    assert_eq!((hosts(&own).len(), hosts(&other).len()), (1, 1));
    let is_foreign = |host: &Value| !hosts(&other).contains(host);
    assert!(hosts(&own).iter().all(is_foreign));
    let all = ahma_tests::processes_below(isolated.process.pid()).len() as u64;
    let told = |info: &Value| info["processes"].as_u64().unwrap();
    assert!(
        told(&own) + told(&other) < all,
        "the server has others: {all}"
    );
    let text = other.to_string();
    for hidden in [
        isolated.project("one"),
        isolated.own.path().canonicalize().unwrap(),
    ] {
        assert!(!text.contains(hidden.to_str().unwrap()), "{text}");
    }
}

/// Proves: I7.
#[test]
fn a_session_whose_scope_is_around_the_servers_own_cannot_make_tools_or_forge_its_file() {
    let projects = ahma_tests::Workspace::new();
    projects.make_directory("outer/own");
    let own = projects.path().join("outer/own").canonicalize().unwrap();
    let root = projects.path().to_str().unwrap().to_owned();
    let tool = json!({ "name": "own", "description": "One.", "command": "true" });
    projects.write("outer/own/tools-here/own.json", tool.to_string());
    let tools = own.join("tools-here");
    let arguments = [
        "--session-isolation",
        "--scope-root",
        &root,
        "--tools-dir",
        tools.to_str().unwrap(),
    ];
    let process = ahma_tests::http_process::HttpProcess::start(super::AHMA_MCP, &arguments, &own);
    let outer = ahma_tests::http::root_of(&projects.path().join("outer"));
    let client = process.stateless().with_roots(&[outer]);
    let state = own.join(".ahma/.mcp_server_state.json");
    let before = std::fs::read_to_string(&state).unwrap();
    let denied = client.sync("echo '{}' > own/tools-here/planted.json");
    assert_eq!(denied.record["state"], "failed", "{denied:?}");
    let denied = client.sync("echo forged > own/.ahma/.mcp_server_state.json");
    assert_eq!(denied.record["state"], "failed", "{denied:?}");
    client.sync("mv own other; rm -rf own/.ahma own/tools-here");
    assert_eq!(std::fs::read_to_string(&state).unwrap(), before);
    assert!(tools.join("own.json").exists());
    let allowed = client.sync("echo fine > own/file && cat own/file");
    assert!(allowed.text.starts_with("fine\n"), "{allowed:?}");
}

/// Proves: I7.
#[test]
fn the_places_of_tools_cannot_be_a_scope_nor_be_written_from_one_around_them() {
    let projects = ahma_tests::Workspace::new();
    let tool = json!({ "name": "own", "description": "One.", "command": "true" }).to_string();
    projects.write("own/.ahma/tools/own.json", &tool);
    projects.write("space/tools-of-it/own.json", &tool);
    projects.write("space/.ahma/tools/own.json", &tool);
    let at = |name: &str| projects.path().join(name).canonicalize().unwrap();
    let root = projects.path().to_str().unwrap().to_owned();
    let workspace = format!("space={}", at("space").display());
    let arguments = [
        "--session-isolation",
        "--scope-root",
        &root,
        "--workspace",
        &workspace,
    ];
    let process =
        ahma_tests::http_process::HttpProcess::start(super::AHMA_MCP, &arguments, &at("own"));
    let with_root = |name: &str| {
        process
            .stateless()
            .with_roots(&[ahma_tests::http::root_of(&at(name))])
    };
    for name in [
        "own/.ahma",
        "own/.ahma/tools",
        "space/.ahma",
        "space/.ahma/tools",
    ] {
        let refused = with_root(name).sync("echo x > planted.json");
        assert!(refused.is_error, "{name}: {refused:?}");
        assert!(
            refused.text.contains("reads tools from there"),
            "{name}: {refused:?}"
        );
    }
    projects.make_directory("all");
    let around = with_root("space");
    for name in ["planted.json", "own.json"] {
        let denied = around.sync(&format!("echo x > .ahma/tools/{name}"));
        assert_eq!(denied.record["state"], "failed", "{name}: {denied:?}");
    }
    let allowed = around.sync("echo fine > file && cat file");
    assert!(allowed.text.starts_with("fine\n"), "{allowed:?}");
}

/// Proves: I7.
#[test]
fn private_directories_and_secrets_cannot_be_a_scope() {
    let projects = ahma_tests::Workspace::new();
    let own = ahma_tests::Workspace::new();
    for name in ["tmp", "real-state", "a"] {
        projects.make_directory(name);
    }
    let at = |name: &str| projects.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(at("real-state"), own.path().join("state-link")).unwrap();
    let root = projects.path().to_str().unwrap().to_owned();
    let arguments = [
        "--session-isolation",
        "--scope-root",
        &root,
        "--http-token",
        "0123456789abcdef",
        "--sandbox-scope",
        &at("a"),
    ];
    let link = own.path().join("state-link");
    let environment = [
        ("TMPDIR", at("tmp")),
        ("XDG_STATE_HOME", link.to_str().unwrap().to_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    std::fs::create_dir_all(projects.path().join("real-state/ahma_mcp/http-tokens")).unwrap();
    let process = ahma_tests::http_process::HttpProcess::start_with(
        super::AHMA_MCP,
        &arguments,
        own.path(),
        &environment,
    );
    let private = std::fs::read_dir(at("tmp"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for path in [
        private.join("home"),
        private,
        at("tmp").into(),
        at("real-state").into(),
        format!("{}/ahma_mcp", at("real-state")).into(),
    ] {
        let client = process
            .stateless()
            .with_roots(&[ahma_tests::http::root_of(&path)]);
        let refused = client.sync("pwd");
        assert!(refused.is_error, "{path:?}: {refused:?}");
        assert!(refused.text.contains("secrets"), "{path:?}: {refused:?}");
    }
}

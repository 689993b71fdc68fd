//! Workspaces that the operator has declared.

use std::path::PathBuf;

use ahma_tests::http::{Client, Request, initialize};
use ahma_tests::http_process::HttpProcess;
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::AHMA_MCP;

struct Served {
    process: HttpProcess,
    one: Workspace,
    two: Workspace,
    own: Workspace,
}

impl Served {
    fn new(more: &[&str]) -> Self {
        let [one, two, own] = [(), (), ()].map(|()| Workspace::new());
        for (workspace, name) in [(&one, "only_one"), (&two, "only_two"), (&own, "only_own")] {
            let tool = json!({ "name": name, "description": "Here only.", "command": "pwd", "synchronous": true });
            workspace.write(".ahma/tools/tool.json", tool.to_string());
        }
        let declared = [("one", &one), ("two.x", &two)]
            .map(|(name, it)| format!("{name}={}", it.path().display()));
        let arguments = [
            "--workspace",
            &declared[0],
            "--workspace",
            &declared[1],
            "--rate-limit",
            "0",
        ];
        let process = HttpProcess::start(AHMA_MCP, &[&arguments, more].concat(), own.path());
        Served {
            process,
            one,
            two,
            own,
        }
    }

    /// Clients of both lifecycles at a workspace.
    fn clients(&self, name: &str) -> [Client; 2] {
        let client = self.process.stateless().at(&format!("/mcp/w/{name}"));
        [client.connected(&initialize("2025-06-18")), client]
    }
}

fn names(client: &Client) -> Vec<String> {
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("only_")).collect()
}

fn real(workspace: &Workspace) -> PathBuf {
    workspace.path().canonicalize().unwrap()
}

/// Proves: I10.
#[test]
fn each_has_its_own_scope_and_tools_in_both_lifecycles() {
    let served = Served::new(&[]);
    for (name, workspace, tool) in [
        ("one", &served.one, "only_one"),
        ("two.x", &served.two, "only_two"),
    ] {
        for client in served.clients(name) {
            assert_eq!(names(&client), [tool]);
            let result = client.call(tool, &json!({}));
            assert!(
                result.text.starts_with(real(workspace).to_str().unwrap()),
                "{result:?}"
            );
            let info = client.call("get_server_info", &json!({})).structured;
            assert_eq!(info["sandbox"]["scope"], json!(real(workspace)));
            let url = format!("http://{}/mcp/w/{name}", served.process.address);
            assert_eq!(info["server"]["url"], json!(url));
        }
    }
    let plain = served.process.connect();
    assert_eq!(names(&plain), ["only_own"]);
    assert!(
        plain
            .sync("pwd")
            .text
            .starts_with(real(&served.own).to_str().unwrap())
    );
}

/// Proves: I9.
#[test]
fn one_sees_nothing_of_another() {
    let served = Served::new(&[]);
    let [one, stateless] = served.clients("one");
    let [two, _] = served.clients("two.x");
    let id = one.start("echo precious > secret; sleep 600");
    let secret = real(&served.one).join("secret");
    until(|| secret.exists());
    let seen = stateless.call("status", &json!({})).structured;
    assert_eq!(
        seen["operations"][0]["operation_id"],
        json!(id),
        "within one they are shared"
    );
    for stranger in [&two, &served.process.connect(), &served.process.stateless()] {
        let read = stranger.sync(&format!("cat {}", secret.display()));
        assert_eq!(read.record["state"], "failed", "{read:?}");
        for tool in ["await", "cancel", "read_output"] {
            let unknown = stranger.call(tool, &json!({ "operation_id": id }));
            assert!(unknown.is_error, "{tool}: {unknown:?}");
            assert!(!unknown.text.contains("precious"), "{tool}: {unknown:?}");
        }
        let rows = stranger.call("status", &json!({})).structured;
        assert!(!rows.to_string().contains(&id), "{rows}");
    }
    let state = stateless
        .call("status", &json!({ "operation_id": id }))
        .structured;
    assert_eq!(state["operations"][0]["state"], "running");
}

/// Proves: I9.
#[test]
fn a_session_of_one_is_unknown_at_another() {
    let served = Served::new(&[]);
    let [one, _] = served.clients("one");
    for path in ["/mcp", "/mcp/w/two.x"] {
        let elsewhere = one.clone().at(path);
        let ping = elsewhere.message(&json!(1), "ping", &json!({}));
        assert_eq!(ping.send(one.address).status, 404, "{path}");
        assert_eq!(elsewhere.delete().status, 404, "{path}");
    }
    assert!(one.sync("echo hi").text.starts_with("hi\n"));
}

/// Proves: I10.
#[test]
fn one_that_was_not_declared_is_404_and_without_the_token_401() {
    let served = Served::new(&[]);
    let stranger = Request::new("POST", "/mcp/w/one").json("{}");
    assert_eq!(stranger.send(served.process.address).status, 401);
    for path in [
        "/mcp/w/three",
        "/mcp/w/",
        "/mcp/w/one/x",
        "/mcp/w/..",
        "/mcp/w/on%65",
    ] {
        let client = served.process.stateless().at(path);
        let reply = client
            .message(&json!(1), "tools/list", &json!({}))
            .send(client.address);
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
}

/// Proves: I10.
#[test]
fn its_host_starts_with_its_first_use() {
    let served = Served::new(&[]);
    let processes = || ahma_tests::processes_below(served.process.pid()).len();
    let before = processes();
    served.process.connect().sync("true");
    let [one, _] = served.clients("one");
    assert!(one.sync("echo hi").text.starts_with("hi\n"));
    assert!(processes() > before);
}

/// Proves: I10.
#[test]
fn a_change_of_its_tool_files_reaches_its_clients_and_no_others() {
    let served = Served::new(&[]);
    let ([one, _], [two, _]) = (served.clients("one"), served.clients("two.x"));
    let changed =
        |stream: &mut ahma_tests::http::Opened| stream.message("notifications/tools/list_changed");
    names(&one);
    names(&two);
    let (mut of_one, mut of_two) = (one.stream(), two.stream());
    let tool = |text: &str| {
        json!({ "name": "only_one", "description": text, "command": "pwd", "synchronous": true })
            .to_string()
    };
    served.one.write(".ahma/tools/tool.json", tool("Another."));
    changed(&mut of_one);
    let own = two.start("true");
    let told = of_two.event().unwrap().data;
    assert_eq!(
        told["params"]["_meta"]["ahma/operation"]["operation_id"],
        json!(own),
        "not told of the other: {told}"
    );
}

/// Proves: I10.
#[test]
fn isolation_and_workspaces_go_together() {
    let roots = Workspace::new();
    let root = roots.path().to_str().unwrap();
    let served = Served::new(&["--session-isolation", "--scope-root", root]);
    for client in served.clients("one") {
        let result = client.sync("pwd");
        assert!(
            result.text.starts_with(real(&served.one).to_str().unwrap()),
            "{result:?}"
        );
    }
    let refused = served.process.stateless().sync("pwd");
    assert!(refused.is_error, "{refused:?}");
}

/// Proves: I10.
#[test]
fn a_workspace_that_is_gone_is_503_with_its_reason() {
    let served = Served::new(&[]);
    std::fs::remove_dir_all(served.two.path()).unwrap();
    let client = served.process.stateless().at("/mcp/w/two.x");
    let reply = client
        .message(&json!(1), "tools/list", &json!({}))
        .send(client.address);
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(reply.why().contains("cannot be used"), "{reply:?}");
    let tool = json!({ "name": "only_two", "description": "Here again.", "command": "pwd" });
    served.two.write(".ahma/tools/tool.json", tool.to_string());
    let reply = client
        .message(&json!(1), "tools/list", &json!({}))
        .send(client.address);
    assert_eq!(reply.status, 200, "and works when it is back: {reply:?}");
    let _: Value = reply.answer();
}

/// Proves: I10.
#[test]
fn its_private_directories_go_with_the_server() {
    let mut served = Served::new(&[]);
    let [one, _] = served.clients("one");
    let home = one.sync("echo \"$HOME\"").text;
    let home = home.lines().next().unwrap().to_owned();
    assert!(std::path::Path::new(&home).exists());
    served.process.terminate();
    assert_eq!(served.process.wait().code(), Some(0));
    let left = std::fs::read_dir(served.process.home().join("tmp")).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// Proves: I10.
#[test]
fn commands_of_the_servers_own_scope_cannot_make_tools_of_a_workspace_inside_it() {
    let own = Workspace::new();
    let tool = json!({ "name": "only_inner", "description": "Here only.", "command": "pwd" });
    own.write("inner/.ahma/tools/tool.json", tool.to_string());
    let declared = format!("inner={}", real(&own).join("inner").display());
    let process = HttpProcess::start(AHMA_MCP, &["--workspace", &declared], own.path());
    let denied = process
        .connect()
        .sync("echo x > inner/.ahma/tools/planted.json");
    assert_eq!(denied.record["state"], "failed", "{denied:?}");
    let allowed = process
        .connect()
        .sync("echo fine > inner/file && cat inner/file");
    assert!(allowed.text.starts_with("fine\n"), "{allowed:?}");
    let inner = process.stateless().at("/mcp/w/inner");
    assert_eq!(names(&inner), ["only_inner"]);
}

/// Proves: I10.
#[test]
fn records_of_the_server_cannot_be_in_a_workspace() {
    let (own, space, home) = (Workspace::new(), Workspace::new(), Workspace::new());
    let declared = format!("a={}", space.path().display());
    let audit = space.path().join("audit.jsonl");
    let arguments = [
        "--mode",
        "http",
        "--workspace",
        &declared,
        "--audit-log",
        audit.to_str().unwrap(),
    ];
    let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let refused = own.run_with(AHMA_MCP, &arguments, &environment);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("audit log"), "{}", refused.stderr);
}

/// Proves: I10.
#[test]
fn a_workspace_that_cannot_be_opened_is_tried_no_more_often_than_the_rate_allows() {
    let (own, space) = (Workspace::new(), Workspace::new());
    let declared = format!("a={}", space.path().display());
    let arguments = [
        "--workspace",
        &declared,
        "--rate-limit",
        "1",
        "--rate-burst",
        "3",
    ];
    let process = HttpProcess::start(AHMA_MCP, &arguments, own.path());
    std::fs::remove_dir_all(space.path()).unwrap();
    let client = process.stateless().at("/mcp/w/a");
    let request = client.message(&json!(1), "tools/list", &json!({}));
    let statuses: Vec<u16> = (0..8)
        .map(|_| request.send(client.address).status)
        .collect();
    assert_eq!(statuses[0], 503, "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    std::fs::create_dir_all(space.path()).unwrap();
}

/// Proves: I10.
#[test]
#[ignore = "takes more than a minute; run by .ci/soak"]
fn its_host_ends_when_nobody_uses_it_and_starts_again() {
    let served = Served::new(&["--session-idle-minutes", "1"]);
    let [_, client] = served.clients("one");
    let host = || {
        let info = client.call("get_server_info", &json!({})).structured;
        format!("/proc/{}", info["sandbox"]["hosts"][0])
    };
    let first = host();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(150);
    while std::path::Path::new(&first).exists() {
        assert!(std::time::Instant::now() < end, "it is still there");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(client.sync("echo again").text.starts_with("again\n"));
    assert_ne!(host(), first);
}

/// Proves: I13.
#[test]
fn the_key_of_a_workspace_opens_that_workspace_and_nothing_else() {
    let served = Served::new(&[]);
    let keys = [
        ("/mcp", served.process.token.clone().unwrap()),
        ("/mcp/w/one", served.process.tokens["/mcp/w/one"].clone()),
        (
            "/mcp/w/two.x",
            served.process.tokens["/mcp/w/two.x"].clone(),
        ),
    ];
    for (path, _) in &keys {
        for (of, key) in &keys {
            let mut client = served.process.stateless().at(path);
            client.token = Some(key.clone());
            let request = client.message(&json!(1), "tools/list", &json!({}));
            let status = request.send(client.address).status;
            assert_eq!(status, if path == of { 200 } else { 401 }, "{of} at {path}");
        }
    }
    // Whatever the path looks like: the key of the server does not lead into a workspace.
    for path in [
        "/mcp/w/one/",
        "/mcp/w/on%65",
        "/mcp/w/%6fne/",
        "/mcp//w/one",
    ] {
        let client = served.process.stateless().at(path);
        let request = client.message(&json!(1), "tools/list", &json!({}));
        let status = request.send(client.address).status;
        assert!([401, 404].contains(&status), "{path}: {status}");
    }
}

/// Proves: I13.
#[test]
fn a_command_that_finds_the_key_of_its_project_gets_into_no_other() {
    let served = Served::new(&[]);
    let [one, _] = served.clients("one");
    let key = &served.process.tokens["/mcp/w/one"];
    served.one.write(
        ".vscode/mcp.json",
        json!({ "url": format!("?key={key}") }).to_string(),
    );
    let port = served.process.address.port();
    let ask = |path: &str| {
        let script = format!(
            "key=$(sed 's/.*key=\\([^\"]*\\).*/\\1/' .vscode/mcp.json)
             python3 - \"$key\" <<'X'
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', {port})
c.request('POST', '{path}', '{{}}', {{'Authorization': 'Bearer ' + sys.argv[1], 'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream'}})
print('status', c.getresponse().status)
X"
        );
        one.sync(&script).text
    };
    assert!(ask("/mcp/w/two.x").contains("status 401"));
    assert!(ask("/mcp").contains("status 401"));
    let own = ask("/mcp/w/one");
    assert!(
        own.contains("status ") && !own.contains("401"),
        "it is its own key: {own}"
    );
}

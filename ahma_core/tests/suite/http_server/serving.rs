//! `--mode http`: what a client gets.

use ahma_tests::Workspace;
use ahma_tests::http::{Request, initialize};
use serde_json::{Value, json};

use super::{AHMA_MCP, Served};

/// Proves: D5.
#[test]
fn the_start_prints_a_url_and_an_entry_that_work_as_they_are() {
    let served = Served::new();
    let said = &served.process.said;
    let url = format!("http://{}/mcp", served.process.address);
    assert!(
        said.starts_with(&format!("ahma_mcp serves {url}\n")),
        "{said}"
    );
    let entry = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("mcp.json entry"));
    let entry: Value = serde_json::from_str(entry.unwrap().trim()).unwrap();
    let entry = &entry["mcpServers"]["Ahama"];
    assert_eq!(entry["type"], "http");
    let target = entry["url"].as_str().unwrap().strip_prefix(&url);
    let target = format!("/mcp{}", target.unwrap());
    let request = Request::new("POST", &target).json(initialize("2025-06-18").to_string());
    let reply = request.send(served.process.address);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["result"]["serverInfo"]["name"], "ahma_mcp");
}

/// Proves: H1.
#[test]
fn a_command_runs_confined_for_clients_of_both_lifecycles() {
    let served = Served::new();
    let outside = Workspace::new();
    let script = format!(
        "echo in > inside; echo out > {}/x; cat inside",
        outside.path().display()
    );
    for client in served.clients() {
        let result = client.sync(&script);
        assert!(result.text.contains("in\n"), "{result:?}");
        assert!(!outside.path().join("x").exists());
        assert_eq!(result.record["state"], "completed", "{result:?}");
    }
}

/// Proves: H1.
#[test]
fn the_end_of_a_background_operation_is_pushed_on_the_stream_of_its_session() {
    let served = Served::new();
    let (client, other) = (served.connect(), served.connect());
    let (mut stream, mut elsewhere) = (client.stream(), other.stream());
    let id = client.start("echo done");
    let message = stream.message("notifications/message");
    let record = &message["params"]["_meta"]["ahma/operation"];
    assert_eq!(record["operation_id"], json!(id), "{message}");
    assert_eq!(record["state"], "completed", "{message}");
    assert!(
        message["params"]["data"]
            .as_str()
            .unwrap()
            .starts_with("done\n")
    );
    let own = other.start("echo own");
    let message = elsewhere.message("notifications/message");
    assert_eq!(
        message["params"]["_meta"]["ahma/operation"]["operation_id"],
        json!(own),
        "only what is its own"
    );
}

/// Proves: H1.
#[test]
fn progress_comes_while_a_call_waits() {
    let served = Served::new();
    for client in served.clients() {
        let params = json!({
            "name": "sandboxed_shell",
            "arguments": { "command": "echo busy; sleep 1.2", "execution_mode": "sync" },
            "_meta": { "progressToken": "t" },
        });
        let reply = client
            .message(&json!(1), "tools/call", &params)
            .send(client.address);
        let events = reply.events();
        let told = events
            .iter()
            .filter(|it| it["method"] == "notifications/progress");
        let told: Vec<_> = told.map(|it| it["params"]["message"].clone()).collect();
        assert!(told.contains(&json!("busy")), "{events:?}");
    }
}

#[test]
fn a_changed_tool_file_reaches_sessions_and_subscribers() {
    let project = Workspace::new();
    let tool =
        |text: &str| json!({ "name": "own", "description": text, "command": "true" }).to_string();
    project.write(".ahma/tools/own.json", tool("One."));
    let served = Served::of(project, &[]);
    let client = served.connect();
    client.request("tools/list", &json!({}));
    let mut stream = client.stream();
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let listen = served
        .process
        .stateless()
        .message(&json!(1), "subscriptions/listen", &params);
    let mut subscription = listen.open(served.process.address);
    subscription.message("notifications/subscriptions/acknowledged");
    served.project.write(".ahma/tools/own.json", tool("Two."));
    stream.message("notifications/tools/list_changed");
    subscription.message("notifications/tools/list_changed");
}

/// Proves: H17.
#[test]
fn there_are_no_resources_and_prompts_and_asking_for_one_names_the_mistake() {
    let served = Served::new();
    for (client, code) in served.clients().iter().zip([-32002, -32602]) {
        for list in ["resources", "prompts"] {
            let answer = client.request(&format!("{list}/list"), &json!({}));
            assert_eq!(answer["result"][list], json!([]), "{answer}");
        }
        let read = json!({ "uri": "file:///x" });
        let mut request = client.message(&json!(1), "resources/read", &read);
        if client.session.is_none() {
            request = request.header("mcp-name", "file:///x");
        }
        let answer = request.send(client.address).answer();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], "file:///x");
        let answer = client.request("prompts/get", &json!({ "name": "x" }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

/// Proves: H6.
#[test]
fn people_with_curl_can_look() {
    let served = Served::new();
    let health = Request::new("GET", "/health")
        .send(served.process.address)
        .json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["operations"], json!({ "running": 0, "queued": 0 }));
    assert!(health["uptime_seconds"].is_u64());
    let token = served.process.token.as_deref().unwrap();
    let look = |name: &str| {
        let target = format!("/{name}?key={token}");
        Request::new("GET", &target)
            .send(served.process.address)
            .json()
    };
    let tools = look("tools")["tools"].as_array().unwrap().clone();
    assert!(tools.iter().any(|tool| tool["name"] == "sandboxed_shell"));
    assert_eq!(look("resources"), json!({ "resources": [] }));
    assert_eq!(look("prompts"), json!({ "prompts": [] }));
}

/// Proves: H6, P38.
#[test]
fn what_files_offer_is_listed_for_people_with_curl() {
    let project = Workspace::new();
    let icons = json!([{ "src": "https://example.org/icon.png", "sizes": ["48x48"] }]);
    let argument = json!({ "name": "who", "description": "Whom.", "required": true });
    let prompt = json!({
        "name": "greet", "title": "Greet", "description": "Greets.", "icons": icons,
        "arguments": [argument], "messages": [{ "text": "Greet {who}." }]
    });
    project.write(".ahma/prompts/greet.json", prompt.to_string());
    let resource = json!({
        "uri": "docs://readme", "name": "readme", "title": "Read me", "description": "What it is.",
        "file": "README.md", "icons": icons
    });
    project.write(".ahma/resources/readme.json", resource.to_string());
    let served = Served::of(project, &[]);
    let token = served.process.token.as_deref().unwrap();
    let look = |name: &str| {
        let target = format!("/{name}?key={token}");
        let reply = Request::new("GET", &target).send(served.process.address);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        reply.json()
    };
    let mut listed = prompt;
    listed.as_object_mut().unwrap().remove("messages");
    assert_eq!(look("prompts"), json!({ "prompts": [listed] }));
    let mut listed = resource;
    listed.as_object_mut().unwrap().remove("file");
    assert_eq!(look("resources"), json!({ "resources": [listed] }));
    // They are the lists of clients, also after a change.
    let more = json!({ "uri": "docs://more", "name": "more", "text": "x" });
    served
        .project
        .write(".ahma/resources/more.json", more.to_string());
    ahma_tests::until(|| look("resources")["resources"].as_array().unwrap().len() == 2);
    for client in served.clients() {
        for name in ["prompts", "resources"] {
            let answer = client.request(&format!("{name}/list"), &json!({}));
            assert_eq!(answer["result"][name], look(name)[name], "{answer}");
        }
    }
}

/// Proves: H7, S8.
#[test]
fn other_addresses_than_loopback_are_refused() {
    for host in ["0.0.0.0", "::", "192.0.2.1", "example.invalid"] {
        let arguments = ["--mode", "http", "--http-host", host];
        let refused = Workspace::new().run(AHMA_MCP, &arguments);
        assert_eq!(refused.code, 2, "{host}: {}", refused.stderr);
        assert!(refused.stderr.contains("127.0.0.1"), "{}", refused.stderr);
    }
}

/// Proves: H7.
#[test]
fn the_newer_loopback_address_works_too() {
    let served = Served::with(&["--http-host", "::1"]);
    assert!(served.process.address.is_ipv6());
    assert!(served.connect().sync("echo hi").text.starts_with("hi\n"));
}

/// Proves: H10, P9.
#[test]
fn a_rate_and_a_number_of_sessions_can_be_chosen() {
    let served = Served::with(&[
        "--rate-limit",
        "1",
        "--rate-burst",
        "3",
        "--max-sessions",
        "1",
    ]);
    let client = served.connect();
    let second = client_request(&served);
    assert_eq!(second.send(served.process.address).status, 503);
    let ping = client.message(&json!(1), "ping", &json!({}));
    let statuses: Vec<u16> = (0..6).map(|_| ping.send(client.address).status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
}

fn client_request(served: &Served) -> Request {
    let token = served.process.token.as_deref().unwrap();
    Request::message(&initialize("2025-06-18")).header("authorization", &format!("Bearer {token}"))
}

/// Proves: H14.
#[test]
fn a_large_output_is_paged_and_nothing_is_lost() {
    let served = Served::with(&["--rate-limit", "0"]);
    let expected: String = (1..=2_700_000)
        .map(|number| format!("{number}\n"))
        .collect();
    let before = super::memory_kb(served.process.pid(), "VmHWM");
    for client in served.clients() {
        let result = client.sync("seq 1 2700000");
        assert_eq!(result.record["output_bytes"], expected.len());
        let id = result.operation_id();
        let mut read = String::new();
        while read.len() < expected.len() {
            let page = json!({ "operation_id": id, "offset": read.len(), "length": 1 << 20 });
            let page = client.call("read_output", &page).text;
            let (text, place) = page.rsplit_once("\n[bytes ").unwrap();
            assert!(place.starts_with(&read.len().to_string()), "{place}");
            assert!(!text.is_empty());
            read += text;
        }
        assert!(read == expected, "every byte, in order");
    }
    let grown = super::memory_kb(served.process.pid(), "VmHWM") - before;
    // Far less than the output; the benchmark measures it closely.
    assert!(grown < 16_000, "{grown} kB");
}

//! Prompts and resources of files, where sessions and workspaces have scopes of their own.

use ahma_tests::Workspace;
use ahma_tests::http::{Client, initialize};
use ahma_tests::http_process::HttpProcess;
use serde_json::{Value, json};

use super::{AHMA_MCP, Isolated};

const README: &str = "docs://readme";

/// A prompt and resources that the operator offers to all sessions, each with a file of the scope.
struct Offered(Workspace);

impl Offered {
    fn new() -> Self {
        let place = Workspace::new();
        let resource = json!({ "uri": README, "name": "readme", "file": "README.md" });
        place.write("resources/readme.json", resource.to_string());
        let text = json!({ "uri": "docs://motto", "name": "motto", "text": "of the operator" });
        place.write("resources/motto.json", text.to_string());
        let file = json!({ "uri": README, "file": "README.md" });
        let argument = json!({ "name": "name", "complete": { "command": "ls" } });
        let prompt = json!({
            "name": "show", "description": "S.", "arguments": [argument], "messages": [{ "resource": file }]
        });
        place.write("prompts/show.json", prompt.to_string());
        Offered(place)
    }

    /// A server that offers them; its own scope has such a file too.
    fn isolated(&self) -> Isolated {
        let [prompts, resources] = ["prompts", "resources"].map(|it| self.0.path().join(it));
        let isolated = Isolated::with(&[
            "--prompts-dir",
            prompts.to_str().unwrap(),
            "--resources-dir",
            resources.to_str().unwrap(),
        ]);
        isolated.own.write("README.md", "of the server");
        isolated
    }
}

fn read(client: &Client, uri: &str) -> Value {
    let mut request = client.message(&json!(1), "resources/read", &json!({ "uri": uri }));
    if client.session.is_none() {
        request = request.header("mcp-name", uri);
    }
    request.send(client.address).answer()
}

fn get(client: &Client, name: &str) -> Value {
    client.request("prompts/get", &json!({ "name": name }))
}

fn complete(client: &Client) -> Value {
    let reference = json!({ "type": "ref/prompt", "name": "show" });
    let argument = json!({ "name": "name", "value": "" });
    let params = json!({ "ref": reference, "argument": argument });
    client.request("completion/complete", &params)
}

/// Proves: I9, P29, P35.
#[test]
fn files_of_prompts_and_resources_are_those_of_the_sessions_own_scope() {
    let offered = Offered::new();
    let isolated = offered.isolated();
    isolated.projects.write("one/README.md", "of one");
    isolated.projects.write("two/only.txt", "of two");
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let text = &read(&one, README)["result"]["contents"][0]["text"];
    assert_eq!(*text, "of one");
    let content = &get(&one, "show")["result"]["messages"][0]["content"];
    assert_eq!(content["resource"]["text"], "of one", "{content}");
    let values = &complete(&one)["result"]["completion"]["values"];
    assert_eq!(*values, json!(["README.md"]));
    // Where there is no such file, that of nobody else stands for it.
    for answer in [read(&two, README), get(&two, "show")] {
        assert!(answer["error"]["code"].is_i64(), "{answer}");
        for other in ["of one", "of the server"] {
            assert!(!answer.to_string().contains(other), "{answer}");
        }
    }
    let values = &complete(&two)["result"]["completion"]["values"];
    assert_eq!(*values, json!(["only.txt"]));
    let motto = &read(&two, "docs://motto")["result"]["contents"][0]["text"];
    assert_eq!(*motto, "of the operator");
}

/// Proves: I8, I9.
#[test]
fn who_has_no_scope_reads_nothing_and_is_told_of_nothing() {
    let offered = Offered::new();
    let isolated = offered.isolated();
    let id = isolated.session("one").start("echo precious; sleep 60");
    let output = format!("ahma://operation/{id}/output");
    let clients = [isolated.process.connect(), isolated.process.stateless()];
    for client in &clients {
        let listed = client.request("resources/list", &json!({}));
        let count = listed["result"]["resources"].as_array().map(Vec::len);
        assert_eq!(count, Some(2), "lists are there: {listed}");
        for answer in [
            read(client, README),
            read(client, "docs://motto"),
            read(client, &output),
            get(client, "show"),
            complete(client),
        ] {
            assert!(answer["error"]["code"].is_i64(), "{answer}");
            for what in ["of the server", "of the operator", "precious", "README.md"] {
                assert!(!answer.to_string().contains(what), "{answer}");
            }
        }
    }
    let [session, stateless] = &clients;
    let refused = session.request("resources/subscribe", &json!({ "uri": README }));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
    let wanted = json!({ "resourceSubscriptions": [README, output], "taskIds": [id] });
    let params = json!({ "notifications": wanted });
    let listen = stateless.message(&json!(1), "subscriptions/listen", &params);
    let mut stream = listen.open(stateless.address);
    let accepted = stream.message("notifications/subscriptions/acknowledged");
    let nothing = json!({ "resourceSubscriptions": [], "taskIds": [] });
    assert_eq!(accepted["params"]["notifications"], nothing);
}

/// Proves: I9.
#[test]
fn outputs_and_changed_files_of_another_session_are_nobodys() {
    let offered = Offered::new();
    let isolated = offered.isolated();
    // The other has no such file yet: one that was just written would be told of as changed.
    isolated.projects.write("one/README.md", "first");
    let (one, two) = (isolated.session("one"), isolated.session("two"));
    let id = one.sync("echo precious").operation_id();
    let output = |id: &str| format!("ahma://operation/{id}/output");
    let own = read(&one, &output(&id));
    assert_eq!(own["result"]["contents"][0]["text"], "precious\n", "{own}");
    let unknown = read(&two, &output("op_none")).to_string();
    let foreign = read(&two, &output(&id)).to_string();
    assert_eq!(foreign, unknown.replace("op_none", &id));

    let (mut of_one, mut of_two) = (one.stream(), two.stream());
    for client in [&one, &two] {
        let subscribed = client.request("resources/subscribe", &json!({ "uri": README }));
        assert_eq!(subscribed["result"], json!({}));
    }
    one.sync("echo second > README.md");
    of_one.message("notifications/resources/updated");
    let own = two.start("true");
    let told = of_two.event().unwrap().data;
    let operation = &told["params"]["_meta"]["ahma/operation"]["operation_id"];
    assert_eq!(*operation, json!(own), "not told of the other: {told}");
    two.sync("echo first > README.md");
    of_two.message("notifications/resources/updated");
}

/// Proves: I9, I10.
#[test]
fn each_workspace_offers_its_own_prompts_and_resources() {
    let [one, two] = ["one", "two"].map(|name| {
        let workspace = Workspace::new();
        let uri = format!("docs://{name}");
        let resource = json!({ "uri": uri, "name": name, "file": "README.md" });
        workspace.write(".ahma/resources/own.json", resource.to_string());
        let prompt = json!({ "name": name, "description": "P.", "messages": [{ "text": name }] });
        workspace.write(".ahma/prompts/own.json", prompt.to_string());
        workspace.write("README.md", format!("of {name}"));
        workspace
    });
    let own = Workspace::new();
    let declared = [("one", &one), ("two", &two)];
    let declared = declared.map(|(name, it)| format!("{name}={}", it.path().display()));
    let arguments = ["--workspace", &declared[0], "--workspace", &declared[1]];
    let process = HttpProcess::start(AHMA_MCP, &arguments, own.path());
    for (name, other) in [("one", "two"), ("two", "one")] {
        let stateless = process.stateless().at(&format!("/mcp/w/{name}"));
        for client in [stateless.connected(&initialize("2025-06-18")), stateless] {
            let listed = client.request("resources/list", &json!({}));
            let uri = format!("docs://{name}");
            let expected = json!([{ "uri": uri, "name": name }]);
            assert_eq!(listed["result"]["resources"], expected);
            let got = read(&client, &uri);
            let text = &got["result"]["contents"][0]["text"];
            assert_eq!(*text, format!("of {name}"), "{got}");
            let text = &get(&client, name)["result"]["messages"][0]["content"]["text"];
            assert_eq!(*text, name);
            let foreign = read(&client, &format!("docs://{other}")).to_string();
            let unknown = read(&client, "docs://nil").to_string();
            assert_eq!(foreign, unknown.replace("nil", other));
            assert!(get(&client, other)["error"]["code"].is_i64());
        }
    }
}

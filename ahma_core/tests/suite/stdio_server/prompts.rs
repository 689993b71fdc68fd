//! Prompts of files, as a client asks for them.

use std::fs;

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::{Served, modern, modern_with, unspoken_to};

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

fn with_prompt(file: &Value) -> Workspace {
    let project = Workspace::new();
    project.write(".ahma/prompts/one.json", file.to_string());
    project
}

fn names(client: &mut McpProcess) -> Vec<String> {
    let listed = client.request("prompts/list", &json!({}));
    let prompts = listed["result"]["prompts"].as_array().unwrap().iter();
    prompts
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

fn get(client: &mut McpProcess, name: &str, arguments: &Value) -> Value {
    client.request(
        "prompts/get",
        &json!({ "name": name, "arguments": arguments }),
    )
}

/// Proves: P10.
#[test]
fn a_prompt_is_listed_and_filled_in() {
    let project = with_prompt(&json!({
        "name": "greet", "title": "Greet", "description": "Greets somebody.",
        "arguments": [
            { "name": "who", "title": "Who", "description": "Whom to greet.", "required": true },
            { "name": "style", "default": "friendly" },
            { "name": "hint" }
        ],
        "messages": [
            { "text": "Greet {who} in a {style} way. Code: {\"a\": {b}}" },
            { "role": "assistant", "text": "Hello", "if_given": "hint" },
            { "resource": { "uri": "note://{who}", "text": "About {who}", "mime_type": "text/markdown" } },
            { "image": { "data": PIXEL, "mime_type": "image/png" } }
        ],
        "icons": [{ "src": "https://example.org/icon.png", "sizes": ["48x48"] }]
    }));
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("prompts/list", &json!({}));
    let expected = json!([{
        "name": "greet", "title": "Greet", "description": "Greets somebody.",
        "arguments": [
            { "name": "who", "title": "Who", "description": "Whom to greet.", "required": true },
            { "name": "style", "required": false },
            { "name": "hint", "required": false }
        ],
        "icons": [{ "src": "https://example.org/icon.png", "sizes": ["48x48"] }]
    }]);
    assert_eq!(listed["result"]["prompts"], expected);
    let got = get(&mut served.client, "greet", &json!({ "who": "{style}" }));
    let user = |content: Value| json!({ "role": "user", "content": content });
    let text = "Greet {style} in a friendly way. Code: {\"a\": {b}}";
    let resource =
        json!({ "uri": "note://{style}", "mimeType": "text/markdown", "text": "About {style}" });
    let expected = json!({
        "description": "Greets somebody.",
        "messages": [
            user(json!({ "type": "text", "text": text })),
            user(json!({ "type": "resource", "resource": resource })),
            user(json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" }))
        ]
    });
    assert_eq!(got["result"], expected);
    let got = get(
        &mut served.client,
        "greet",
        &json!({ "who": "Ada", "hint": "x" }),
    );
    assert_eq!(
        got["result"]["messages"][1],
        json!({ "role": "assistant", "content": { "type": "text", "text": "Hello" } })
    );
}

/// Proves: P10.
#[test]
fn arguments_that_are_missing_or_unknown_are_named() {
    let project = with_prompt(&json!({
        "name": "greet", "description": "Greets.", "arguments": [{ "name": "who", "required": true }],
        "messages": [{ "text": "{who}" }]
    }));
    let mut served = Served::of(project, &[]);
    for (arguments, why) in [
        (json!({}), "the prompt `greet` needs a value for `who`"),
        (
            json!({ "whom": "x" }),
            "the prompt `greet` has no argument `whom`; did you mean `who`?",
        ),
        (json!({ "who": ["x"] }), "`who` has to be a text"),
    ] {
        let answer = get(&mut served.client, "greet", &arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["message"], why);
    }
}

/// Proves: P10, P29.
#[test]
fn files_come_from_the_scope_and_from_nowhere_else() {
    let outside = Workspace::new();
    let secret = outside.write("secret.txt", "s3ntinel");
    let project = with_prompt(&json!({
        "name": "show", "description": "Shows a file.", "arguments": [{ "name": "path", "required": true }],
        "messages": [{ "resource": { "uri": "file://{path}", "file": "docs/{path}" } }]
    }));
    project.write("docs/a.md", "# A");
    project.write("docs/b/c.bin", [0xff, 0x00]);
    std::os::unix::fs::symlink(&secret, project.path().join("docs/link")).unwrap();
    let mut served = Served::of(project, &[]);
    let got = get(&mut served.client, "show", &json!({ "path": "a.md" }));
    let resource = &got["result"]["messages"][0]["content"]["resource"];
    assert_eq!(
        *resource,
        json!({ "uri": "file://a.md", "mimeType": "text/markdown", "text": "# A" })
    );
    let got = get(&mut served.client, "show", &json!({ "path": "b/c.bin" }));
    assert_eq!(
        got["result"]["messages"][0]["content"]["resource"]["blob"],
        "/wA="
    );
    let above = format!("../../{}", secret.display());
    for path in [
        "link",
        "../../etc/passwd",
        above.as_str(),
        "b",
        "missing",
        "a.md\0",
    ] {
        let answer = get(&mut served.client, "show", &json!({ "path": path }));
        assert_eq!(answer["error"]["code"], -32602, "{path}: {answer}");
        assert!(!answer.to_string().contains("s3ntinel"), "{answer}");
    }
}

const ASKING: &str = r#"{
    "name": "ask", "description": "Asks.",
    "arguments": [
        { "name": "topic", "required": true, "ask": "What about?" },
        { "name": "tone", "ask": "In which tone?", "default": "plain" }
    ],
    "messages": [{ "text": "{topic} ({tone})" }]
}"#;

/// Proves: P30.
#[test]
fn a_prompt_asks_a_client_with_a_session_for_what_is_missing() {
    let project = Workspace::new();
    project.write(".ahma/prompts/ask.json", ASKING);
    let mut client = unspoken_to(&project);
    client.request(
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" }
        }),
    );
    client.notify("notifications/initialized", &json!({}));
    let id = client.send("prompts/get", &json!({ "name": "ask" }));
    for (message, answer) in [
        (
            "What about?",
            json!({ "action": "accept", "content": { "topic": "bees" } }),
        ),
        ("In which tone?", json!({ "action": "decline" })),
    ] {
        let question = client.notification("elicitation/create");
        assert_eq!(question["params"]["message"], message);
        let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        client.send_line(reply.to_string().as_bytes());
    }
    let got = client.answer(id);
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "bees (plain)"
    );
    // Nobody is asked for what is given.
    let got = get(&mut client, "ask", &json!({ "topic": "a", "tone": "b" }));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "a (b)");
}

/// Proves: P30.
#[test]
fn a_prompt_asks_a_client_without_a_session_by_its_result() {
    let project = Workspace::new();
    project.write(".ahma/prompts/ask.json", ASKING);
    let mut client = unspoken_to(&project);
    let forms = json!({ "elicitation": {} });
    let mut get = |more: &Value| {
        let mut params = json!({ "name": "ask" });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client.request("prompts/get", &modern_with(params, &forms))
    };
    let asked = get(&json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["topic", "tone"]);
    let topic = json!({ "topic": { "action": "accept", "content": { "topic": "bees" } } });
    let state = asked["result"]["requestState"].clone();
    let asked = get(&json!({ "inputResponses": topic, "requestState": state }));
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(
        requests.keys().collect::<Vec<_>>(),
        ["tone"],
        "what was answered is sealed"
    );
    let tone = json!({ "tone": { "action": "cancel" } });
    let state = asked["result"]["requestState"].clone();
    let got = get(&json!({ "inputResponses": tone, "requestState": state }));
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "bees (plain)"
    );
    let tampered = format!("{}x", state.as_str().unwrap());
    let refused = get(&json!({ "inputResponses": tone, "requestState": tampered }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// Proves: P30.
#[test]
fn a_client_that_cannot_ask_is_told_what_is_missing() {
    let project = Workspace::new();
    project.write(".ahma/prompts/ask.json", ASKING);
    let mut client = unspoken_to(&project);
    let answer = client.request("prompts/get", &modern(json!({ "name": "ask" })));
    assert_eq!(
        answer["error"]["message"],
        "the prompt `ask` needs a value for `topic`"
    );
    let params = json!({ "name": "ask", "arguments": { "topic": "a" } });
    let got = client.request("prompts/get", &modern(params));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "a (plain)");
}

/// Proves: P31.
#[test]
fn changed_prompt_files_reach_the_client_and_a_broken_one_keeps_what_it_was() {
    let prompt = |name: &str| {
        json!({ "name": name, "description": "D.", "messages": [{ "text": name }] }).to_string()
    };
    let project = Workspace::new();
    project.write(".ahma/prompts/a.json", prompt("a"));
    let mut served = Served::of(project, &[]);
    assert_eq!(names(&mut served.client), ["a"]);
    served.project.write(".ahma/prompts/b.json", prompt("b"));
    served
        .client
        .notification("notifications/prompts/list_changed");
    assert_eq!(names(&mut served.client), ["a", "b"]);
    served.project.write(".ahma/prompts/b.json", "{");
    fs::remove_file(served.project.path().join(".ahma/prompts/a.json")).unwrap();
    served
        .client
        .notification("notifications/prompts/list_changed");
    assert_eq!(names(&mut served.client), ["b"]);
    let info = served.client.call("get_server_info", &json!({}));
    let rejected = &info.structured["content"]["rejected"][0];
    assert!(
        rejected["file"].as_str().unwrap().ends_with("b.json"),
        "{info:?}"
    );
}

/// Proves: P32.
#[test]
fn prompts_that_come_with_the_program_fit_the_project_and_give_way() {
    let mut served = Served::of(Workspace::new(), &[]);
    assert_eq!(names(&mut served.client), Vec::<String>::new());
    served.client.call(
        "sandboxed_shell",
        &json!({ "command": "touch Cargo.toml && git init -q" }),
    );
    let all = ["commit_message", "failing_test", "review_change"];
    until(|| names(&mut served.client) == all);
    let got = get(
        &mut served.client,
        "review_change",
        &json!({ "against": "main" }),
    );
    let text = got["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains("git diff main"), "{text}");
    let own =
        json!({ "name": "review_change", "description": "Ours.", "messages": [{ "text": "x" }] });
    let project = with_prompt(&own);
    project.run("git", &["init", "-q"]);
    let mut served = Served::of(project, &[]);
    assert_eq!(
        names(&mut served.client),
        ["commit_message", "review_change"]
    );
    let got = get(&mut served.client, "review_change", &json!({}));
    assert_eq!(got["result"]["description"], "Ours.");
    let project = with_prompt(&own);
    let mut served = Served::of(project, &["--no-shipped-tools"]);
    assert_eq!(names(&mut served.client), ["review_change"]);
}

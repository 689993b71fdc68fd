//! Resources of files, and outputs of operations, as a client reads them.

use std::fs;

use ahma_tests::Workspace;
use ahma_tests::mcp::McpProcess;
use serde_json::{Value, json};

use super::{Served, modern, unspoken_to};

fn with_resource(file: &Value) -> Workspace {
    let project = Workspace::new();
    project.write(".ahma/resources/one.json", file.to_string());
    project
}

fn read(client: &mut McpProcess, uri: &str) -> Value {
    client.request("resources/read", &json!({ "uri": uri }))
}

/// Proves: P10.
#[test]
fn files_and_texts_are_listed_and_read_with_their_types() {
    let project = with_resource(&json!({
        "uri": "docs://readme", "name": "readme", "title": "Read me", "description": "What it is.",
        "file": "README.md"
    }));
    let text = json!({ "uri": "docs://motto", "name": "motto", "text": "Be {kind}." });
    project.write(".ahma/resources/two.json", text.to_string());
    let pixel = json!({ "uri": "docs://pixel", "name": "pixel", "file": "pixel.png" });
    project.write(".ahma/resources/three.json", pixel.to_string());
    project.write("README.md", "# Here");
    project.write("pixel.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff");
    let mut served = Served::of(project, &[]);
    let listed = served.client.request("resources/list", &json!({}));
    let expected = json!([
        { "uri": "docs://motto", "name": "motto" },
        { "uri": "docs://pixel", "name": "pixel" },
        { "uri": "docs://readme", "name": "readme", "title": "Read me", "description": "What it is." }
    ]);
    assert_eq!(listed["result"]["resources"], expected);
    for (uri, expected) in [
        (
            "docs://readme",
            json!({ "mimeType": "text/markdown", "text": "# Here" }),
        ),
        (
            "docs://motto",
            json!({ "mimeType": "text/plain", "text": "Be {kind}." }),
        ),
        (
            "docs://pixel",
            json!({ "mimeType": "image/png", "blob": "iVBORw0KGgoAAAANSUhEUv8=" }),
        ),
    ] {
        let mut contents = read(&mut served.client, uri)["result"]["contents"][0].clone();
        assert_eq!(contents["uri"].take(), uri);
        contents.as_object_mut().unwrap().remove("uri");
        assert_eq!(contents, expected, "{uri}");
    }
}

/// Proves: P10, P29.
#[test]
fn a_family_of_resources_reads_what_its_uri_names_below_the_scope() {
    let outside = Workspace::new();
    let secret = outside.write("secret.md", "s3ntinel");
    let project = with_resource(&json!({
        "uri_template": "docs://pages/{+page}", "name": "page", "file": "docs/{page}.md"
    }));
    project.write("docs/a.md", "A");
    project.write("docs/deep/b c.md", "B");
    std::os::unix::fs::symlink(&secret, project.path().join("docs/link.md")).unwrap();
    let mut served = Served::of(project, &[]);
    let listed = served
        .client
        .request("resources/templates/list", &json!({}));
    let template = json!({ "uriTemplate": "docs://pages/{+page}", "name": "page" });
    assert_eq!(listed["result"]["resourceTemplates"][0], template);
    for (uri, text) in [("docs://pages/a", "A"), ("docs://pages/deep/b%20c", "B")] {
        let got = read(&mut served.client, uri);
        assert_eq!(got["result"]["contents"][0]["text"], text, "{got}");
    }
    let above = format!("docs://pages/../../..{}", secret.display()).replace(".md", "");
    let above_encoded = above.replace("..", "%2e%2e");
    for uri in [
        "docs://pages/link",
        &above,
        &above_encoded,
        "docs://pages/none",
        "docs://pages//etc/x",
    ] {
        let got = read(&mut served.client, uri);
        assert!(got["error"]["code"].is_i64(), "{uri}: {got}");
        assert!(!got.to_string().contains("s3ntinel"), "{got}");
    }
}

/// Proves: P29.
#[test]
fn a_file_that_is_too_large_or_none_is_refused() {
    let project = with_resource(&json!({ "uri": "a://large", "name": "large", "file": "large" }));
    let pipe = json!({ "uri": "a://pipe", "name": "pipe", "file": "pipe" });
    project.write(".ahma/resources/two.json", pipe.to_string());
    project.run("mkfifo", &["pipe"]);
    fs::File::create(project.path().join("large"))
        .unwrap()
        .set_len((8 << 20) + 1)
        .unwrap();
    let mut served = Served::of(project, &[]);
    for (uri, why) in [
        ("a://large", "more than 8 MiB"),
        ("a://pipe", "no ordinary file"),
    ] {
        let got = read(&mut served.client, uri);
        assert!(
            got["error"]["message"].as_str().unwrap().contains(why),
            "{got}"
        );
    }
    fs::File::create(served.project.path().join("large"))
        .unwrap()
        .set_len(8 << 20)
        .unwrap();
    let got = read(&mut served.client, "a://large");
    assert_eq!(
        got["result"]["contents"][0]["text"].as_str().unwrap().len(),
        8 << 20
    );
}

/// Proves: P33.
#[test]
fn all_that_an_operation_has_written_is_a_resource() {
    let mut served = Served::new();
    let call = json!({ "command": "seq 200000", "execution_mode": "sync" });
    let answer = served.client.request(
        "tools/call",
        &json!({ "name": "sandboxed_shell", "arguments": call }),
    );
    let link = answer["result"]["content"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        link["type"], "resource_link",
        "what is shown in part links to all of it: {link}"
    );
    let uri = link["uri"].as_str().unwrap().to_owned();
    let expected: String = (1..=200_000).map(|it| format!("{it}\n")).collect();
    let mut whole = String::new();
    while whole.len() < expected.len() {
        let got = read(&mut served.client, &format!("{uri}?offset={}", whole.len()));
        let part = &got["result"]["contents"][0];
        assert_eq!(
            part["_meta"]["ahma/range"]["offset"],
            whole.len(),
            "{}",
            part["_meta"]
        );
        assert_eq!(part["_meta"]["ahma/range"]["total"], expected.len());
        whole += part["text"].as_str().unwrap();
        assert_eq!(part["_meta"]["ahma/range"]["end"], whole.len());
    }
    assert_eq!(whole, expected);
    let got = read(&mut served.client, &format!("{uri}?offset=2&length=4"));
    assert_eq!(got["result"]["contents"][0]["text"], "2\n3\n");
    let got = read(&mut served.client, "ahma://operation/op_none/output");
    assert_eq!(got["error"]["code"], -32002, "{got}");
    // A short output is whole in its result.
    let short = served.client.request(
        "tools/call",
        &json!({ "name": "sandboxed_shell", "arguments": { "command": "echo x" } }),
    );
    assert_eq!(
        short["result"]["content"].as_array().unwrap().len(),
        1,
        "{short}"
    );
}

const WATCHED: &str = "docs://watched";

fn watched() -> Workspace {
    let project = with_resource(&json!({ "uri": WATCHED, "name": "watched", "file": "d/f.txt" }));
    project.write("d/f.txt", "one");
    project.write("d/other.txt", "one");
    project
}

/// Proves: P34.
#[test]
fn a_client_with_a_session_hears_of_the_resources_it_has_subscribed_to() {
    let mut served = Served::of(watched(), &[]);
    let uri = json!({ "uri": WATCHED });
    assert_eq!(
        served.client.request("resources/subscribe", &uri)["result"],
        json!({})
    );
    served.client.call(
        "sandboxed_shell",
        &json!({ "command": "echo two > d/other.txt; echo two > d/f.txt" }),
    );
    let told = served
        .client
        .notification("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], WATCHED);
    // Another file takes its place.
    served.client.call(
        "sandboxed_shell",
        &json!({ "command": "echo three > d/new; mv d/new d/f.txt" }),
    );
    served
        .client
        .notification("notifications/resources/updated");
    assert_eq!(
        served.client.request("resources/unsubscribe", &uri)["result"],
        json!({})
    );
    served.client.call(
        "sandboxed_shell",
        &json!({ "command": "echo four > d/f.txt" }),
    );
    // A change of what is declared is noticed after that of the file would have been.
    let more = json!({ "uri": "docs://more", "name": "more", "text": "x" });
    served
        .project
        .write(".ahma/resources/more.json", more.to_string());
    served
        .client
        .notification("notifications/resources/list_changed");
    assert_eq!(
        served
            .client
            .notifications_received("notifications/resources/updated"),
        0
    );
    let unknown = served
        .client
        .request("resources/subscribe", &json!({ "uri": "docs://none" }));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
}

/// Proves: P34.
#[test]
fn a_subscription_without_a_session_hears_of_resources_and_of_lists() {
    let project = watched();
    let mut client = unspoken_to(&project);
    let wanted = json!({
        "resourceSubscriptions": [WATCHED, "docs://none"], "resourcesListChanged": true
    });
    client.send(
        "subscriptions/listen",
        &modern(json!({ "notifications": wanted })),
    );
    let accepted = client.notification("notifications/subscriptions/acknowledged");
    let expected = json!({ "resourceSubscriptions": [WATCHED], "resourcesListChanged": true });
    assert_eq!(accepted["params"]["notifications"], expected);
    let call =
        json!({ "name": "sandboxed_shell", "arguments": { "command": "echo two > d/f.txt" } });
    client.request("tools/call", &modern(call));
    let told = client.notification("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], WATCHED);
    let more = json!({ "uri": "docs://more", "name": "more", "text": "x" });
    project.write(".ahma/resources/more.json", more.to_string());
    client.notification("notifications/resources/list_changed");
    // A resource whose file says something else has changed.
    let other = json!({ "uri": WATCHED, "name": "watched", "file": "d/other.txt" });
    project.write(".ahma/resources/one.json", other.to_string());
    client.notification("notifications/resources/updated");
}

/// Proves: P34.
#[test]
fn an_output_that_grows_is_told_to_whoever_has_subscribed_to_it() {
    let mut served = Served::new();
    let command = "while [ ! -e go ]; do sleep 0.01; done; echo more; while [ ! -e end ]; do sleep 0.01; done";
    let started = served.client.call(
        "sandboxed_shell",
        &json!({ "command": command, "execution_mode": "service" }),
    );
    let uri = format!("ahma://operation/{}/output", started.operation_id());
    served
        .client
        .request("resources/subscribe", &json!({ "uri": uri }));
    served.project.write("go", "");
    let told = served
        .client
        .notification("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], uri);
    served.project.write("end", "");
}

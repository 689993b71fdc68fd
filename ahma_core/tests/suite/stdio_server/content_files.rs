//! Files of prompts and resources: where they are looked for, what of them is listed, and what media a prompt brings along.

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, until};
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::{Served, modern, unspoken_to};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde";
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0";

fn add_prompt(place: &Workspace, name: &str) {
    let prompt = json!({ "name": name, "description": "P.", "messages": [{ "text": name }] });
    place.write(&format!("prompts/{name}.json"), prompt.to_string());
}

fn add_resource(place: &Workspace, name: &str) {
    let resource = json!({ "uri": format!("docs://{name}"), "name": name, "file": "file.txt" });
    place.write(&format!("resources/{name}.json"), resource.to_string());
}

/// The names in a list.
fn names(client: &mut McpProcess, kind: &str) -> Vec<String> {
    let listed = client.request(&format!("{kind}/list"), &json!({}));
    let all = listed["result"][kind].as_array().unwrap().iter();
    all.map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Proves: P10, P29, P31.
#[test]
fn directories_that_flags_name_take_the_place_of_those_of_the_project() {
    let [one, two, project] = [(), (), ()].map(|()| Workspace::new());
    add_prompt(&one, "first");
    add_prompt(&two, "second");
    add_resource(&one, "first");
    add_resource(&two, "second");
    one.write("file.txt", "beside the declaration");
    let own = json!({ "name": "own", "description": "P.", "messages": [{ "text": "x" }] });
    project.write(".ahma/prompts/own.json", own.to_string());
    let own = json!({ "uri": "docs://own", "name": "own", "text": "x" });
    project.write(".ahma/resources/own.json", own.to_string());
    project.write("file.txt", "of the scope");

    let path = |place: &Workspace, name: &str| place.path().join(name).display().to_string();
    let arguments = [
        format!("--prompts-dir={}", path(&one, "prompts")),
        format!("--prompts-dir={}", path(&two, "prompts")),
        format!("--resources-dir={}", path(&one, "resources")),
        format!("--resources-dir={}", path(&two, "resources")),
    ];
    let mut served = Served::of(project, &arguments.each_ref().map(String::as_str));
    for kind in ["prompts", "resources"] {
        assert_eq!(names(&mut served.client, kind), ["first", "second"]);
    }
    // Where a file is declared says nothing about where it is.
    let uri = json!({ "uri": "docs://first" });
    let got = served.client.request("resources/read", &uri);
    assert_eq!(got["result"]["contents"][0]["text"], "of the scope");

    add_prompt(&two, "third");
    let changed = "notifications/prompts/list_changed";
    served.client.notification(changed);
    assert_eq!(
        names(&mut served.client, "prompts"),
        ["first", "second", "third"]
    );
    add_resource(&one, "third");
    let changed = "notifications/resources/list_changed";
    served.client.notification(changed);
    let mut listed = names(&mut served.client, "resources");
    listed.sort();
    assert_eq!(listed, ["first", "second", "third"]);
}

/// The content of the messages of the prompt `show`.
fn shown(client: &mut McpProcess, arguments: &Value) -> Value {
    let params = json!({ "name": "show", "arguments": arguments });
    let answer = client.request("prompts/get", &params);
    if answer["error"].is_object() {
        return answer["error"].clone();
    }
    let messages = answer["result"]["messages"].as_array().unwrap().iter();
    messages.map(|it| it["content"].clone()).collect()
}

/// Proves: P10, P29.
#[test]
fn pictures_and_sounds_of_prompts_come_from_files_or_stand_in_them() {
    let project = Workspace::new();
    let own = json!({ "file": "own.bin", "mime_type": "image/x-own" });
    let here = json!({ "data": "AQID", "mime_type": "audio/ogg" });
    let prompt = json!({
        "name": "show", "description": "S.", "arguments": [{ "name": "name", "required": true }],
        "messages": [
            { "image": { "file": "shots/{name}.png" } },
            { "image": own },
            { "audio": { "file": "{name}.wav" } },
            { "audio": here, "role": "assistant" }
        ]
    });
    project.write(".ahma/prompts/show.json", prompt.to_string());
    project.write("shots/one.png", PNG);
    project.write("one.wav", WAV);
    project.write("own.bin", [1, 2, 3]);
    // Files that are something else, whatever their names say.
    project.write("shots/sound.png", WAV);
    project.write("sound.wav", WAV);
    project.write("shots/picture.png", PNG);
    project.write("picture.wav", PNG);
    let mut served = Served::of(project, &[]);
    let encoded = |bytes| BASE64.encode(bytes);
    let expected = json!([
        { "type": "image", "data": encoded(PNG), "mimeType": "image/png" },
        { "type": "image", "data": "AQID", "mimeType": "image/x-own" },
        { "type": "audio", "data": encoded(WAV), "mimeType": "audio/wav" },
        { "type": "audio", "data": "AQID", "mimeType": "audio/ogg" }
    ]);
    let got = shown(&mut served.client, &json!({ "name": "one" }));
    assert_eq!(got, expected);
    for (name, why) in [
        ("none", "there is no file `shots/none.png` in the scope"),
        (
            "sound",
            "the file `shots/sound.png` is of the type audio/wav, and no picture",
        ),
        (
            "picture",
            "the file `picture.wav` is of the type image/png, and no sound",
        ),
    ] {
        let refused = shown(&mut served.client, &json!({ "name": name }));
        let message = format!("the prompt cannot be filled in: {why}");
        assert_eq!(refused, json!({ "code": -32602, "message": message }));
    }
}

/// Proves: P10.
#[test]
fn resources_and_families_of_them_are_listed_with_their_icons() {
    let project = Workspace::new();
    let icons = json!([
        { "src": "https://example.org/one.png", "mimeType": "image/png", "sizes": ["48x48", "any"] },
        { "src": "data:image/svg+xml;base64,PHN2Zy8+" }
    ]);
    let as_written = json!([
        { "src": "https://example.org/one.png", "mime_type": "image/png", "sizes": ["48x48", "any"] },
        { "src": "data:image/svg+xml;base64,PHN2Zy8+" }
    ]);
    let one = json!({ "uri": "docs://one", "name": "one", "text": "x", "icons": as_written });
    project.write(".ahma/resources/one.json", one.to_string());
    let family = json!({
        "uri_template": "docs://{page}", "name": "page", "title": "Page", "file": "{page}", "icons": as_written
    });
    project.write(".ahma/resources/family.json", family.to_string());
    let mut session = Served::of(project, &[]);
    let mut stateless = unspoken_to(&session.project);
    let mut list = |method: &str| {
        let of_session = session.client.request(method, &json!({}));
        let without = stateless.request(method, &modern(json!({})));
        [of_session, without].map(|it| it["result"].clone())
    };
    for listed in list("resources/list") {
        let expected = json!([{ "uri": "docs://one", "name": "one", "icons": icons }]);
        assert_eq!(listed["resources"], expected);
    }
    for listed in list("resources/templates/list") {
        let expected = json!({
            "uriTemplate": "docs://{page}", "name": "page", "title": "Page", "icons": icons
        });
        assert_eq!(listed["resourceTemplates"][0], expected);
    }
}

/// Proves: P31.
#[test]
fn a_subscriber_hears_of_changed_prompts_and_of_nothing_else() {
    const CHANGED: &str = "notifications/prompts/list_changed";
    let project = Workspace::new();
    // Directories that are there at the start are followed.
    for name in ["prompts", "resources", "tools"] {
        project.make_directory(&format!(".ahma/{name}"));
    }
    let mut client = unspoken_to(&project);
    let wanted = json!({ "promptsListChanged": true });
    let params = modern(json!({ "notifications": wanted }));
    let id = client.send("subscriptions/listen", &params);
    let accepted = client.notification("notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["notifications"], wanted);
    let resource = json!({ "uri": "docs://one", "name": "one", "text": "x" });
    let prompt = |text: &str| {
        let messages = json!([{ "text": text }]);
        json!({ "name": "one", "description": text, "messages": messages }).to_string()
    };
    let tool = json!({ "name": "one", "description": "T.", "command": "true" });
    project.write(".ahma/tools/one.json", tool.to_string());
    project.write(".ahma/resources/one.json", resource.to_string());
    let list = |client: &mut McpProcess, kind: &str| {
        let listed = client.request(&format!("{kind}/list"), &modern(json!({})));
        listed["result"][kind].as_array().unwrap().clone()
    };
    for (number, text) in (1..).zip(["new", "changed", "and again"]) {
        project.write(".ahma/prompts/one.json", prompt(text));
        until(|| {
            let prompts = list(&mut client, "prompts");
            let is_there = prompts.first().is_some_and(|it| it["description"] == text);
            is_there && client.notifications_received(CHANGED) == number
        });
    }
    for kind in ["resources", "tools"] {
        let listed = list(&mut client, kind);
        assert!(listed.iter().any(|it| it["name"] == "one"), "{listed:?}");
        let method = format!("notifications/{kind}/list_changed");
        assert_eq!(client.notifications_received(&method), 0, "{kind}");
    }
    let told = client.notification(CHANGED);
    let subscription = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*subscription, id, "{told}");
}

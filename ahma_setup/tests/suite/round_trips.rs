//! Any file of a client: set up once or twice, nothing of it is lost, and undoing gives every byte back.

use std::fs;

use ahma_setup::{Action, Client, Level, Wish};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::kit::{COMMAND, Home, json, only_change, read, wish, word};
use super::{written_json, written_toml};

const READERS: [(Client, &str); 3] = [
    (Client::Gemini, "mcpServers"),
    (Client::Vscode, "servers"),
    (Client::Zed, "context_servers"),
];

/// Without white space, and without headers of tables that may stay behind empty.
fn dense(text: &str) -> String {
    let dense: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    dense.replace("[features]", "")
}

/// Whether one text is the other with something put in between.
fn is_within(text: &str, larger: &str) -> bool {
    let mut larger = larger.chars();
    text.chars().all(|it| larger.any(|other| other == it))
}

fn check_line_ends(before: &str, after: &str) {
    let lines = before.matches('\n').count();
    if lines > 0 && before.matches("\r\n").count() == lines {
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    }
    if lines > 0 && !before.contains('\r') {
        assert_eq!(after.matches('\r').count(), 0);
    }
    assert_eq!(
        before.starts_with('\u{feff}'),
        after.starts_with('\u{feff}')
    );
}

/// Sets up, twice, and undoes; then the same with a change of somebody else in between.
fn round_trip(
    home: &Home,
    client: Client,
    wish: &Wish,
    before: &str,
    check: impl Fn(&str),
    says: impl Fn(&str) -> Value,
    more: &str,
) {
    let file = home.write(client, before);
    assert_eq!(home.set_up(client, wish).len(), 1);
    let after = read(&file);
    check(&after);
    check_line_ends(before, &after);
    assert!(
        is_within(&dense(before), &dense(&after)),
        "{before}\n{after}"
    );
    let again = home.plan(client, wish);
    assert!(
        matches!(again.files[0].action, Action::Nothing),
        "{again:?}"
    );
    let undone = home.undo(&[], Level::User);
    assert_eq!(undone.iter().map(word).collect::<Vec<_>>(), ["restore"]);
    assert_eq!(fs::read(&file).unwrap(), before.as_bytes());
    assert_eq!(home.undo(&[], Level::User).len(), 0);

    home.set_up(client, wish);
    let changed = format!("{}{more}", read(&file));
    fs::write(&file, &changed).unwrap();
    let undone = home.undo(&[], Level::User);
    assert_eq!(undone.iter().map(word).collect::<Vec<_>>(), ["take out"]);
    let left = read(&file);
    let expected = format!("{before}{more}");
    assert_eq!(says(&left), says(&expected), "{before}\n{changed}\n{left}");
    assert_eq!(
        dense(&left),
        dense(&expected),
        "{before}\n{changed}\n{left}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Proves: P51, P52, P53.
    #[test]
    fn any_json_gets_the_entry_and_nothing_else(
        written in prop_oneof![
            written_json::file(READERS[0].1).prop_map(|it| (0, it)),
            written_json::file(READERS[1].1).prop_map(|it| (1, it)),
            written_json::file(READERS[2].1).prop_map(|it| (2, it)),
        ],
        only in any::<bool>(),
    ) {
        let (reader, written) = written;
        let (client, list) = READERS[reader];
        let home = Home::new();
        let wish = Wish { only, ..wish() };
        let before = json(&written.text);
        let check = |after: &str| {
            let mut after = json(after);
            let entry = after[list].as_object_mut().unwrap().shift_remove("Ahama").unwrap();
            assert_eq!(&entry["command"], COMMAND);
            assert_eq!(&entry["args"], &json!([]));
            if only && client == Client::Gemini {
                assert_eq!(after["tools"], json!({ "exclude": ["run_shell_command"] }));
                after.as_object_mut().unwrap().shift_remove("tools");
            }
            if before.get(list).is_none() {
                assert_eq!(after.as_object_mut().unwrap().shift_remove(list), Some(json!({})));
            }
            assert_eq!(&after, &before);
        };
        let more = "\n// added later\n";
        round_trip(&home, client, &wish, &written.text, check, json, more);
    }

    /// Proves: P51, P52, P53.
    #[test]
    fn any_toml_gets_the_entry_and_nothing_else(text in written_toml::file(), only in any::<bool>()) {
        let says = |text: &str| -> Value {
            toml::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)).unwrap()
        };
        let before = says(&text);
        let home = Home::new();
        let wish = Wish { only, args: vec!["--network".to_owned(), "off \"quoted\\\" 'x'".to_owned()], ..wish() };
        let check = |after: &str| {
            let mut after = says(after);
            let entry = after["mcp_servers"].as_object_mut().unwrap().remove("Ahama").unwrap();
            assert_eq!(entry, json!({ "command": COMMAND, "args": wish.args }));
            if before.get("mcp_servers").is_none() {
                after.as_object_mut().unwrap().remove("mcp_servers");
            }
            let mut before = before.clone();
            if only {
                assert_eq!(after["features"]["shell_tool"], json!(false));
                for document in [&mut after, &mut before] {
                    if let Some(features) = document.get_mut("features").and_then(Value::as_object_mut) {
                        features.remove("shell_tool");
                    }
                }
                let has_none = |it: &Value| it.get("features").is_none_or(|it| it == &json!({}));
                if has_none(&before) {
                    assert!(has_none(&after));
                    for document in [&mut after, &mut before] {
                        document.as_object_mut().unwrap().remove("features");
                    }
                }
            }
            assert_eq!(after, before);
        };
        // A switch that was on is another one afterwards.
        if only && text.contains("shell_tool") {
            let file = home.write(Client::Codex, &text);
            home.set_up(Client::Codex, &wish);
            check(&read(&file));
            home.undo(&[], Level::User);
            prop_assert_eq!(fs::read(&file).unwrap(), text.as_bytes());
        } else {
            round_trip(&home, Client::Codex, &wish, &text, check, says, "\n# added later\n");
        }
    }
}

/// Proves: P52.
#[test]
fn what_is_added_looks_like_what_is_there() {
    let cases = [
        (
            "{\n\t\"servers\": {\n\t\t\"a\": { \"command\": \"x\" }, // kept\n\t}\n}\n",
            "{\n\t\"servers\": {\n\t\t\"a\": { \"command\": \"x\" }, // kept\n\t\t\"Ahama\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/bin/ahma_mcp\",\n\t\t\t\"args\": [],\n\t\t\t\"cwd\": \"${workspaceFolder}\"\n\t\t},\n\t}\n}\n",
        ),
        (
            "{\"a\":1}",
            "{\"a\":1,\"servers\":{\"Ahama\":{\"type\":\"stdio\",\"command\":\"/opt/bin/ahma_mcp\",\"args\":[],\"cwd\":\"${workspaceFolder}\"}}}",
        ),
        (
            "{\r\n    \"a\": 1 // one\r\n    // two\r\n}",
            "{\r\n    \"a\": 1, // one\r\n    \"servers\": {\r\n        \"Ahama\": {\r\n            \"type\": \"stdio\",\r\n            \"command\": \"/opt/bin/ahma_mcp\",\r\n            \"args\": [],\r\n            \"cwd\": \"${workspaceFolder}\"\r\n        }\r\n    }\r\n    // two\r\n}",
        ),
        (
            "",
            "{\n  \"servers\": {\n    \"Ahama\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/bin/ahma_mcp\",\n      \"args\": [],\n      \"cwd\": \"${workspaceFolder}\"\n    }\n  }\n}\n",
        ),
    ];
    for (before, after) in cases {
        let home = Home::new();
        home.write(Client::Vscode, before);
        let plan = home.plan(Client::Vscode, &wish());
        let changed = String::from_utf8(only_change(&plan).after().to_vec()).unwrap();
        assert_eq!(changed, after);
    }
}

//! What is not understood is left as it is, and what was there already is not written again.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use ahma_setup::{Action, Client, Level, Manner, Note, Wish};
use serde_json::json;

use super::kit::{COMMAND, Home, json, only_change, read, refusal, wish};

/// Proves: P54.
#[test]
fn a_file_that_is_not_understood_is_left_as_it_is() {
    let broken = [
        (Client::Cursor, "{ \"mcpServers\": ", "line 1, column"),
        (Client::Cursor, "{ mcpServers: {} }", "line 1, column 3"),
        (Client::Cursor, "{ 'mcpServers': {} }", "line 1, column 3"),
        (Client::Cursor, "{}\n{}", "line 2, column 1"),
        (
            Client::Cursor,
            "{ \"mcpServers\": [] }",
            "`mcpServers` is not an object",
        ),
        (
            Client::Cursor,
            "{ \"mcpServers\": null }",
            "`mcpServers` is not an object",
        ),
        (Client::Cursor, "[]", "`the whole file` is not an object"),
        (
            Client::Cursor,
            "{ \"mcpServers\": {}, \"mcpServers\": {} }",
            "`mcpServers` is there twice",
        ),
        (Client::Codex, "model = ", "line 1, column"),
        (
            Client::Codex,
            "a = 1\na = 2",
            "line 2, column 1: duplicate key",
        ),
        (
            Client::Codex,
            "mcp_servers = []",
            "`mcp_servers` is not a table",
        ),
        (
            Client::Codex,
            "mcp_servers = { a = { command = \"x\" } }",
            "`mcp_servers` is a table written in braces",
        ),
        (
            Client::Zed,
            "{ \"context_servers\": { \"Ahama\": { \"command\": \"other\" } } }",
            "there is an entry `Ahama` that does not start this program",
        ),
        (
            Client::Codex,
            "[mcp_servers.Ahama]\nurl = \"https://example.org\"\n",
            "there is an entry `Ahama` that does not start this program",
        ),
    ];
    for (client, text, why) in broken {
        let home = Home::new();
        let file = home.write(client, text);
        let plan = home.plan(client, &wish());
        let refusal = refusal(&plan);
        assert!(refusal.what.contains(why), "{why}: {refusal:?}");
        assert!(refusal.remedy.is_some(), "{refusal:?}");
        // What it should say is ready to be copied.
        let paste = refusal.paste.as_ref().unwrap();
        let entry = match client {
            Client::Codex => {
                toml::from_str::<serde_json::Value>(paste).unwrap()["mcp_servers"].clone()
            }
            Client::Zed => json(paste)["context_servers"].clone(),
            _ => json(paste)["mcpServers"].clone(),
        };
        assert_eq!(entry["Ahama"]["command"], COMMAND);
        assert_eq!(read(&file), text);
    }
    let home = Home::new();
    home.write(Client::Cursor, b"{ \"a\": \"\xff\" }");
    let plan = home.plan(Client::Cursor, &wish());
    assert_eq!(refusal(&plan).what, "it is not UTF-8");
}

/// Proves: P54.
#[test]
fn a_shell_is_not_turned_off_where_something_else_stands() {
    let only = Wish {
        only: true,
        ..wish()
    };
    let broken = [
        (
            Client::Gemini,
            "{ \"tools\": { \"exclude\": \"x\" } }",
            "`tools.exclude` is not a list",
        ),
        (
            Client::Gemini,
            "{ \"tools\": [] }",
            "`tools` is not an object",
        ),
        (
            Client::Codex,
            "[features]\nshell_tool = \"no\"\n",
            "`features.shell_tool` is not true or false",
        ),
        (
            Client::Codex,
            "features = { a = true }\n",
            "`features` is a table written in braces",
        ),
    ];
    for (client, text, why) in broken {
        let home = Home::new();
        let file = home.write(client, text);
        let plan = home.plan(client, &only);
        assert_eq!(refusal(&plan).what, why);
        assert_eq!(read(&file), text);
        home.set_up(client, &wish());
    }
}

/// Proves: P54.
#[test]
fn nothing_is_written_through_a_link_that_leads_elsewhere() {
    let home = Home::new();
    let outside = Home::new();
    let file = home.file(Client::Gemini, Level::User);
    fs::create_dir(file.parent().unwrap()).unwrap();
    let other = outside.place.write("other.json", "{}");
    symlink(&other, &file).unwrap();
    let plan = home.plan(Client::Gemini, &wish());
    assert!(refusal(&plan).what.contains("which is not in"), "{plan:?}");
    assert_eq!(read(&other), "{}");
    // So does a directory above it.
    fs::remove_file(&file).unwrap();
    fs::remove_dir(file.parent().unwrap()).unwrap();
    symlink(outside.place.path(), file.parent().unwrap()).unwrap();
    let plan = home.plan(Client::Gemini, &wish());
    assert!(refusal(&plan).what.contains("which is not in"), "{plan:?}");
    fs::remove_file(file.parent().unwrap()).unwrap();
    fs::create_dir(file.parent().unwrap()).unwrap();
    symlink("nowhere", &file).unwrap();
    let plan = home.plan(Client::Gemini, &wish());
    assert_eq!(refusal(&plan).what, "it is a link that leads nowhere");
    fs::remove_file(&file).unwrap();
    // A project's file leads out of the project, though not out of the home.
    let shared = home.place.write("dotfiles/mcp.json", "{}");
    symlink(&shared, home.place.path().join("work/.mcp.json")).unwrap();
    let project = Wish {
        level: Level::Project,
        ..wish()
    };
    let plan = home.plan(Client::Claude, &project);
    assert!(refusal(&plan).what.contains("which is not in"), "{plan:?}");
    // A user's own file may be kept elsewhere in the home, and the link stays.
    symlink(&shared, &file).unwrap();
    home.set_up(Client::Gemini, &wish());
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(
        json(&read(&shared))["mcpServers"]["Ahama"]["command"],
        COMMAND
    );
    home.undo(&[], Level::User);
    assert_eq!(read(&shared), "{}");
}

/// Proves: P54.
#[test]
fn what_is_no_ordinary_file_is_neither_read_nor_replaced() {
    let home = Home::new();
    let file = home.file(Client::Cursor, Level::User);
    fs::create_dir_all(&file).unwrap();
    assert_eq!(
        refusal(&home.plan(Client::Cursor, &wish())).what,
        "it is not a file"
    );
    fs::remove_dir(&file).unwrap();
    let pipe = file.to_str().unwrap();
    assert_eq!(home.place.run("mkfifo", &[pipe]).code, 0);
    assert_eq!(
        refusal(&home.plan(Client::Cursor, &wish())).what,
        "it is not a file"
    );
    fs::remove_file(&file).unwrap();
    home.write(Client::Cursor, "{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(
        refusal(&home.plan(Client::Cursor, &wish())).what,
        "it is read-only"
    );
}

/// Proves: P54.
#[test]
fn a_change_of_somebody_else_in_between_is_not_lost() {
    let home = Home::new();
    let file = home.write(Client::Cursor, "{}");
    let plan = home.plan(Client::Cursor, &wish());
    let _lock = home.records.lock().unwrap();
    fs::write(&file, "{ \"a\": 1 }").unwrap();
    let refused = only_change(&plan).make(&home.records).unwrap_err();
    assert_eq!(refused.what, "it was changed in the meantime");
    assert_eq!(read(&file), "{ \"a\": 1 }");
    // One that was not there.
    let plan = home.plan(Client::Gemini, &wish());
    let other = home.write(Client::Gemini, "{ \"b\": 1 }");
    let refused = only_change(&plan).make(&home.records).unwrap_err();
    assert_eq!(refused.what, "it was changed in the meantime");
    assert_eq!(read(&other), "{ \"b\": 1 }");
    let left: Vec<PathBuf> = file
        .parent()
        .unwrap()
        .read_dir()
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    assert_eq!(left, [file], "no draft is left");
}

/// Proves: P51, P54.
#[test]
fn an_entry_of_ours_is_brought_up_to_date_and_keeps_what_the_user_added() {
    let home = Home::new();
    let text = "{\n  \"mcpServers\": {\n    \"Ahama\": {\n      // mine\n      \"command\": \"/old/ahma_mcp\",\n      \"args\": [\"--network\", \"off\"],\n      \"env\": { \"A\": \"b\" }\n    }\n  }\n}\n";
    let file = home.write(Client::Cursor, text);
    let plan = home.plan(Client::Cursor, &wish());
    let kept = ["--network", "off"].map(str::to_owned).to_vec();
    assert_eq!(plan.files[0].notes, [Note::KeptArgs(kept)]);
    home.set_up(Client::Cursor, &wish());
    assert_eq!(read(&file), text.replace("/old/ahma_mcp", COMMAND));
    let again = home.plan(Client::Cursor, &wish());
    assert!(matches!(again.files[0].action, Action::Nothing));
    // Others are asked for.
    let args = vec!["--sync".to_owned()];
    let manner = Manner {
        replace: false,
        keep_args: false,
    };
    home.set_up(
        Client::Cursor,
        &Wish {
            args,
            manner,
            ..wish()
        },
    );
    let expected = text
        .replace("/old/ahma_mcp", COMMAND)
        .replace("[\"--network\", \"off\"]", "[\"--sync\"]");
    assert_eq!(read(&file), expected);
    // None are asked for.
    let manner = Manner {
        replace: true,
        keep_args: true,
    };
    home.set_up(Client::Cursor, &Wish { manner, ..wish() });
    assert_eq!(read(&file), expected.replace("[\"--sync\"]", "[]"));
    home.undo(&[], Level::User);
    assert_eq!(read(&file), text);
}

/// Proves: P54.
#[test]
fn an_entry_of_something_else_is_replaced_when_that_is_asked_for() {
    let texts = [
        (
            Client::Cursor,
            "{ \"mcpServers\": { \"Ahama\": { \"url\": \"https://example.org\" }, \"b\": {} } }",
        ),
        (
            Client::Codex,
            "[mcp_servers.Ahama]\nurl = \"https://example.org\"\n\n[mcp_servers.Ahama.http_headers]\nA = \"b\"\n\n# next\n[mcp_servers.b]\ncommand = \"x\"\n",
        ),
    ];
    for (client, text) in texts {
        let home = Home::new();
        let file = home.write(client, text);
        let manner = Manner {
            replace: true,
            keep_args: true,
        };
        home.set_up(client, &Wish { manner, ..wish() });
        let changed = read(&file);
        let document = match client {
            Client::Codex => toml::from_str(&changed).unwrap(),
            _ => json(&changed),
        };
        let list = document
            .get("mcpServers")
            .unwrap_or(&document["mcp_servers"]);
        assert_eq!(list["Ahama"], json!({ "command": COMMAND, "args": [] }));
        assert!(list.get("b").is_some());
        assert_eq!(
            changed.matches("# next").count(),
            text.matches("# next").count()
        );
        home.undo(&[], Level::User);
        assert_eq!(read(&file), text);
    }
}

/// Proves: P51.
#[test]
fn an_entry_that_is_switched_off_and_a_file_that_is_not_json_are_told() {
    let home = Home::new();
    home.write(
        Client::Windsurf,
        "{ \"mcpServers\": { \"Ahama\": { \"command\": \"/old/ahma_mcp\", \"disabled\": true } } } // mine",
    );
    let plan = home.plan(Client::Windsurf, &wish());
    assert_eq!(plan.files[0].notes, [Note::SwitchedOff, Note::NotJson]);
    home.write(Client::Zed, "{ } // mine");
    assert_eq!(home.plan(Client::Zed, &wish()).files[0].notes, []);
}

//! What undoing leaves behind: nothing of ours, and everything of others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ahma_setup::{Client, Level, Records, Wish};
use serde_json::json;

use super::kit::{COMMAND, Home, json, read, wish, word};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Proves: P53.
#[test]
fn files_and_directories_that_setup_made_are_gone_again() {
    for client in Client::ALL {
        for level in [Level::User, Level::Project] {
            let home = Home::new();
            if home.machine.entries(client, level).is_none() {
                continue;
            }
            let only = Wish {
                only: true,
                level,
                ..wish()
            };
            home.set_up(client, &only);
            let file = home.file(client, level);
            assert!(file.exists());
            // Others of the project read its files; the user's own may come to hold secrets.
            let expected = if level == Level::User { 0o600 } else { 0o644 };
            assert_eq!(mode(&file), expected);
            let undone = home.undo(&[], level);
            assert!(undone.iter().all(|it| word(it) == "remove"), "{undone:?}");
            let mut left: Vec<_> = home
                .place
                .path()
                .read_dir()
                .unwrap()
                .map(|it| it.unwrap().file_name())
                .collect();
            left.sort();
            assert_eq!(left, ["state", "work"]);
            assert_eq!(home.machine.project.read_dir().unwrap().count(), 0);
        }
    }
}

/// Proves: P53.
#[test]
fn directories_that_several_files_needed_are_gone_with_the_last_of_them() {
    let all = [Client::ClaudeDesktop, Client::Vscode, Client::Zed];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let home = Home::new();
        for client in all {
            home.set_up(client, &wish());
        }
        for at in order {
            assert!(home.place.path().join(".config").exists());
            home.undo(&[all[at]], Level::User);
        }
        assert!(!home.place.path().join(".config").exists());
    }
}

/// Proves: P53.
#[test]
fn a_directory_or_file_of_ours_that_others_use_by_now_stays() {
    let home = Home::new();
    home.set_up(Client::Cursor, &wish());
    let file = home.file(Client::Cursor, Level::User);
    let other = home.place.write(".cursor/other", "x");
    home.undo(&[], Level::User);
    assert!(!file.exists());
    assert_eq!(read(&other), "x");
    // Something was added to the file.
    home.set_up(Client::Cursor, &wish());
    let added = read(&file).replacen("{\n", "{\n  \"theme\": 1,\n", 1);
    fs::write(&file, added).unwrap();
    let undone = home.undo(&[], Level::User);
    assert_eq!(word(&undone[0]), "take out");
    assert_eq!(read(&file), "{\n  \"theme\": 1\n}\n");
    // Nothing is left in it but an empty object.
    fs::remove_file(&file).unwrap();
    home.set_up(Client::Cursor, &wish());
    fs::write(&file, format!("{}\n", read(&file))).unwrap();
    home.undo(&[], Level::User);
    assert!(!file.exists());
}

/// Proves: P53.
#[test]
fn mode_and_backup_are_kept_and_only_the_owner_reads_the_backup() {
    let home = Home::new();
    let file = home.write(Client::Gemini, "{ }\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    home.set_up(Client::Gemini, &wish());
    assert_eq!(mode(&file), 0o640);
    let records = home.place.path().join("state/setup");
    assert_eq!(mode(&records), 0o700);
    let entries = records.read_dir().unwrap().map(|it| it.unwrap().path());
    let record = entries.into_iter().find(|it| it.is_dir()).unwrap();
    assert_eq!(mode(&record), 0o700);
    assert_eq!(read(&record.join("before")), "{ }\n");
    assert_eq!(mode(&record.join("before")), 0o600);
    assert_eq!(mode(&record.join("record.json")), 0o600);
    home.undo(&[], Level::User);
    assert_eq!(mode(&file), 0o640);
    assert!(!record.exists());
}

/// Proves: P53.
#[test]
fn the_oldest_bytes_come_back_after_several_setups() {
    let home = Home::new();
    let file = home.write(Client::Codex, "# mine\n");
    home.set_up(Client::Codex, &wish());
    home.set_up(
        Client::Codex,
        &Wish {
            only: true,
            ..wish()
        },
    );
    let second = Wish {
        name: "second".to_owned(),
        command: "/new/ahma_mcp".to_owned(),
        ..wish()
    };
    home.set_up(Client::Codex, &second);
    assert!(read(&file).contains("[mcp_servers.second]"));
    let undone = home.undo(&[], Level::User);
    assert_eq!(word(&undone[0]), "restore");
    assert_eq!(read(&file), "# mine\n");
}

/// Proves: P53.
#[test]
fn changes_of_others_between_two_setups_stay() {
    let home = Home::new();
    let file = home.write(Client::Cursor, "{\n  \"a\": 1\n}\n");
    home.set_up(Client::Cursor, &wish());
    fs::write(&file, read(&file).replace("\"a\": 1", "\"a\": 2")).unwrap();
    home.set_up(
        Client::Cursor,
        &Wish {
            command: "/new/ahma_mcp".to_owned(),
            ..wish()
        },
    );
    let undone = home.undo(&[], Level::User);
    assert_eq!(word(&undone[0]), "take out");
    assert_eq!(read(&file), "{\n  \"a\": 2\n}\n");
    // Once nothing of ours was in it, what it is then is what comes back.
    home.set_up(Client::Cursor, &wish());
    fs::write(&file, "{ \"b\": 3 }").unwrap();
    home.set_up(Client::Cursor, &wish());
    let undone = home.undo(&[], Level::User);
    assert_eq!(word(&undone[0]), "restore");
    assert_eq!(read(&file), "{ \"b\": 3 }");
}

/// Proves: P53.
#[test]
fn an_entry_that_was_there_before_is_there_again_and_one_of_others_stays() {
    let home = Home::new();
    let before = "{\n  \"mcpServers\": {\n    \"Ahama\": { \"command\": \"/old/ahma_mcp\", \"env\": {} }\n  }\n}\n";
    let file = home.write(Client::Windsurf, before);
    home.set_up(Client::Windsurf, &wish());
    fs::write(&file, read(&file).replace("\n}\n", ",\n  \"more\": 1\n}\n")).unwrap();
    home.undo(&[], Level::User);
    let expected =
        json!({ "mcpServers": { "Ahama": { "command": "/old/ahma_mcp", "env": {} } }, "more": 1 });
    assert_eq!(json(&read(&file)), expected);
    // Somebody made another server of it.
    fs::write(&file, "{}").unwrap();
    home.set_up(Client::Windsurf, &wish());
    let theirs = read(&file).replace(COMMAND, "theirs");
    fs::write(&file, &theirs).unwrap();
    let undone = home.undo(&[], Level::User);
    assert_eq!(undone[0].theirs, ["mcpServers.Ahama"]);
    assert_eq!(read(&file), theirs);
}

/// Proves: P53, P55.
#[test]
fn a_shell_that_was_turned_off_is_on_again_where_others_have_changed_the_file() {
    let home = Home::new();
    let only = Wish {
        only: true,
        ..wish()
    };
    let settings = home.place.write(
        ".claude/settings.json",
        "{\n  \"permissions\": {\n    \"deny\": [\"Read(x)\"]\n  }\n}\n",
    );
    home.set_up(Client::Claude, &only);
    assert_eq!(
        json(&read(&settings)),
        json!({ "permissions": { "deny": ["Read(x)", "Bash"] } })
    );
    fs::write(&settings, read(&settings).replace("Read(x)", "Read(y)")).unwrap();
    let codex = home.write(Client::Codex, "[features]\nshell_tool = true # mine\n");
    home.set_up(Client::Codex, &only);
    assert!(read(&codex).starts_with("[features]\nshell_tool = false # mine\n"));
    fs::write(&codex, format!("{}\n# more\n", read(&codex))).unwrap();
    let gemini = home.write(Client::Gemini, "{}");
    home.set_up(Client::Gemini, &only);
    let excluded = json(&read(&gemini))["tools"]["exclude"].clone();
    assert_eq!(excluded, json!(["run_shell_command"]));
    fs::write(
        &gemini,
        read(&gemini).replacen('{', "{\n  \"theme\": 1,", 1),
    )
    .unwrap();
    home.undo(&[], Level::User);
    assert_eq!(
        read(&settings),
        "{\n  \"permissions\": {\n    \"deny\": [\"Read(y)\"]\n  }\n}\n"
    );
    assert_eq!(
        read(&codex),
        "[features]\nshell_tool = true # mine\n\n# more\n"
    );
    assert_eq!(json(&read(&gemini)), json!({ "theme": 1 }));
    // What was off already is nobody's change.
    fs::write(&settings, "{ \"permissions\": { \"deny\": [\"Bash\"] } }").unwrap();
    home.set_up(Client::Claude, &only);
    fs::write(
        &settings,
        "{ \"permissions\": { \"deny\": [\"Bash\"] }, \"a\": 1 }",
    )
    .unwrap();
    home.undo(&[], Level::User);
    assert_eq!(
        json(&read(&settings))["permissions"]["deny"],
        json!(["Bash"])
    );
}

/// Proves: P53.
#[test]
fn clients_and_levels_are_undone_by_themselves() {
    let home = Home::new();
    for client in [Client::Cursor, Client::Gemini] {
        home.set_up(client, &wish());
        home.set_up(
            client,
            &Wish {
                level: Level::Project,
                ..wish()
            },
        );
    }
    let exist = || {
        [Level::User, Level::Project]
            .map(|level| [Client::Cursor, Client::Gemini].map(|it| home.file(it, level).exists()))
    };
    home.undo(&[Client::Cursor], Level::User);
    assert_eq!(exist(), [[false, true], [true, true]]);
    home.undo(&[], Level::Project);
    assert_eq!(exist(), [[false, true], [false, false]]);
    home.undo(&[Client::Cursor], Level::User);
    assert_eq!(exist(), [[false, true], [false, false]]);
    // A file of two clients keeps the other's change.
    let shared = home.place.write("shared.json", "{}");
    let (cursor, windsurf) = (
        home.file(Client::Cursor, Level::User),
        home.file(Client::Windsurf, Level::User),
    );
    for file in [&cursor, &windsurf] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&shared, file).unwrap();
    }
    home.set_up(Client::Cursor, &wish());
    home.set_up(
        Client::Windsurf,
        &Wish {
            name: "second".to_owned(),
            ..wish()
        },
    );
    home.undo(&[Client::Cursor], Level::User);
    let names: Vec<String> = json(&read(&shared))["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["second"]);
    home.undo(&[Client::Windsurf], Level::User);
    assert_eq!(read(&shared), "{}");
}

/// Proves: P53.
#[test]
fn a_file_that_is_gone_or_cannot_be_read_any_more_is_told() {
    let home = Home::new();
    let file = home.write(Client::Cursor, "{}");
    home.set_up(Client::Cursor, &wish());
    fs::write(&file, "{ broken").unwrap();
    let plans = ahma_setup::plan_undo(&home.records, &home.machine, &[], Level::User).unwrap();
    let refused = plans[0].make(&home.records).unwrap_err();
    assert!(refused.what.contains("line 1"), "{refused:?}");
    assert!(format!("{refused:?}").contains("/before"), "{refused:?}");
    assert_eq!(read(&file), "{ broken");
    fs::remove_file(&file).unwrap();
    let undone = home.undo(&[], Level::User);
    assert_eq!(word(&undone[0]), "nothing");
    assert!(!file.exists());
    assert!(home.undo(&[], Level::User).is_empty());
}

/// Proves: P56.
#[test]
fn backups_that_others_could_have_written_are_not_believed() {
    let home = Home::new();
    let file = home.write(Client::Cursor, "{}");
    home.set_up(Client::Cursor, &wish());
    let records = home.place.path().join("state/setup");
    fs::set_permissions(&records, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(home.records.lock().is_err());
    let refused =
        ahma_setup::plan_undo(&home.records, &home.machine, &[], Level::User).unwrap_err();
    assert!(
        refused.what.contains("others could write the backups"),
        "{refused:?}"
    );
    fs::set_permissions(&records, fs::Permissions::from_mode(0o700)).unwrap();
    home.undo(&[], Level::User);
    assert_eq!(read(&file), "{}");
    // Two at once do not write the same record.
    let lock = home.records.lock().unwrap();
    let other = Records::in_state_directory(&home.place.path().join("state"));
    assert_eq!(other.lock().err().unwrap().what, "another setup is at work");
    drop(lock);
    other.lock().unwrap();
}

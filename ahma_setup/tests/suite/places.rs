//! Where each client keeps its entry, and what that is.

use std::path::Path;

use ahma_setup::{Client, Level, Machine, Platform, Wish};
use serde_json::{Value, json};

use super::kit::{COMMAND, Home, json, read, wish};

fn machine(platform: Platform) -> Machine {
    Machine {
        platform,
        home: "/h".into(),
        config_home: None,
        codex_home: None,
        claude_home: None,
        programs: Vec::new(),
        project: "/h/p".into(),
    }
}

/// Proves: P50.
#[test]
fn every_client_has_its_files_where_it_looks_for_them() {
    // User on Linux, user on macOS, project.
    let expected = [
        ("/h/.claude.json", "", "/h/p/.mcp.json"),
        (
            "/h/.config/Claude/claude_desktop_config.json",
            "/h/Library/Application Support/Claude/claude_desktop_config.json",
            "-",
        ),
        ("/h/.cursor/mcp.json", "", "/h/p/.cursor/mcp.json"),
        (
            "/h/.config/Code/User/mcp.json",
            "/h/Library/Application Support/Code/User/mcp.json",
            "/h/p/.vscode/mcp.json",
        ),
        ("/h/.codex/config.toml", "", "/h/p/.codex/config.toml"),
        ("/h/.gemini/settings.json", "", "/h/p/.gemini/settings.json"),
        ("/h/.codeium/windsurf/mcp_config.json", "", "-"),
        (
            "/h/.config/zed/settings.json",
            "",
            "/h/p/.zed/settings.json",
        ),
    ];
    let shown = |machine: &Machine, client, level| {
        let place = machine.entries(client, level);
        place.map_or("-".to_owned(), |it| it.path.display().to_string())
    };
    for (client, (linux, macos, project)) in Client::ALL.into_iter().zip(expected) {
        let macos = if macos.is_empty() { linux } else { macos };
        let [on_linux, on_macos] = [Platform::Linux, Platform::Macos].map(machine);
        assert_eq!(shown(&on_linux, client, Level::User), linux);
        assert_eq!(shown(&on_macos, client, Level::User), macos);
        assert_eq!(shown(&on_linux, client, Level::Project), project);
        assert_eq!(shown(&on_macos, client, Level::Project), project);
    }
    let moved = Machine {
        config_home: Some("/c".into()),
        codex_home: Some("/x".into()),
        claude_home: Some("/a".into()),
        ..machine(Platform::Linux)
    };
    let places = Client::ALL.map(|it| shown(&moved, it, Level::User));
    assert_eq!(
        places,
        [
            "/a/.claude.json",
            "/c/Claude/claude_desktop_config.json",
            "/h/.cursor/mcp.json",
            "/c/Code/User/mcp.json",
            "/x/config.toml",
            "/h/.gemini/settings.json",
            "/h/.codeium/windsurf/mcp_config.json",
            "/c/zed/settings.json",
        ]
    );
}

/// Proves: P51.
#[test]
fn every_client_gets_the_entry_that_it_understands() {
    let plain = json!({ "command": COMMAND, "args": ["--x"] });
    let expected = [
        (
            "mcpServers",
            json!({ "type": "stdio", "command": COMMAND, "args": ["--x"] }),
        ),
        (
            "mcpServers",
            json!({ "command": COMMAND, "args": ["--sandbox-scope", "/work"] }),
        ),
        ("mcpServers", plain.clone()),
        (
            "servers",
            json!({ "type": "stdio", "command": COMMAND, "args": ["--x"], "cwd": "${workspaceFolder}" }),
        ),
        ("mcp_servers", plain.clone()),
        ("mcpServers", plain.clone()),
        ("mcpServers", plain),
        (
            "context_servers",
            json!({ "source": "custom", "command": COMMAND, "args": ["--x"] }),
        ),
    ];
    for (client, (list, entry)) in Client::ALL.into_iter().zip(expected) {
        for level in [Level::User, Level::Project] {
            let home = Home::new();
            if home.machine.entries(client, level).is_none() {
                let plan = home.plan(client, &Wish { level, ..wish() });
                assert!(plan.refusal.is_some());
                continue;
            }
            let wish = Wish {
                level,
                args: vec!["--x".to_owned()],
                ..wish()
            };
            assert_eq!(home.set_up(client, &wish), [home.file(client, level)]);
            let document = says(&home.file(client, level));
            assert_eq!(document, json!({ list: { "Ahama": entry.clone() } }));
        }
    }
}

fn says(file: &Path) -> Value {
    match file.extension().is_some_and(|it| it == "toml") {
        true => toml::from_str(&read(file)).unwrap(),
        false => json(&read(file)),
    }
}

/// Proves: P50.
#[test]
fn a_client_is_noticed_by_its_files_or_its_program() {
    let signs = [
        (Client::Claude, ".claude.json", "claude"),
        (Client::ClaudeDesktop, ".config/Claude/x", "claude-desktop"),
        (Client::Cursor, ".cursor/x", "cursor"),
        (Client::Vscode, ".config/Code/x", "code"),
        (Client::Codex, ".codex/x", "codex"),
        (Client::Gemini, ".gemini/x", "gemini"),
        (Client::Windsurf, ".codeium/windsurf/x", "windsurf"),
        (Client::Zed, ".config/zed/x", "zeditor"),
    ];
    for (client, file, program) in signs {
        let mut home = Home::new();
        home.machine.programs = vec![home.place.path().join("bin")];
        let found = |home: &Home| -> Vec<Client> {
            let all = Client::ALL.into_iter();
            all.filter(|it| home.machine.sign(*it).is_some()).collect()
        };
        assert_eq!(found(&home), []);
        let path = home.place.write(file, "");
        assert_eq!(found(&home), [client]);
        std::fs::remove_file(&path).unwrap();
        if file.ends_with("/x") {
            std::fs::remove_dir(path.parent().unwrap()).unwrap();
        }
        assert_eq!(found(&home), []);
        home.place.write(&format!("bin/{program}"), "");
        assert_eq!(found(&home), [client]);
    }
}

/// Proves: P51.
#[test]
fn a_client_that_starts_servers_nowhere_needs_a_project() {
    let home = Home::new();
    let wish = Wish {
        args_with_project: None,
        ..wish()
    };
    let plan = home.plan(Client::ClaudeDesktop, &wish);
    assert!(plan.files.is_empty(), "{plan:?}");
    assert!(plan.refusal.unwrap().what.contains("in no project"));
    assert!(home.plan(Client::Cursor, &wish).refusal.is_none());
    let mut machine = home.machine.clone();
    assert!(!machine.is_in_no_project());
    for place in [home.machine.home.as_path(), Path::new("/")] {
        machine.project = place.to_owned();
        assert!(machine.is_in_no_project());
    }
}

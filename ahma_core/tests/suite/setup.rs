//! `ahma_mcp setup`, run as a program in temporary homes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Finished, Workspace, copy_program, repository};
use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
const ALL: [&str; 8] = [
    "claude",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "windsurf",
    "zed",
];

/// A user with a project, and no client yet.
struct User {
    home: Workspace,
}

impl User {
    fn new() -> Self {
        let home = Workspace::new();
        home.make_directory("project");
        User { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run_in(&self, directory: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        let home = self.home.path().to_str().unwrap();
        let usual = [("HOME", home), ("PATH", "/usr/bin:/bin")];
        let directory = self.path(directory);
        let mut words = vec!["-C", directory.to_str().unwrap()];
        // Nothing of this machine is seen.
        let elsewhere = ["CONFIG", "STATE", "CACHE"].map(|it| format!("XDG_{it}_HOME"));
        let elsewhere = elsewhere.iter().map(String::as_str);
        for name in elsewhere.chain(["CODEX_HOME", "CLAUDE_CONFIG_DIR"]) {
            if variables.iter().all(|(it, _)| *it != name) {
                words.extend(["-u", name]);
            }
        }
        words.extend([AHMA_MCP, "setup"]);
        words.extend(arguments);
        let variables = [&usual[..], variables].concat();
        self.home.run_with("env", &words, &variables)
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.run_in("project", arguments, &[])
    }

    fn done(&self, arguments: &[&str]) -> Finished {
        let finished = self.run(arguments);
        assert_eq!(
            (finished.code, finished.stderr.as_str()),
            (0, ""),
            "{finished:?}"
        );
        finished
    }

    /// For programs.
    fn document(&self, arguments: &[&str]) -> Value {
        let arguments = [&["--format", "json"], arguments].concat();
        let finished = self.run(&arguments);
        serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"))
    }

    /// Every file and directory but those of ours.
    fn everything(&self) -> Vec<String> {
        let listed = self.home.run("find", &[".", "-not", "-path", "./.local*"]);
        let mut names: Vec<String> = listed.stdout.lines().map(str::to_owned).collect();
        names.sort();
        names
    }
}

fn json_of(text: &str) -> Value {
    jsonc_parser::parse_to_serde_value(text, &Default::default()).unwrap()
}

/// Proves: P50, P51, P53.
#[test]
fn the_clients_of_this_machine_are_set_up_and_put_back() {
    let user = User::new();
    let none = user.done(&[]);
    assert!(
        none.stdout.ends_with(&format!(
            "no client was found on this machine\nhint: name one: {}\n",
            ALL.join(", ")
        )),
        "{none:?}"
    );
    let cursor = "{\n\t// mine\n\t\"mcpServers\": {},\n}\n";
    user.home.write(".cursor/mcp.json", cursor);
    user.home.make_directory(".codex");
    let before = user.everything();
    let done = user.done(&[]);
    let entry = json!({ "command": AHMA_MCP, "args": [] });
    let written = json_of(&user.read(".cursor/mcp.json"));
    assert_eq!(written, json!({ "mcpServers": { "Ahama": entry } }));
    let written: Value = toml::from_str(&user.read(".codex/config.toml")).unwrap();
    assert_eq!(written, json!({ "mcp_servers": { "Ahama": entry } }));
    for part in [
        "Cursor (found by ",
        "Codex (found by ",
        "\n+\t\t\"Ahama\": {\n",
        "/.cursor/mcp.json: written\n",
        "\nNext:\n  Cursor: restart Cursor",
        "Then ask: \"With Ahama, run",
        "To undo this: ahma_mcp setup --undo\n",
        "is in a directory of cargo, which may be emptied",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    let again = user.done(&[]);
    assert_eq!(
        again.stdout.matches(": up to date\n").count(),
        2,
        "{again:?}"
    );
    assert!(!again.stdout.contains("Next:"), "{again:?}");
    let undone = user.done(&["--undo"]);
    assert!(
        undone
            .stdout
            .contains("mcp.json: restored, byte for byte\n"),
        "{undone:?}"
    );
    assert!(
        undone
            .stdout
            .contains("config.toml: removed: there was none before\n"),
        "{undone:?}"
    );
    assert_eq!(user.read(".cursor/mcp.json"), cursor);
    assert_eq!(user.everything(), before);
    assert_eq!(user.done(&["--undo"]).stdout, "there is nothing to undo\n");
}

/// Proves: P51.
#[test]
fn an_entry_starts_a_server_that_works() {
    let user = User::new();
    user.done(&["gemini", "claude-desktop", "--", "--tools", "none"]);
    for (file, directory) in [
        (".gemini/settings.json", user.path("project")),
        // It is in no project, and the entry names one.
        (
            ".config/Claude/claude_desktop_config.json",
            PathBuf::from("/"),
        ),
    ] {
        let written = json_of(&user.read(file));
        let entry = &written["mcpServers"]["Ahama"];
        let args = entry["args"].as_array().unwrap();
        let args: Vec<&str> = args.iter().map(|it| it.as_str().unwrap()).collect();
        let home = user.home.path().to_str().unwrap();
        let program = entry["command"].as_str().unwrap();
        let mut client = McpProcess::connect(program, &args, &directory, &[("HOME", home)]);
        let called = client.call(
            "sandboxed_shell",
            &json!({ "command": "pwd", "execution_mode": "sync" }),
        );
        let project = user.path("project").canonicalize().unwrap();
        assert_eq!(called.text.lines().next(), project.to_str(), "{called:?}");
    }
}

/// Proves: P51.
#[test]
fn flags_of_the_entry_are_those_that_a_server_takes() {
    let user = User::new();
    user.done(&["cursor", "--name", "mine", "--", "--network", "off"]);
    let written = json_of(&user.read(".cursor/mcp.json"));
    assert_eq!(
        written["mcpServers"]["mine"]["args"],
        json!(["--network", "off"])
    );
    let kept = user.done(&["cursor", "--name", "mine"]);
    assert!(
        kept.stdout
            .contains("the entry keeps its flags: --network off"),
        "{kept:?}"
    );
    let before = user.everything();
    let text = user.read(".cursor/mcp.json");
    for (arguments, why) in [
        (
            &["cursor", "--", "--netwrk", "off"][..],
            "the server could not be started so",
        ),
        (&["cursor", "--", "--mode", "http"], "on stdin and stdout"),
        (
            &["cursor", "--", "doctor-of-nothing"],
            "the server could not be started so",
        ),
        (
            &["cursor", "--", "downstream", "list"],
            "not one of its commands",
        ),
        (
            &["cursor", "--name", "a b"],
            "cannot be the name of an entry",
        ),
        (&["emacs"], "invalid value"),
        (&["--undo", "--only"], "cannot be used with"),
    ] {
        let refused = user.run(arguments);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (2, ""),
            "{refused:?}"
        );
        assert!(refused.stderr.contains(why), "{why}: {refused:?}");
    }
    assert_eq!(user.everything(), before);
    assert_eq!(user.read(".cursor/mcp.json"), text);
}

/// Proves: P57.
#[test]
fn a_dry_run_shows_what_would_change_and_writes_nothing() {
    let user = User::new();
    let secret =
        "{ \"mcpServers\": { \"a\": { \"command\": \"x\", \"env\": { \"K\": \"hunter2\" } } } }";
    user.home.write(".cursor/mcp.json", secret);
    let everything = || user.home.run("find", &["."]).stdout;
    let before = everything();
    let dry = user.done(&["cursor", "zed", "--dry-run", "--only"]);
    for part in [
        "--- /dev/null\n",
        "\n+    \"Ahama\": {\n",
        "/.cursor/mcp.json: would be written\n",
        "\"K\": \"***\"",
        "\nnothing was changed\n",
    ] {
        assert!(dry.stdout.contains(part), "{part}: {}", dry.stdout);
    }
    assert!(!dry.stdout.contains("hunter2"), "{dry:?}");
    let document = user.document(&["cursor", "--dry-run"]);
    assert_eq!(document["dry_run"], true);
    assert_eq!(document["clients"][0]["files"][0]["action"], "would_change");
    assert!(!document.to_string().contains("hunter2"), "{document}");
    assert_eq!(everything(), before);
    assert_eq!(user.read(".cursor/mcp.json"), secret);
    user.done(&["cursor"]);
    let written = user.read(".cursor/mcp.json");
    let before = everything();
    let dry = user.done(&["--undo", "--dry-run"]);
    let document = user.document(&["--undo", "--dry-run"]);
    assert_eq!(document["files"][0]["action"], "would_restore");
    assert!(
        dry.stdout.contains("would be restored, byte for byte\n"),
        "{dry:?}"
    );
    assert_eq!(everything(), before);
    assert_eq!(user.read(".cursor/mcp.json"), written);
}

/// Proves: P55.
#[test]
fn the_own_shell_of_a_client_is_turned_off_where_that_works_and_told_where_not() {
    let user = User::new();
    let all = [&ALL[..], &["--only"]].concat();
    let done = user.done(&all);
    let settings = json_of(&user.read(".claude/settings.json"));
    assert_eq!(settings, json!({ "permissions": { "deny": ["Bash"] } }));
    let settings = json_of(&user.read(".gemini/settings.json"));
    assert_eq!(
        settings["tools"],
        json!({ "exclude": ["run_shell_command"] })
    );
    let settings: Value = toml::from_str(&user.read(".codex/config.toml")).unwrap();
    assert_eq!(settings["features"], json!({ "shell_tool": false }));
    let by_hand = done.stdout.split("by hand:\n").nth(1).unwrap();
    let by_hand = by_hand.split("\n\n").next().unwrap();
    let named: Vec<&str> = by_hand
        .lines()
        .map(|it| it.trim().split(':').next().unwrap())
        .collect();
    assert_eq!(named, ["Cursor", "VS Code", "Windsurf", "Zed"]);
    user.done(&["--undo"]);
    assert_eq!(user.everything(), [".", "./project"]);
    let shared = user.done(&["claude", "--only", "--project"]);
    assert!(
        shared.stdout.contains("Before you share these files"),
        "{shared:?}"
    );
    let settings = json_of(&user.read("project/.claude/settings.json"));
    assert_eq!(settings, json!({ "permissions": { "deny": ["Bash"] } }));
    let elsewhere = user.done(&["--undo"]);
    assert!(
        elsewhere.stdout.contains("undone with --project"),
        "{elsewhere:?}"
    );
    user.done(&["--undo", "--project"]);
    assert_eq!(user.everything(), [".", "./project"]);
}

/// Proves: P54.
#[test]
fn what_is_refused_for_one_client_is_done_for_the_others() {
    let user = User::new();
    user.home.write(".cursor/mcp.json", "{ \"mcpServers\": [");
    user.home.write(
        ".gemini/settings.json",
        "{ \"mcpServers\": { \"Ahama\": { \"url\": \"https://example.org\" } } }",
    );
    let some = user.run(&["cursor", "gemini", "zed"]);
    assert_eq!(some.code, 1, "{some:?}");
    for part in [
        ".cursor/mcp.json is left as it is:\n  line 1, column",
        "hint: repair the file, which Cursor cannot read either",
        "  what it should say:\n    {\n      \"mcpServers\": {\n",
        "there is an entry `Ahama` that does not start this program\n  hint: choose another name with --name, or let it be replaced with --replace",
        ".config/zed/settings.json: written\n",
    ] {
        assert!(some.stdout.contains(part), "{part}: {}", some.stdout);
    }
    assert_eq!(user.read(".cursor/mcp.json"), "{ \"mcpServers\": [");
    let document = user.document(&["cursor", "zed"]);
    let actions: Vec<&Value> = document["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["files"][0]["action"])
        .collect();
    assert_eq!(actions, ["refused", "none"]);
    assert!(document["clients"][0]["files"][0]["paste"].is_string());
    user.done(&["gemini", "--replace"]);
    let written = json_of(&user.read(".gemini/settings.json"));
    assert_eq!(written["mcpServers"]["Ahama"]["command"], AHMA_MCP);
    // One that has no files of projects is left out, unless it is named.
    let named = user.run(&["windsurf", "--project"]);
    assert_eq!(named.code, 1, "{named:?}");
    assert!(
        named
            .stdout
            .contains("hint: set it up for all projects, without --project"),
        "{named:?}"
    );
    user.home.make_directory(".codeium/windsurf");
    let rest = user.run(&["--project"]);
    assert!(!rest.stdout.contains("Windsurf"), "{rest:?}");
}

/// Proves: P51, P54.
#[test]
fn a_home_is_no_project() {
    let user = User::new();
    let refused = user.run_in("", &["cursor", "--project"], &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("is no project"), "{refused:?}");
    let desktop = user.run_in("", &["claude-desktop"], &[]);
    assert_eq!(desktop.code, 1, "{desktop:?}");
    assert!(
        desktop
            .stdout
            .contains("or name one: -- --sandbox-scope DIR"),
        "{desktop:?}"
    );
    let project = user.path("project");
    let scope = [
        "claude-desktop",
        "--",
        "--sandbox-scope",
        project.to_str().unwrap(),
    ];
    let named = user.run_in("", &scope, &[]);
    assert_eq!(named.code, 0, "{named:?}");
    let written = json_of(&user.read(".config/Claude/claude_desktop_config.json"));
    assert_eq!(written["mcpServers"]["Ahama"]["args"], json!(scope[2..]));
}

/// Proves: P56.
#[test]
fn backups_are_not_kept_where_commands_could_write_them() {
    let user = User::new();
    let state = user.path("project/state");
    let inside = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let refused = user.run_in("project", &["cursor"], &inside);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("move the state elsewhere with XDG_STATE_HOME"),
        "{refused:?}"
    );
    let refused = user.run_in("project", &["--undo"], &inside);
    assert_eq!(refused.code, 2, "{refused:?}");
    let home = user.home.path().to_str().unwrap();
    for flag in ["--sandbox-write", "--sandbox-read"] {
        let refused = user.run(&["cursor", "--", flag, home]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    assert_eq!(user.everything(), [".", "./project"]);
    user.done(&["cursor"]);
    let records = user.path(".local/state/ahma_mcp/setup");
    fs::set_permissions(&records, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = user.run(&["--undo"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("others could write the backups"),
        "{refused:?}"
    );
}

/// Proves: P51.
#[test]
fn a_program_that_commands_could_replace_is_warned_of() {
    let user = User::new();
    let program = user.path("project/ahma_mcp");
    copy_program(AHMA_MCP, &program);
    let home = user.home.path().to_str().unwrap();
    let directory = user.path("project");
    let words = [
        "-C",
        directory.to_str().unwrap(),
        program.to_str().unwrap(),
        "setup",
        "cursor",
    ];
    let done = user.home.run_with("env", &words, &[("HOME", home)]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stdout
            .contains("is in this project, where commands can replace it"),
        "{done:?}"
    );
    assert!(!done.stdout.contains("directory of cargo"), "{done:?}");
    let written = json_of(&user.read(".cursor/mcp.json"));
    let program = program.canonicalize().unwrap();
    assert_eq!(
        written["mcpServers"]["Ahama"]["command"].as_str(),
        program.to_str()
    );
}

/// The page says the same as the program does.
///
/// Proves: P50, P55.
#[test]
fn the_page_about_setup_names_every_client_and_file() {
    let page = fs::read_to_string(repository().join("docs/setup.md")).unwrap();
    for (client, level) in ALL.iter().flat_map(|it| [(it, "user"), (it, "project")]) {
        let user = User::new();
        let project = if level == "project" {
            &["--project"][..]
        } else {
            &[]
        };
        let document = user.document(&[&[*client, "--only", "--dry-run"], project].concat());
        let section = page
            .split("\n### ")
            .find(|it| it.contains(&format!("`{client}`\n")))
            .unwrap();
        for file in document["clients"][0]["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let home = user.home.path().to_str().unwrap();
            let path = path
                .replace(&format!("{home}/project/"), "")
                .replace(home, "~");
            assert!(section.contains(&format!("`{path}`")), "{path}: {section}");
        }
        if let Some(how) = document["clients"][0]["by_hand"].as_str() {
            assert!(
                section.replace('\n', " ").contains("by hand"),
                "{how}: {section}"
            );
        }
    }
}

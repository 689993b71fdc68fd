//! `ahma_mcp doctor`: each thing that keeps a server from working is named, with what to do about it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use ahma_tests::served::ahma_mcp;
use ahma_tests::{Finished, example};
use serde_json::Value;

use super::world::World;

/// What is to be repaired, a line each: area, what, and how.
fn to_fix(world: &World, words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    told(world, words, variables, "fix")
}

fn notes(world: &World, words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    told(world, words, variables, "note")
}

fn told(world: &World, words: &[&str], variables: &[(&str, &str)], state: &str) -> Vec<String> {
    let words = [words, &["doctor", "--json"]].concat();
    let mut command = world.command(&words);
    let output = command.envs(variables.iter().copied()).output();
    fixes(&Finished::of(output.unwrap()), state)
}

fn fixes(finished: &Finished, state: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap().iter();
    let line = |it: &Value| {
        let part = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        format!("{}: {} → {}", part("area"), part("message"), part("fix"))
    };
    let to_fix = document["to_fix"].as_u64().unwrap();
    assert_eq!(finished.code, i32::from(to_fix > 0), "{finished:?}");
    findings
        .filter(|it| it["state"] == state)
        .map(line)
        .collect()
}

/// Proves: P78.
#[test]
fn where_all_is_well_nothing_has_to_be_repaired() {
    let world = World::new();
    let finished = world.run(&["doctor"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    assert!(
        finished
            .stdout
            .contains("\nsandbox\n  ok    Landlock is enforced (version "),
        "{}",
        finished.stdout
    );
    assert!(
        finished.stdout.ends_with("\nnothing has to be repaired\n"),
        "{}",
        finished.stdout
    );
    // It repairs nothing, and leaves nothing.
    assert_eq!(fs::read_dir(world.project.path()).unwrap().count(), 0);
    assert!(!world.home.path().join("state").exists());
}

/// Proves: P79.
#[test]
fn a_kernel_without_landlock_or_user_namespaces_is_named() {
    let world = World::new();
    let weakened = example("weakened_server");
    let weakened = weakened.to_str().unwrap();
    for (what, message, fix) in [
        ("no-landlock", "Landlock", "--no-sandbox"),
        (
            "no-user-namespaces",
            "a view of the file system (user namespace) is not enforced: ",
            "docs/sandbox-troubleshooting.md",
        ),
    ] {
        let words = [what, &ahma_mcp(), "doctor", "--json"];
        let found = fixes(
            &Finished::of(world.command_of(weakened, &words).output().unwrap()),
            "fix",
        );
        let of_sandbox: Vec<&String> = found
            .iter()
            .filter(|it| it.starts_with("sandbox: "))
            .collect();
        assert_eq!(of_sandbox.len(), 1, "{what}: {found:?}");
        assert!(
            of_sandbox[0].contains(message) && of_sandbox[0].contains(fix),
            "{of_sandbox:?}"
        );
    }
}

/// Proves: P79.
#[test]
fn a_home_that_cannot_be_written_is_named() {
    let world = World::new();
    let file = world.home.write("file", "");
    // Below a file nothing can be made, by root either.
    let nowhere = file.join("state").to_str().unwrap().to_owned();
    let found = to_fix(&world, &[], &[("XDG_STATE_HOME", &nowhere)]);
    let expected =
        format!("files: tokens and records cannot be kept: {nowhere}/ahma_mcp cannot be written: ");
    assert!(found[0].starts_with(&expected), "{found:?}");
    assert!(
        found[0].ends_with("or set XDG_STATE_HOME to a directory that is"),
        "{found:?}"
    );
    let found = to_fix(&world, &[], &[("HOME", "/no/such/home")]);
    assert_eq!(
        found[0],
        "files: the home directory /no/such/home is not there → set HOME to a directory of yours"
    );
}

/// Proves: P79.
#[test]
fn a_port_that_is_taken_is_named() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    world.home.write(
        "config/ahma_mcp/ahma.toml",
        format!("[server]\nmode = \"http\"\nhttp-port = {port}\n"),
    );
    let found = to_fix(&world, &[], &[]);
    assert_eq!(
        found,
        [format!(
            "http: port {port}, which your settings name, is taken by another program → name another one with --http-port, or leave it out; `ss -ltnp` shows who has it"
        )]
    );
    drop(taken);
    assert_eq!(to_fix(&world, &[], &[]), Vec::<String>::new());
}

/// Proves: P79.
#[test]
fn broken_files_are_named_with_line_and_advice() {
    let world = World::new();
    world.project.write(
        ".ahma/tools/a.json",
        "{\n  \"nam\": \"a\", \"description\": \"A.\", \"command\": \"true\"\n}",
    );
    let tool = world.project.path().join(".ahma/tools/a.json");
    let servers = r#"{ "servers": { "a": { "type": "stdio", "comand": "x" } } }"#;
    world.home.write("config/ahma_mcp/mcp.json", servers);
    let found = to_fix(&world, &[], &[]);
    let of_tool = format!(
        "tools: {}:2:3: unknown field `nam` → did you mean `name`?",
        tool.display()
    );
    assert!(found.contains(&of_tool), "{found:?}");
    assert!(
        found
            .iter()
            .any(|it| it.starts_with("servers: ") && it.contains("comand")),
        "{found:?}"
    );
    world
        .home
        .write("config/ahma_mcp/ahma.toml", "[server]\ntimeuot = 1\n");
    let found = to_fix(&world, &[], &[]);
    let of_settings = found
        .iter()
        .find(|it| it.starts_with("settings: "))
        .unwrap();
    assert!(
        of_settings.ends_with("ahma.toml:2:1: unknown setting `timeuot` → did you mean `timeout`?"),
        "{found:?}"
    );
}

/// Proves: P79.
#[test]
fn an_entry_of_a_client_that_starts_nothing_is_named() {
    let world = World::new();
    assert_eq!(
        notes(&world, &[], &[])[0],
        "clients: no client has an entry for this server → `ahma_mcp setup` writes one"
    );
    let entry = |command: &str| {
        format!("{{ \"mcpServers\": {{ \"Ahama\": {{ \"command\": \"{command}\" }} }} }}")
    };
    world
        .home
        .write(".cursor/mcp.json", entry("/no/such/ahma_mcp"));
    world.home.write(
        ".codex/config.toml",
        format!("[mcp_servers.mine]\ncommand = \"{}\"\n", ahma_mcp()),
    );
    let file = world.home.path().join(".cursor/mcp.json");
    let expected = format!(
        "clients: Cursor cannot start /no/such/ahma_mcp, which is not there (Ahama in {}) → `ahma_mcp setup cursor --replace` writes it anew",
        file.display()
    );
    assert_eq!(to_fix(&world, &[], &[]), [expected]);
}

/// Proves: P79.
#[test]
fn an_entry_with_wrong_flags_and_a_file_that_cannot_be_read_are_named() {
    let world = World::new();
    let entry = |flag: &str| {
        let entry = serde_json::json!({ "command": ahma_mcp(), "args": [flag] });
        serde_json::json!({ "mcpServers": { "Ahama": entry } }).to_string()
    };
    for (flag, found) in [
        (
            "--sandbx-scope",
            "with flags that it refuses: unexpected argument '--sandbx-scope' found (",
        ),
        ("--no-sandbox", "without the sandbox ("),
    ] {
        world.home.write(".cursor/mcp.json", entry(flag));
        let to_fix = to_fix(&world, &[], &[]);
        assert_eq!(to_fix.len(), 1, "{to_fix:?}");
        assert!(to_fix[0].contains(found), "{to_fix:?}");
    }
    world.home.write(".cursor/mcp.json", "{ \"mcpServers\": ");
    let to_fix = to_fix(&world, &[], &[]);
    assert!(
        to_fix[0].ends_with(
            "of Cursor cannot be read → `ahma_mcp setup cursor --dry-run` says where it is broken"
        ),
        "{to_fix:?}"
    );
}

/// Proves: P79.
#[test]
fn a_sandbox_that_is_switched_off_is_named_with_what_did_so() {
    let world = World::new();
    let off = |source: &str| {
        format!(
            "sandbox: the sandbox is switched off ({source}): commands can do what you can do → remove that setting; `ahma_mcp doctor` says then what the machine can enforce"
        )
    };
    assert_eq!(
        to_fix(&world, &[], &[("AHMA_NO_SANDBOX", "1")]),
        [off("variable AHMA_NO_SANDBOX")]
    );
    assert_eq!(to_fix(&world, &["--no-sandbox"], &[]), [off("flag")]);
    let file = world
        .home
        .write("config/ahma_mcp/ahma.toml", "[server]\nno-sandbox = true\n");
    let source = format!("[server] of {}:2", file.display());
    assert_eq!(to_fix(&world, &[], &[]), [off(&source)]);
    let ran = world.run(&["run", "--", "echo ran"]);
    assert_eq!(ran.stdout, "ran\n");
    assert!(
        ran.stderr.starts_with(
            "warning: the sandbox is switched off; the command can do what you can do\n"
        ),
        "{}",
        ran.stderr
    );
}

/// Proves: P79.
#[test]
fn directories_of_the_path_that_commands_do_not_see_are_named() {
    let world = World::new();
    let program = world.home.write("tools/bin/mine", "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let directory = program.parent().unwrap().display();
    let path = format!("{directory}:/usr/bin:/bin");
    let hidden = |words: &[&str]| {
        let notes = notes(&world, words, &[("PATH", &path)]);
        let of_view = notes.into_iter().filter(|it| it.starts_with("view: "));
        of_view.collect::<Vec<_>>()
    };
    let expected = format!(
        "view: commands do not see {directory} of your PATH, which has 1 programs → --sandbox-read {directory}, or sandbox-read = [\"{directory}\"] in ahma.toml"
    );
    assert_eq!(hidden(&["--user-path", "off"]), [expected]);
    assert_eq!(hidden(&[]), Vec::<String>::new());
}

/// Proves: P79.
#[test]
fn a_key_in_the_project_is_named() {
    let world = World::new();
    let state = world.home.path().join("state/ahma_mcp");
    let file = ahma_contract::token_file(&state, world.project.path());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "0123456789abcdef0123\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(to_fix(&world, &[], &[]), Vec::<String>::new());
    let url = "http://127.0.0.1:4242/mcp?key=0123456789abcdef0123";
    world.project.write(
        ".mcp.json",
        format!("{{ \"mcpServers\": {{ \"a\": {{ \"url\": \"{url}\" }} }} }}"),
    );
    let found = to_fix(&world, &[], &[]);
    let file = world.project.path().join(".mcp.json");
    let expected = format!(
        "keys: {} holds the key of this project's server",
        file.display()
    );
    assert!(
        found.iter().any(|it| it.starts_with(&expected)),
        "{found:?}"
    );
}

/// Proves: P74.
#[test]
fn profiles_are_shown_as_they_can_be_copied() {
    let world = World::new();
    let finished = world.run(&["doctor", "--profiles"]);
    assert_eq!(finished.code, 0);
    world
        .home
        .write("config/ahma_mcp/ahma.toml", &finished.stdout);
    assert_eq!(to_fix(&world, &[], &[]), Vec::<String>::new());
}

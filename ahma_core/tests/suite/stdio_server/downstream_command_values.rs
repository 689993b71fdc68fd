//! Settings of other servers whose values command lines print.

use std::fs;
use std::path::Path;

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, unique_mark, until};
use serde_json::{Value, json};

use super::AHMA_MCP;
use super::behind::{Behind, entry, info, names};

/// An entry of a server with a variable of this value.
fn with(value: &str) -> Value {
    let mut up = entry(&[]);
    up["env"] = json!({ "KEY": value });
    up
}

/// What the server has in the variable.
fn key(client: &mut McpProcess, server: &str) -> String {
    let name = json!({ "name": "KEY" });
    client.call(&format!("{server}_env"), &name).text
}

/// Proves: C53.
#[test]
fn what_a_command_prints_is_a_value_and_told_to_nobody() {
    let behind = Behind::new(&json!({}));
    let script = behind.place.write(
        "give",
        "#!/bin/sh\nprintf '  s3ntinel-%s  \\nsecond line\\n' \"$1\"\necho s3ntinel-noise >&2\npwd > where\nenv > variables\n",
    );
    behind.place.make_executable("give");
    let script = script.to_str().unwrap();
    let words = with(&format!("Bearer ${{command:{script} 'two  words'}}!"));
    let mut confined = with(&format!("${{command:{script} $HOME;x}}"));
    confined["sandbox"] = json!(true);
    let server = confined["args"][0].as_str().unwrap();
    let readable = behind.project.path().join("server.py");
    fs::copy(server, &readable).unwrap();
    confined["args"] = json!([readable]);
    behind.name(&json!({ "up": words, "confined": confined }));
    let further = ["--debug", "--log-to-stderr"];
    let secret = [("AHMA_HTTP_TOKEN", "0123456789abcdef0123456789abcdef")];
    let mut client = behind.start_with(&further, &secret);
    // Before anybody asks a server for what it has: answers are in the log of `--debug`.
    names(&mut client);
    let log = client.stderr();
    assert!(log.contains("upstream is here"), "it is a log: {log}");
    assert!(!log.contains("s3ntinel"), "{log}");
    assert_eq!(key(&mut client, "up"), "Bearer s3ntinel-two  words!");
    // No shell has looked at it.
    assert_eq!(key(&mut client, "confined"), "s3ntinel-$HOME;x");
    let told = json!(info(&mut client)).to_string();
    assert!(!told.contains("s3ntinel"), "{told}");
    // Where commands cannot write, and without a key of ours.
    let place = behind.place.path().canonicalize().unwrap();
    let worked = fs::read_to_string(place.join("where")).unwrap();
    assert_eq!(Path::new(worked.trim()), place);
    let variables = fs::read_to_string(place.join("variables")).unwrap();
    assert!(variables.contains("PATH="), "{variables}");
    assert!(!variables.contains("AHMA_"), "{variables}");
}

/// Proves: C53.
#[test]
fn a_command_without_a_value_stops_its_server_and_shows_nothing_that_it_said() {
    let behind = Behind::new(&json!({}));
    let file = |name: &str, text: &str| {
        let path = behind.place.write(name, format!("#!/bin/sh\n{text}\n"));
        behind.place.make_executable(name);
        format!("${{command:{} s3ntinel}}", path.display())
    };
    let mark = unique_mark();
    let long = "head -c 70000 /dev/zero | tr '\\0' x";
    let cases = [
        (
            "fails",
            "echo s3ntinel; echo s3ntinel >&2; exit 3",
            "it ended with exit code 3",
        ),
        ("empty", "echo; echo s3ntinel", "its first line is empty"),
        ("long", long, "its first line has more than 64 KiB"),
        ("binary", "printf '\\377'", "its first line is not UTF-8"),
        (
            "slow",
            &format!("echo s3ntinel; exec sleep 600 {mark}"),
            "it did not end within 10 s",
        ),
    ];
    let mut servers = serde_json::Map::new();
    for (name, text, _) in cases {
        servers.insert(name.to_owned(), with(&file(name, text)));
    }
    let missing = with("${command:no-such-program-at-all x}");
    servers.insert("missing".to_owned(), missing);
    servers.insert("good".to_owned(), with(&file("good", "echo right")));
    behind.name(&json!(servers));
    let mut client = behind.start();
    names(&mut client);
    assert_eq!(key(&mut client, "good"), "right");
    let whys = cases.map(|(name, _, why)| (name, why));
    for (name, why) in whys
        .iter()
        .chain([&("missing", "there is no such program")])
    {
        let mut told = Value::Null;
        until(|| {
            let all = info(&mut client);
            told = all.into_iter().find(|it| it["name"] == *name).unwrap();
            told["status"] == "error"
        });
        let error = told["error"].as_str().unwrap();
        assert!(
            error.starts_with("KEY: there is no value for `${command:"),
            "{error}"
        );
        assert!(error.ends_with(why), "{error}");
        assert!(!told.to_string().contains("s3ntinel"), "{told}");
    }
    until(|| ahma_tests::marked(&mark) == 0);
}

/// Proves: C53.
#[test]
fn a_file_that_commands_can_write_runs_no_command_for_a_value() {
    let outside = Workspace::new();
    let ran = outside.path().join("ran");
    let value = format!("${{command:touch {}}}", ran.display());
    let project = Workspace::new();
    let servers = json!({ "servers": { "up": with(&value) } });
    project.write("mcp.json", servers.to_string());
    let scope = project.path().to_str().unwrap();
    let arguments = ["--sandbox-scope", scope, "--mcp-config", "mcp.json"];
    let mut client = McpProcess::connect(AHMA_MCP, &arguments, project.path(), &[]);
    names(&mut client);
    let told = info(&mut client);
    let error = told[0]["error"].as_str().unwrap();
    assert!(error.contains("commands can write the file"), "{error}");
    assert!(!ran.exists());
    // The same entry in a file that they cannot write.
    let behind = Behind::new(&json!({ "up": with(&value) }));
    names(&mut behind.start());
    assert!(ran.exists());
}

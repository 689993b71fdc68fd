//! What an `mcp.json` becomes: the servers it names, and what is left of it when a part is wrong.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ahma_core::config::downstream::{
    DownstreamConfig, MissingReference, PORT_PLACEHOLDER, Program, Reference, Secret, SecretSource,
    ServerSpec, StartMode, ToolRules, TransportSpec, load, mcp_config_schema,
};
use ahma_core::config::files::{SourceFile, read_file};
use ahma_tests::{fixtures, stem};
use serde_json::Value;

fn load_text(text: &str) -> DownstreamConfig {
    let source = SourceFile {
        path: "/etc/ahma/mcp.json".into(),
        content: Ok(text.as_bytes().to_vec()),
    };
    load(source, Some(Path::new("/home/me")))
}

/// The servers of a text that must be accepted.
fn servers(text: &str) -> Vec<ServerSpec> {
    let config = load_text(text);
    assert!(config.faults.is_empty(), "{:#?}", config.faults);
    config.servers
}

fn names(config: &DownstreamConfig) -> Vec<&str> {
    config.servers.iter().map(|it| it.name.as_str()).collect()
}

fn program(spec: &ServerSpec) -> &Program {
    match &spec.transport {
        TransportSpec::Stdio(program) | TransportSpec::Managed(program) => program,
        TransportSpec::Http { .. } => panic!("{} is no program", spec.name),
    }
}

/// Proves: C3.
/// Scenario: 002/2.2.
#[test]
fn an_entry_of_two_words_has_the_defaults() {
    let specs = servers(r#"{ "servers": { "demo": { "command": "run" } } }"#);
    let expected = ServerSpec {
        name: "demo".to_owned(),
        transport: TransportSpec::Stdio(Program {
            command: "run".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        }),
        start: StartMode::Lazy,
        idle: Some(Duration::from_secs(15 * 60)),
        prefix: "demo".to_owned(),
        tools: ToolRules::default(),
        pin: true,
        timeout: Duration::from_secs(30),
        sandbox: false,
        network: None,
        per_session: false,
        protocol_version: None,
    };
    assert_eq!(specs, [expected]);
}

/// The snapshots are `Debug` texts: they show every field, and of secrets the references only.
/// Scenario: 002/2.1.
#[test]
fn good_fixtures_are_read_as_their_snapshots_say() {
    for fixture in fixtures("mcp-config-good") {
        let mut source = read_file(fixture.clone());
        source.path = "/etc/ahma/mcp.json".into();
        let config = load(source, None);
        assert!(config.faults.is_empty(), "{:#?}", config.faults);
        let shown = format!("{:#?}\n{:?}", config.servers, config.disabled);
        assert!(!shown.contains("s3cr3t"), "{shown}");
        insta::assert_snapshot!(stem(&fixture), shown);
    }
}

/// Scenario: 002/2.5.
#[test]
fn paths_are_relative_to_the_file_and_a_tilde_is_the_home_directory() {
    let specs = servers(
        r#"{ "servers": {
            "a": { "command": "./a", "cwd": "work/a" },
            "b": { "command": "~/bin/b", "cwd": "~" },
            "c": { "command": "c", "cwd": "/srv", "env": { "K": "${file:~/key}", "L": "${file:key}" } }
        } }"#,
    );
    let places: Vec<(&str, &Path)> = specs
        .iter()
        .map(program)
        .map(|it| (it.command.as_str(), it.cwd.as_deref().unwrap()))
        .collect();
    let expected = [
        ("./a", Path::new("/etc/ahma/work/a")),
        ("/home/me/bin/b", Path::new("/home/me")),
        ("c", Path::new("/srv")),
    ];
    assert_eq!(places, expected);
    let env = &program(&specs[2]).env;
    let files: Vec<&Reference> = env.values().flat_map(Secret::references).collect();
    let expected = ["/home/me/key", "/etc/ahma/key"].map(|it| Reference::File(it.into()));
    assert_eq!(files, expected.iter().collect::<Vec<_>>());
}

#[test]
fn without_a_home_directory_a_tilde_is_a_fault() {
    let text = r#"{ "servers": { "a": { "command": "~/a", "cwd": "~/b", "env": { "K": "${file:~/c}" } } } }"#;
    let source = SourceFile {
        path: "mcp.json".into(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let config = load(source, None);
    let pointers: Vec<&str> = config.faults.iter().map(|it| it.pointer.as_str()).collect();
    let expected = ["/servers/a/command", "/servers/a/cwd", "/servers/a/env/K"];
    assert_eq!(pointers, expected);
}

#[test]
fn a_faulty_entry_does_not_keep_another_from_working() {
    let config = load_text(
        r#"{ "servers": {
            "a": { "command": "a" },
            "b": { "comand": "b" },
            "c": { "command": "c", "env": { "X": "1", "X": "2" } },
            "d": { "command": "d" },
            "e": { "command": "e", "prefix": "f" },
            "f": { "command": "f" },
            "g": { "command": "g", "odd": 1 }
        } }"#,
    );
    assert_eq!(names(&config), ["a", "d"]);
    assert_eq!(config.faults.len(), 4, "{:#?}", config.faults);
}

#[test]
fn more_faults_than_are_listed_do_not_let_a_faulty_entry_pass() {
    let unknown: Vec<String> = (0..150).map(|it| format!("\"q{it}\": 1")).collect();
    let text = format!(
        r#"{{ "servers": {{ "a": {{ "command": "a", {} }}, "b": {{ "comand": "b" }}, "c": {{ "command": "c" }} }} }}"#,
        unknown.join(", ")
    );
    let config = load_text(&text);
    assert_eq!(names(&config), ["c"]);
    let last = config.faults.last().unwrap();
    assert_eq!(last.message, "51 more faults in this file are not listed");
}

#[test]
fn a_broken_file_gives_no_servers() {
    let config = load_text(r#"{ "servers": { "a": { "command": "a" }, "b": "#);
    assert_eq!((names(&config).len(), config.faults.len()), (0, 1));
}

#[test]
fn a_disabled_server_takes_no_name_and_no_prefix() {
    let config = load_text(
        r#"{
            "servers": { "a": { "command": "a" }, "b": { "disabled": true, "prefix": "a", "odd": 1 } },
            "mcpServers": { "b": { "command": "b", "disabled": false } }
        }"#,
    );
    assert!(config.faults.is_empty(), "{:#?}", config.faults);
    assert_eq!(names(&config), ["a", "b"]);
    assert_eq!(config.disabled, ["b"]);
}

/// Values for references, as a test has them.
struct Source;

impl SecretSource for Source {
    fn env(&self, name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t0k3n${env:TOKEN}".to_owned())
    }

    fn file(&self, path: &Path) -> Option<String> {
        (path == Path::new("/etc/ahma/key")).then(|| "k3y\n\r\n".to_owned())
    }

    fn command(&self, line: &str) -> Option<String> {
        (line == "pass show {a}").then(|| "p4ss\n".to_owned())
    }

    fn port(&self) -> Option<u16> {
        Some(50_000)
    }
}

fn resolve(value: &str) -> Result<String, MissingReference> {
    let text = serde_json::json!({ "servers": { "a": {
        "type": "managed_http", "command": "a", "args": [PORT_PLACEHOLDER], "env": { "K": value }
    } } });
    let specs = servers(&text.to_string());
    program(&specs[0]).env["K"].resolve(&Source)
}

#[test]
fn references_are_filled_in_where_they_stand() {
    for (written, value) in [
        ("plain", "plain"),
        ("", ""),
        ("Bearer ${env:TOKEN}!", "Bearer t0k3n${env:TOKEN}!"),
        ("${file:key}", "k3y\n"),
        (
            "${command:pass show {a}}${env:TOKEN}",
            "p4sst0k3n${env:TOKEN}",
        ),
        ("127.0.0.1:${PORT}", "127.0.0.1:50000"),
        ("$${env:TOKEN} costs $5", "${env:TOKEN} costs $5"),
        ("$", "$"),
    ] {
        assert_eq!(resolve(written).as_deref(), Ok(value), "{written}");
    }
}

#[test]
fn a_missing_reference_names_itself_and_no_value() {
    for (written, message) in [
        ("s3cr3t ${env:NO}", "there is no value for `${env:NO}`"),
        (
            "${env:TOKEN}${file:/no/key}",
            "there is no value for `${file:/no/key}`",
        ),
        (
            "${command:curl -H s3cr3t}",
            "there is no value for `${command:curl …}`",
        ),
    ] {
        assert_eq!(resolve(written).unwrap_err().to_string(), message);
    }
}

/// Broken fixtures that the schema accepts: rules that are beyond a schema, or would need conditional ones.
#[rustfmt::skip]
const LEFT_TO_THE_LOADER: [&str; 48] = [
    // A schema sees parsed values, not repeated keys.
    "duplicate-key-in-env", "same-name-twice",
    // Several entries together.
    "prefix-is-the-name-of-another", "same-name-in-both-lists", "same-prefix",
    // Content of texts and names.
    "client-secret-with-a-port", "command-line-as-command", "cwd-with-a-reference", "empty-command", "env-with-a-bad-name", "header-of-the-transport",
    "header-with-a-bad-name", "header-with-a-line-break", "header-with-a-port", "nul-in-args", "oauth-issuer-with-a-password", "oauth-misspelt",
    "port-in-a-command", "reference-in-args", "reference-not-closed", "reference-of-a-misspelt-kind",
    "reference-of-an-unknown-kind", "reference-to-a-pipeline", "reference-to-nothing",
    "reference-with-an-open-quote", "reference-without-a-kind", "tools-described-by-nothing",
    "tools-renamed-badly", "url-with-a-blank", "url-with-a-password", "url-with-a-port-reference", "url-without-a-host",
    // One field depends on another.
    "command-and-url", "env-of-a-url", "headers-of-a-program", "managed-with-a-broken-port", "managed-without-a-port", "network-without-the-sandbox",
    "oauth-and-atlassian", "oauth-secret-without-a-client", "port-in-env-of-a-stdio-server", "port-of-a-stdio-server", "same-header-in-two-cases",
    "sandbox-of-a-url", "tools-allowed-and-denied", "tools-annotated-carelessly", "tools-renamed-alike", "url-of-a-program",
];

#[test]
fn the_schema_and_the_loader_agree() {
    let validator = jsonschema::draft202012::new(&mcp_config_schema()).unwrap();
    for fixture in fixtures("mcp-config-good") {
        let document: Value = serde_json::from_slice(&std::fs::read(&fixture).unwrap()).unwrap();
        let name = stem(&fixture);
        assert!(validator.is_valid(&document), "the schema rejects {name}");
    }
    let mut accepted = Vec::new();
    for fixture in fixtures("mcp-config-broken") {
        let document: Result<Value, _> = serde_json::from_slice(&std::fs::read(&fixture).unwrap());
        if document.is_ok_and(|document| validator.is_valid(&document)) {
            accepted.push(stem(&fixture));
        }
    }
    let mut expected = LEFT_TO_THE_LOADER.to_vec();
    expected.sort_unstable();
    assert_eq!(accepted, expected);
}

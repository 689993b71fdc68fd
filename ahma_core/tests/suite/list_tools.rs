//! `ahma_mcp --mode list-tools`, run as a program.

use ahma_tests::Workspace;
use serde_json::Value;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");

const ECHO: &str = r#"{ "name": "say", "description": "Says.", "command": "echo",
                        "positional_args": [{ "name": "what", "type": "string" }] }"#;

/// The tools of files.
fn declared(document: &Value) -> Vec<&Value> {
    let tools = document["tools"].as_array().unwrap().iter();
    tools.filter(|tool| tool["source"] != "(server)").collect()
}

fn names(document: &Value) -> Vec<&str> {
    let tools = declared(document).into_iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_built_in_tools_are_listed_too() {
    let workspace = Workspace::new();
    let listed = |arguments: &[&str]| {
        let all = [&["--mode", "list-tools"], arguments].concat();
        let finished = workspace.run(AHMA_MCP, &all);
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        document["tools"].as_array().unwrap().clone()
    };
    let tools = listed(&[]);
    assert_eq!(tools[0]["name"], "sandboxed_shell");
    assert_eq!(tools[0]["source"], "(server)");
    assert!(tools.iter().any(|tool| tool["name"] == "read_output"));
    let tools = listed(&["--no-shell"]);
    assert!(tools.iter().all(|tool| tool["name"] != "sandboxed_shell"));
}

/// Proves: P12.
#[test]
fn help_shows_an_example_and_version_that_of_the_package() {
    let workspace = Workspace::new();
    let help = workspace.run(AHMA_MCP, &["--help"]);
    assert_eq!(help.code, 0);
    assert!(
        help.stdout.contains("ahma_mcp --mode list-tools"),
        "{}",
        help.stdout
    );
    let version = workspace.run(AHMA_MCP, &["--version"]);
    assert_eq!(
        version.stdout,
        concat!("ahma_mcp ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

/// Proves: P2, T1.
#[test]
fn every_tool_is_listed_with_its_description_parameters_and_source() {
    let workspace = Workspace::new();
    workspace.write(".ahma/tools/say.json", ECHO);
    let finished = workspace.run(AHMA_MCP, &["--mode", "list-tools"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let tool = declared(&document)[0];
    assert_eq!(tool["name"], "say");
    assert!(tool["description"].as_str().unwrap().starts_with("Says."));
    assert_eq!(tool["inputSchema"]["properties"]["what"]["type"], "string");
    assert_eq!(
        tool["source"],
        workspace
            .path()
            .join(".ahma/tools/say.json")
            .to_str()
            .unwrap()
    );
}

#[test]
fn a_rejected_file_is_explained_on_stderr_and_the_rest_is_listed() {
    let workspace = Workspace::new();
    workspace.write("t/say.json", ECHO);
    workspace.write("t/bad.json", ECHO.replace("Says.", ""));
    let finished = workspace.run(
        AHMA_MCP,
        &[
            "--mode",
            "list-tools",
            "--no-shipped-tools",
            "--tools-dir",
            "t",
        ],
    );
    assert_eq!(finished.code, 0);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(names(&document), ["say"]);
    let place = workspace.path().join("t/bad.json");
    let said = format!("{}:1:33: the text is empty\n", place.display());
    assert!(finished.stderr.starts_with(&said), "{}", finished.stderr);
}

/// Proves: T47.
#[test]
fn tools_chooses_what_is_listed_and_the_rest_is_marked() {
    let workspace = Workspace::new();
    workspace.write("Makefile", "");
    let listed = |words: &str| {
        let finished = workspace.run(AHMA_MCP, &["--mode", "list-tools", "--tools", words]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        let listed = declared(&document).into_iter();
        let listed = listed.filter(|it| it["listed"] != false && it["available"] != false);
        let names = listed.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(listed("none"), Vec::<String>::new());
    assert_eq!(listed("git_init,git_clone"), ["git_clone", "git_init"]);
    assert_eq!(listed("git,-git_clone"), ["git_init"]);
    let wrong = workspace.run(AHMA_MCP, &["--mode", "list-tools", "--tools", "git,carg"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("did you mean `cargo`?"),
        "{}",
        wrong.stderr
    );
}

/// Proves: P21, T37.
#[test]
fn without_a_tools_directory_the_tools_of_the_program_are_listed() {
    let finished = Workspace::new().run(AHMA_MCP, &["--mode", "list-tools"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert!(names(&document).contains(&"git_clone"));
    let source = declared(&document)[0]["source"].as_str().unwrap();
    assert!(source.starts_with("(built in)/"), "{source}");
}

/// Proves: D4.
#[test]
fn the_mode_can_be_called_transport() {
    let workspace = Workspace::new();
    let [mode, transport] =
        ["--mode", "--transport"].map(|flag| workspace.run(AHMA_MCP, &[flag, "list-tools"]).stdout);
    assert!(mode.starts_with('{'));
    assert_eq!(mode, transport);
}

/// Proves: P21.
#[test]
fn the_tools_directory_comes_from_the_flag_before_the_variable() {
    let workspace = Workspace::new();
    for directory in ["flag", "variable", "other"] {
        let tool = ECHO.replace("\"say\"", &format!("\"{directory}\""));
        workspace.write(&format!("{directory}/say.json"), tool);
    }
    let listed = |arguments: &[&str], value: &str| {
        let own = ["--mode", "list-tools", "--no-shipped-tools"];
        let all = [&own[..], arguments].concat();
        let finished = workspace.run_with(AHMA_MCP, &all, &[("AHMA_TOOLS_DIR", value)]);
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        let names = names(&document).into_iter();
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--tools-dir", "flag"], "variable"), ["flag"]);
    assert_eq!(listed(&[], "variable"), ["variable"]);
    assert_eq!(listed(&[], "variable:other"), ["other", "variable"]);
    assert_eq!(listed(&[], ""), Vec::<String>::new());
}

#[test]
fn an_unknown_mode_is_bad_usage() {
    assert_eq!(
        Workspace::new()
            .run(AHMA_MCP, &["--mode", "telepathy"])
            .code,
        2
    );
}

#[test]
fn a_tool_file_that_does_not_exist_is_bad_usage() {
    let workspace = Workspace::new();
    workspace.write("t/say.json", ECHO);
    let args = [
        "--mode",
        "list-tools",
        "--no-shipped-tools",
        "--tools-dir",
        "t",
        "--tools",
        "say,nosuch",
    ];
    let finished = workspace.run(AHMA_MCP, &args);
    assert_eq!(finished.code, 2);
    assert_eq!(
        finished.stderr,
        "error: there is no tool file and no tool `nosuch`; tool files: say\n"
    );
}

/// Proves: T34.
#[test]
fn a_tool_for_another_kind_of_project_is_not_listed() {
    let workspace = Workspace::new();
    let rust_only = ECHO.replacen('{', r#"{ "only_if": ["Cargo.toml", "rust/Cargo.toml"],"#, 1);
    workspace.write("t/say.json", rust_only);
    let list = || {
        let finished = workspace.run(
            AHMA_MCP,
            &[
                "--mode",
                "list-tools",
                "--no-shipped-tools",
                "--tools-dir",
                "t",
            ],
        );
        serde_json::from_str::<Value>(&finished.stdout).unwrap()
    };
    assert_eq!(names(&list()), Vec::<&str>::new());
    workspace.write("rust/Cargo.toml", "");
    assert_eq!(names(&list()), ["say"]);
}

#[test]
fn the_tools_of_the_scope_are_listed() {
    let workspace = Workspace::new();
    workspace.write("project/.ahma/tools/say.json", ECHO);
    let arguments = [
        "--mode",
        "list-tools",
        "--no-shipped-tools",
        "--sandbox-scope",
        "project",
    ];
    let finished = workspace.run(AHMA_MCP, &arguments);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(names(&document), ["say"]);
    let synchronous = workspace.run(AHMA_MCP, &[&arguments[..], &["--sync"]].concat());
    assert!(finished.stdout.contains("background"));
    assert!(!synchronous.stdout.contains("Runs in the background"));
}

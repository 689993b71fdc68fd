//! The three example projects: their tools, prompts, resources and settings answer what their READMEs say, and the commands
//! there work as they stand. That their files are without warnings is looked at in the tests of `ahma_validate`.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use ahma_tests::{Finished, Workspace, repository};
use serde_json::{Value, json};

use super::cookbook::Recipe;
use super::{AHMA_MCP, Served};

/// A copy of a project, without what somebody has built in it.
pub(super) fn project(name: &str) -> (Recipe, Workspace) {
    let copy = Workspace::new();
    let from = repository().join("examples").join(name);
    let entries = fs::read_dir(&from).unwrap().map(|it| it.unwrap().path());
    let built = ["target", "node_modules"];
    for entry in entries.filter(|it| !built.iter().any(|name| it.ends_with(name))) {
        let copied = copy.run("cp", &["-R", entry.to_str().unwrap(), "."]);
        assert_eq!(copied.code, 0, "{copied:?}");
    }
    let readme = fs::read_to_string(from.join("README.md")).unwrap();
    assert!(readme.lines().count() <= 25, "{name}");
    (Recipe::of(&readme), copy)
}

/// Runs the commands of the README that are ours; the only other one is `ahma_validate`.
pub(super) fn tried(project: &Workspace) -> Vec<Finished> {
    let readme = fs::read_to_string(project.path().join("README.md")).unwrap();
    let block = readme.split("```sh\n").nth(1).unwrap();
    let block = block.split("```\n").next().unwrap();
    let commands = block.lines().map(|it| it.split('#').next().unwrap().trim());
    let (ours, others): (Vec<&str>, Vec<&str>) =
        commands.partition(|it| it.starts_with("ahma_mcp "));
    assert_eq!(others, ["ahma_validate"]);
    assert_eq!(ours.len(), 2);
    let programs = Path::new(AHMA_MCP).parent().unwrap().to_str().unwrap();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let own = Workspace::new();
    let own = own.path().to_str().unwrap();
    let variables = [
        ("PATH", path.as_str()),
        ("XDG_CACHE_HOME", own),
        ("XDG_STATE_HOME", own),
        ("XDG_CONFIG_HOME", own),
    ];
    let run = |it: &&str| project.run_with("sh", &["-c", it], &variables);
    let all: Vec<Finished> = ours.iter().map(run).collect();
    for (command, finished) in ours.iter().zip(&all) {
        assert_eq!(finished.code, 0, "{command}: {finished:?}");
    }
    all
}

/// The tools that `--mode list-tools` prints of the files of the project.
fn listed(finished: &Finished) -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let tools = document["tools"].as_array().unwrap().iter();
    let own = tools.filter(|it| it["source"].as_str().unwrap().contains("/.ahma/tools/"));
    own.map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The tools that a client sees first.
fn names(served: &mut Served) -> BTreeSet<String> {
    let listed = served.client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The settings that the file of the project makes, by their names.
fn settings_of_the_project(served: &mut Served) -> Value {
    let told = served.client.call("get_server_info", &json!({})).structured;
    let file = served.project.path().join(".ahma/ahma.toml");
    let file = file.display().to_string();
    let all = told["settings"].as_array().unwrap().iter();
    let own = all.filter(|it| it["source"].as_str().unwrap().starts_with(&file));
    let entry = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["value"].clone());
    Value::Object(own.map(entry).collect())
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// Proves: P84.
#[test]
fn the_rust_project_does_what_its_readme_says() {
    let (readme, project) = project("rust_project");
    let ran = tried(&project);
    assert!(ran[0].stdout.contains("3 passed; 0 failed"), "{ran:?}");
    assert_eq!(listed(&ran[1]), set(["package", "tests"]));

    let mut served = Served::of(project, &[]);
    readme.says("commands have no network, and 240 seconds at most");
    let expected = json!({ "network": "off", "timeout": "240" });
    assert_eq!(settings_of_the_project(&mut served), expected);
    assert!(names(&mut served).is_superset(&set(["package", "tests"])));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    assert!(served.sync(&connect).is_error);
    let connected = Served::new().sync(&connect);
    assert!(connected.text.starts_with("connected\n"), "{connected:?}");

    readme.says("`{}` runs three tests, `{\"name\": \"centuries\"}` one of them");
    let all = served.client.call("tests", &json!({}));
    assert!(
        all.text
            .contains("3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"),
        "{all:?}"
    );
    let one = served
        .client
        .call("tests", &readme.shows(r#"{"name": "centuries"}"#));
    assert!(
        one.text
            .contains("1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out"),
        "{one:?}"
    );

    readme.says("its exit code 101 is one of the `success_exit_codes`");
    let library = served.project.path().join("src/lib.rs");
    let right = fs::read_to_string(&library).unwrap();
    let wrong = right.replace("year.is_multiple_of(400)", "false");
    assert!(right != wrong);
    fs::write(&library, wrong).unwrap();
    let failing = served.client.call("tests", &json!({}));
    assert!(!failing.is_error, "{failing:?}");
    assert_eq!(failing.record["exit_code"], 101);
    assert!(failing.text.contains("2 passed; 1 failed"), "{failing:?}");

    readme.says("`{}` answers with JSON, whose shape clients know beforehand");
    let told = served.client.call("package", &json!({}));
    assert_eq!(
        told.structured["packages"][0]["name"], "calendar",
        "{told:?}"
    );
    assert_eq!(told.structured["packages"][0]["version"], "0.1.0");

    readme.says("a prompt that asks for a year and brings the source file along");
    let params = json!({ "name": "new_case", "arguments": { "year": "1752" } });
    let got = served.client.request("prompts/get", &params)["result"].clone();
    let asked =
        "Add a test for the year 1752 to src/lib.rs, run `tests`, and say what you have found.";
    assert_eq!(got["messages"][0]["content"]["text"], asked);
    let brought = &got["messages"][1]["content"]["resource"]["text"];
    assert!(
        brought.as_str().unwrap().contains("pub fn is_leap"),
        "{got}"
    );
}

/// Proves: P84.
#[test]
fn the_python_project_does_what_its_readme_says() {
    let (readme, project) = project("python_project");
    let ran = tried(&project);
    assert!(ran[0].stderr.contains("Ran 2 tests"), "{ran:?}");
    assert_eq!(listed(&ran[1]), set(["docstrings", "tests"]));
    assert!(!ran[1].stdout.contains("(built in)"), "{ran:?}");
    let mut served = Served::of(project, &[]);
    readme.says("commands have no network, and 60 seconds at most; there is no shell, and of tool files only those above");
    let expected = json!({ "network": "off", "timeout": "60", "no-shell": "true", "no-shipped-tools": "true" });
    assert_eq!(settings_of_the_project(&mut served), expected);
    let there = names(&mut served);
    assert!(there.is_superset(&set(["docstrings", "tests"])));
    assert!(!there.contains("sandboxed_shell"));

    let missing = readme.says("recipes/amounts.py:11: shown has no docstring");
    readme.says("tells of each file while it works");
    let params = json!({ "name": "docstrings", "arguments": {}, "_meta": { "progressToken": 1 } });
    let result = served.client.request("tools/call", &params)["result"].clone();
    assert_eq!(result["content"][0]["text"], missing, "{result}");
    let one = json!({ "file": "recipes/amounts.py", "line": 11, "name": "shown" });
    assert_eq!(
        result["structuredContent"],
        json!({ "files": 2, "missing": [one] })
    );
    for file in ["recipes/__init__.py", "recipes/amounts.py"] {
        let told = served.client.notification("notifications/progress");
        assert_eq!(told["params"]["message"], file);
    }

    readme.says(
        "`{}` runs two tests, `{\"only\": \"guests\"}` one of them, without writing anything",
    );
    for (arguments, ran) in [
        (json!({}), "Ran 2 tests"),
        (readme.shows(r#"{"only": "guests"}"#), "Ran 1 test in"),
    ] {
        let result = served.client.call("tests", &arguments);
        assert!(result.text.contains(ran), "{result:?}");
        assert!(!result.is_error, "{result:?}");
    }
    let write = "import pathlib, unittest\npathlib.Path('made').touch()\n";
    served.project.write("tests/test_writing.py", write);
    let result = served.client.call("tests", &json!({}));
    assert!(result.text.contains("made"), "{result:?}");
    assert!(!served.project.path().join("made").exists());

    let uri = json!({ "uri": readme.says("docs://style") });
    let got = served.client.request("resources/read", &uri)["result"].clone();
    let style = fs::read_to_string(served.project.path().join("STYLE.md")).unwrap();
    assert_eq!(got["contents"][0]["text"], style);
}

/// For a test that runs only where Node.js is.
pub(super) fn the_node_project_does_what_its_readme_says() {
    let (readme, project) = project("node_project");
    let ran = tried(&project);
    assert!(ran[0].stdout.contains("pass 3"), "{ran:?}");
    assert_eq!(listed(&ran[1]), set(["script", "slug"]));
    let mut served = Served::of(project, &[]);
    readme.says("commands have no network, and 60 seconds at most");
    let settings = settings_of_the_project(&mut served);
    assert_eq!(settings["network"], "off");
    assert_eq!(settings["timeout"], "60");
    assert!(names(&mut served).is_superset(&set(["script", "slug"])));

    readme.says("runs three tests");
    for (name, answer) in [("test", "pass 3"), ("check", "the syntax is right")] {
        let arguments = readme.shows(&format!("{{\"name\": \"{name}\"}}"));
        let result = served.client.call("script", &arguments);
        assert!(!result.is_error, "{result:?}");
        assert!(result.text.contains(answer), "{result:?}");
    }
    readme.says("There is no other `name`");
    let other = served.client.call("script", &json!({ "name": "publish" }));
    assert!(other.is_error, "{other:?}");
    assert!(other.record.is_null(), "nothing has run: {other:?}");

    let titles = readme.shows(r#"{"titles": "Crème brûlée", "separator": "_"}"#);
    let result = served.client.call("slug", &titles);
    let first = result.text.lines().next().unwrap();
    assert_eq!(first, readme.says("creme_brulee"));
    let titles = json!({ "titles": "--version\nTwo words" });
    let result = served.client.call("slug", &titles);
    assert!(
        result.text.starts_with("version\ntwo-words\n"),
        "{result:?}"
    );

    readme.says("they may write here, but not package.json");
    let package = served.project.path().join("package.json");
    let before = fs::read_to_string(&package).unwrap();
    let written = served.sync("touch here && echo {} > package.json");
    assert!(written.is_error, "{written:?}");
    assert!(served.project.path().join("here").exists());
    assert_eq!(fs::read_to_string(&package).unwrap(), before);
}

/// Proves: P84.
#[test]
fn the_list_of_examples_has_each_of_them_and_no_other() {
    let examples = repository().join("examples");
    let text = fs::read_to_string(examples.join("README.md")).unwrap();
    let linked = text.split("](").skip(1);
    let linked: BTreeSet<&str> = linked.map(|it| it.split(')').next().unwrap()).collect();
    let there = fs::read_dir(&examples).unwrap();
    let there = there.map(|it| it.unwrap().file_name().into_string().unwrap());
    let target = |name: String| match name.as_str() {
        "cookbook" => "../docs/cookbook.md".to_owned(),
        _ => format!("{name}/README.md"),
    };
    let mut expected: BTreeSet<String> = there.filter(|it| it != "README.md").map(target).collect();
    expected.insert("../ahma_core/examples/embedded.rs".to_owned());
    assert_eq!(linked, expected.iter().map(String::as_str).collect());
    for target in linked {
        assert!(examples.join(target).is_file(), "{target}");
    }
}

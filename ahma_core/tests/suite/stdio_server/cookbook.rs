//! The tools of the cookbook: whole in its text, without a fault, and answering what the text says.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;

use ahma_core::config::files::SourceFile;
use ahma_core::config::load;
use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, processes_marked, repository, until};
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::Served;
use super::scripted::texts;

const EXAMPLES: &str = "examples/cookbook";

/// What the cookbook says of a tool, or another text of an example.
pub(super) struct Recipe(String);

impl Recipe {
    /// A text, however its lines are broken.
    pub(super) fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        Recipe(words.join(" "))
    }

    /// These words, which stand in the text.
    pub(super) fn says<'t>(&self, words: &'t str) -> &'t str {
        let is_said = self.0.contains(words);
        assert!(is_said, "the text does not say: {words}");
        words
    }

    /// The JSON that these words are.
    pub(super) fn shows(&self, words: &str) -> Value {
        serde_json::from_str(self.says(words)).unwrap()
    }
}

/// What the cookbook says of a tool, and a copy of its directory.
pub(super) fn recipe(name: &str) -> (Recipe, Workspace) {
    let (_, text) = sections().into_iter().find(|(it, _)| it == name).unwrap();
    let project = Workspace::new();
    let from = repository().join(EXAMPLES).join(name).join(".");
    let copied = project.run("cp", &["-R", from.to_str().unwrap(), "."]);
    assert_eq!(copied.code, 0, "{copied:?}");
    (Recipe::of(&text), project)
}

/// A server for a copy of the directory of a tool.
fn served(name: &str) -> (Recipe, Served) {
    let (recipe, project) = recipe(name);
    (recipe, Served::of(project, &[]))
}

/// The sections about tools, by the names of these.
fn sections() -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join("docs/cookbook.md")).unwrap();
    let sections = text.split("\n## ").skip(1);
    let named = |it: &str| (it.split(':').next().unwrap().to_owned(), it.to_owned());
    sections.map(named).collect()
}

fn call(served: &mut Served, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = served.client.request("tools/call", &params);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// The lines that a command wrote, and the last one, which the server adds.
fn lines(result: &CallResult) -> (Vec<&str>, &str) {
    let mut lines: Vec<&str> = result.text.lines().collect();
    let last = lines.pop().unwrap();
    (lines, last)
}

/// Proves: P36.
#[test]
fn the_tool_files_shown_are_those_of_the_examples_and_without_faults_or_warnings() {
    let mut shown = BTreeSet::new();
    for (name, text) in sections() {
        let (_, block) = text.split_once("\n```json\n").unwrap();
        let block = block.split("```\n").next().unwrap();
        let path = format!("{EXAMPLES}/{name}/.ahma/tools/{name}.json");
        let file = fs::read_to_string(repository().join(&path)).unwrap();
        assert_eq!(block, file, "{path}");
        let source = SourceFile {
            path: path.into(),
            content: Ok(file.into_bytes()),
        };
        let catalog = load(vec![source], &ahma_core::server_facts());
        assert!(catalog.rejected.is_empty(), "{:#?}", catalog.rejected);
        assert!(catalog.warned.is_empty(), "{:#?}", catalog.warned);
        shown.insert(name);
    }
    let there = fs::read_dir(repository().join(EXAMPLES)).unwrap();
    let there = there.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert_eq!(shown, there.collect());
    assert_eq!(shown.len(), 10);
}

/// Proves: P36.
#[test]
fn chart_draws_a_picture_and_says_what_is_wrong_with_nested_arguments() {
    let (recipe, mut served) = served("chart");
    let bars = recipe.shows(r##"{"bars": [{"value": 3}, {"value": 7, "colour": "#ff7f0e"}]}"##);
    let result = call(&mut served, "chart", &bars);
    let picture = &result["content"][0];
    recipe.says("an image of the type `image/png`, 400 pixels wide and 200 high");
    assert_eq!(picture["type"], "image", "{result}");
    assert_eq!(picture["mimeType"], "image/png");
    let bytes = BASE64.decode(picture["data"].as_str().unwrap().as_bytes());
    let size = &bytes.unwrap()[16..24];
    assert_eq!(
        size,
        [400_u32.to_be_bytes(), 200_u32.to_be_bytes()].concat()
    );

    let wrong = recipe.shows(r#"{"bars": [{"value": -1}], "size": {"width": 5}}"#);
    let told = [
        "bars/0/value: -1 is less than the minimum of 0",
        "size: \"height\" is a required property",
        "size/width: 5 is less than the minimum of 100",
    ];
    let result = served.client.call("chart", &wrong);
    assert!(result.is_error, "{result:?}");
    assert_eq!(result.text, told.map(|it| recipe.says(it)).join("\n"));
    recipe.says("takes no `working_directory`");
    let further = json!({ "bars": [{ "value": 1 }], "working_directory": "bin" });
    let result = served.client.call("chart", &further);
    assert!(result.is_error, "{result:?}");
    assert!(result.text.contains("'working_directory'"), "{result:?}");
}

/// Proves: P36.
#[test]
fn query_answers_with_rows_and_cannot_change_anything() {
    let (recipe, mut served) = served("query");
    let one =
        recipe.shows(r#"{"sql": "SELECT name FROM customers WHERE town = ?", "param": ["Paris"]}"#);
    let expected = r#"{"columns": ["name"], "rows": [["Blaise"]], "has_more": false}"#;
    let result = call(&mut served, "query", &one);
    assert_eq!(result["structuredContent"], recipe.shows(expected));
    assert_eq!(texts(&result)[0], expected);

    recipe.says(r#"with `"rows": 2`, of a longer table, two rows and `"has_more": true`"#);
    let some = json!({ "sql": "SELECT id FROM orders\nORDER BY id", "rows": 2 });
    let result = served.client.call("query", &some);
    let expected = json!({ "columns": ["id"], "rows": [[1], [2]], "has_more": true });
    assert_eq!(result.structured, expected, "{result:?}");
    for (sql, why) in [
        ("nothing", "query: near \"nothing\": syntax error"),
        (
            "DELETE FROM orders",
            "query: attempt to write a readonly database",
        ),
    ] {
        let result = served.client.call("query", &json!({ "sql": sql }));
        assert!(result.is_error, "{result:?}");
        assert_eq!(lines(&result).0, [recipe.says(why)]);
    }
}

/// Proves: P36.
#[test]
fn lint_finds_and_repairs_and_fails_only_where_it_cannot_do_its_work() {
    let (recipe, mut served) = served("lint");
    let file = recipe.shows(r#"{"paths": ["notes.txt"]}"#);
    let spaces = recipe.says("notes.txt:1: spaces at the end of the line");
    let (tab, end) = (
        "notes.txt:2: a tab",
        "notes.txt:3: the last line has no end",
    );
    let result = served.client.call("lint_check", &file);
    recipe.says("answers three lines");
    assert_eq!(lines(&result).0, [spaces, tab, end]);
    let ended = recipe.says("completed, exit code 1");
    assert!(lines(&result).1.contains(ended), "{result:?}");
    assert!(!result.is_error, "{result:?}");

    let without = recipe.shows(r#"{"paths": ["notes.txt"], "tabs": false}"#);
    let result = served.client.call("lint_check", &without);
    assert_eq!(lines(&result).0, [spaces, end]);

    let before = fs::read_to_string(served.project.path().join("notes.txt")).unwrap();
    assert_eq!(before, "Kettles  \n\tboil water\nand tea");
    recipe.says("`lint_fix` repairs the file.");
    let result = served.client.call("lint_fix", &file);
    assert_eq!(lines(&result).0, [spaces, tab, end]);
    let after = fs::read_to_string(served.project.path().join("notes.txt")).unwrap();
    assert_eq!(after, "Kettles\n    boil water\nand tea\n");
    let result = served.client.call("lint_check", &file);
    assert!(result.text.starts_with("[op_"), "{result:?}");

    let none = recipe.shows(r#"{"paths": ["none.txt"]}"#);
    recipe.says("fails with exit code 2");
    let result = served.client.call("lint_check", &none);
    assert!(result.is_error, "{result:?}");
    assert_eq!(result.record["exit_code"], 2);
    recipe.says("a path outside the scope is refused before anything runs");
    let outside = served
        .client
        .call("lint_check", &json!({ "paths": ["../notes.txt"] }));
    assert!(
        outside.text.contains("is outside the sandbox"),
        "{outside:?}"
    );
    assert!(outside.record.is_null(), "{outside:?}");
}

/// Proves: P36.
#[test]
fn logs_finds_lines_and_says_which_arguments_go_together() {
    let (recipe, mut served) = served("logs");
    let errors = recipe.shows(r#"{"pattern": "ERROR", "paths": ["logs/app.log"]}"#);
    let result = served.client.call("logs", &errors);
    let first = recipe.says("logs/app.log:3:2026-02-01T08:03:40 ERROR order 17: payment refused");
    recipe.says("and one line more");
    assert_eq!(lines(&result).0[0], first);
    assert_eq!(lines(&result).0.len(), 2, "{result:?}");
    recipe.says("a pattern that nothing matches answers with no line and is no error");
    let nothing = json!({ "pattern": "NOTHING", "paths": ["logs/app.log"] });
    let result = served.client.call("logs", &nothing);
    assert!(result.text.starts_with("[op_"), "{result:?}");
    assert!(!result.is_error, "{result:?}");
    recipe.says("The pattern may begin with a dash");
    let dashes = json!({ "pattern": "--01T", "paths": ["logs"], "recursive": true });
    let result = served.client.call("logs", &dashes);
    assert!(result.text.starts_with("[op_"), "{result:?}");
    assert!(!result.is_error, "{result:?}");

    let both =
        recipe.shows(r#"{"pattern": "a", "fixed": true, "extended": true, "paths": ["logs"]}"#);
    let lonely = json!({ "pattern": "a", "include": ["*.log"], "paths": ["logs"] });
    for (arguments, why) in [
        (both, "fixed: it cannot be given together with `extended`"),
        (lonely, "include: it needs `recursive`, which is not given"),
    ] {
        let result = served.client.call("logs", &arguments);
        assert!(result.is_error, "{result:?}");
        assert!(result.text.starts_with(recipe.says(why)), "{result:?}");
        assert!(result.record.is_null(), "{result:?}");
    }
    let found =
        json!({ "pattern": "a", "include": ["*.txt"], "recursive": true, "paths": ["logs"] });
    let result = served.client.call("logs", &found);
    let is_of_it = |line: &&str| line.starts_with("logs/old.txt:");
    assert!(lines(&result).0.iter().all(is_of_it), "{result:?}");
    assert_eq!(lines(&result).0.len(), 1, "{result:?}");
}

/// Proves: P36.
#[test]
fn dev_server_answers_when_it_can_be_used_and_ends_with_its_client() {
    let (recipe, mut served) = served("dev_server");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    // The port of the text may be in use.
    let here = |text: &str| recipe.says(text).replace("8123", &port);
    let start = here(r#"{"port": 8123, "execution_mode": "service", "ready": {"port": 8123}}"#);
    let start: Value = serde_json::from_str(&start).unwrap();
    let started = served.client.call("dev_server", &start);
    let ready = here("The service is ready: it listens on port 8123.");
    assert!(started.text.contains(&ready), "{started:?}");
    assert!(started.text.contains("`cancel`"), "{started:?}");
    let url = here("http://127.0.0.1:8123/");
    let fetch = "import sys, urllib.request as it; print(it.urlopen(sys.argv[1]).read().decode())";
    let fetched = served.sync(&format!("python3 -c '{fetch}' {url}"));
    assert!(fetched.text.contains("<h1>Kettles</h1>"), "{fetched:?}");
    recipe.says("`read_output` shows its requests");
    let read = json!({ "operation_id": started.operation_id() });
    let read = served.client.call("read_output", &read);
    assert!(read.text.contains("\"GET / HTTP/1.1\" 200"), "{read:?}");
    let again = served.client.call("dev_server", &start);
    assert!(again.is_error, "{again:?}");
    let taken = here("something listens on port 8123 already");
    assert!(again.text.contains(&taken), "{again:?}");

    recipe.says("The service ends with its client at the latest.");
    let mark = format!("--directory public {port}");
    assert!(!processes_marked(&mark).is_empty());
    served.client.close();
    until(|| processes_marked(&mark).is_empty());
}

/// Proves: P36.
#[test]
fn tone_lets_a_sound_be_heard_and_leaves_it_in_its_file() {
    let (recipe, mut served) = served("tone");
    let high = recipe.shows(r#"{"hertz": 880, "seconds": 0.5}"#);
    recipe.says("answers with a sound of the type `audio/wav`, 16044 bytes long");
    for (arguments, name, length) in [
        (high, recipe.says("sounds/880-0.5.wav"), 16_044),
        (json!({}), "sounds/440-1.wav", 32_044),
    ] {
        let result = call(&mut served, "tone", &arguments);
        let sound = fs::read(served.project.path().join(name)).unwrap();
        assert_eq!(sound.len(), length, "{name}");
        let data = BASE64.encode(&sound);
        let block = json!({ "type": "audio", "data": data, "mimeType": "audio/wav" });
        assert!(result["content"][0] == block, "{name}");
    }
    recipe.says("`{}` takes the defaults, 440 hertz and one second");
    let low = recipe.shows(r#"{"hertz": 1}"#);
    let result = served.client.call("tone", &low);
    let why = recipe.says("1 is below the minimum 20");
    assert!(result.text.contains(why), "{result:?}");
}

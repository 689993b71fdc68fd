//! The tools of the cookbook that write events, answering what its text says.

use std::fs;

use ahma_tests::mcp::{CallResult, McpProcess};
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::cookbook::recipe;
use super::scripted::{Modern, legacy, reply, texts};

fn forms() -> Value {
    json!({ "elicitation": {} })
}

/// Progress as the client heard of it, in order.
fn progress(client: &mut McpProcess) -> Vec<Value> {
    const TOLD: &str = "notifications/progress";
    let count = client.notifications_so_far(TOLD);
    let all = (0..count).map(|_| {
        let told = client.notification(TOLD)["params"].clone();
        json!([told["progress"], told["total"], told["message"]])
    });
    all.collect()
}

fn version(version: &str) -> Value {
    let arguments = json!({ "version": version });
    json!({ "name": "deploy", "arguments": arguments, "_meta": { "progressToken": 1 } })
}

/// Proves: P36.
#[test]
fn deploy_publishes_after_a_person_has_agreed() {
    let (recipe, project) = recipe("deploy");
    let mut client = legacy(&project, &forms());
    let mut params = version("1.4.0");
    params["arguments"] = recipe.shows(r#"{"version": "1.4.0"}"#);
    let id = client.send("tools/call", &params);
    let question = client.notification("elicitation/create");
    let asked = recipe.says("Publish 3 files as version 1.4.0?");
    assert_eq!(question["params"]["message"], asked);
    recipe.says("with a choice `live` and a text `note`");
    let fields = &question["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["live"]["type"], "boolean", "{question}");
    assert_eq!(fields["note"]["type"], "string", "{question}");
    assert!(!project.path().join("releases").exists());

    let content = recipe.shows(r#"{"live": true, "note": "first"}"#);
    let answer = json!({ "action": "accept", "content": content });
    reply(&mut client, &question, &answer);
    let result = client.answer(id)["result"].clone();
    recipe.says("the call tells of each file as progress");
    let told = [
        json!([1.0, 3.0, "about.html"]),
        json!([2.0, 3.0, "index.html"]),
        json!([3.0, 3.0, "site.css"]),
    ];
    assert_eq!(progress(&mut client), told);
    assert_eq!(texts(&result)[0], recipe.says("published 1.4.0"));
    let expected = recipe.shows(r#"{"version": "1.4.0", "files": 3, "live": true}"#);
    assert_eq!(result["structuredContent"], expected);
    let file = |name: &str| fs::read_to_string(project.path().join(name)).unwrap();
    assert_eq!(
        file("releases/1.4.0/style/site.css"),
        file("site/style/site.css")
    );
    assert_eq!(file("releases/live"), "1.4.0\n");
    assert_eq!(file("releases/log"), "1.4.0 first\n");

    // What is there already is said before anybody is asked.
    let again = CallResult::of(&client.request("tools/call", &params));
    assert!(again.is_error, "{again:?}");
    let why = recipe.says("version 1.4.0 is published already");
    assert!(again.text.starts_with(why), "{again:?}");
    assert_eq!(client.notifications_so_far("elicitation/create"), 0);
}

/// Proves: P36.
#[test]
fn deploy_publishes_nothing_where_nobody_has_agreed() {
    let (recipe, project) = recipe("deploy");
    let mut client = legacy(&project, &forms());
    let why = recipe.says("nothing was published: the person did not agree");
    for action in ["decline", "cancel"] {
        let id = client.send("tools/call", &version("1.4.0"));
        let question = client.notification("elicitation/create");
        reply(&mut client, &question, &json!({ "action": action }));
        let result = CallResult::of(&client.answer(id));
        assert!(result.is_error, "{result:?}");
        assert!(result.text.starts_with(why), "{result:?}");
    }
    recipe.says("A version such as `1.4` is refused before anything runs.");
    let refused = CallResult::of(&client.request("tools/call", &version("1.4")));
    assert!(refused.is_error, "{refused:?}");
    assert!(refused.record.is_null(), "{refused:?}");
    recipe.says("A client without elicitation gets the error -32021");
    let mut client = legacy(&project, &json!({}));
    let refused = client.request("tools/call", &version("1.4.0"));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let lacking = json!({ "requiredCapabilities": forms() });
    assert_eq!(refused["error"]["data"], lacking);
    assert!(!project.path().join("releases").exists());
}

/// Proves: P36.
#[test]
fn deploy_asks_a_client_without_a_session_by_its_result() {
    let (recipe, project) = recipe("deploy");
    let mut client = Modern::of(&project, forms());
    let arguments = json!({ "version": "1.4.0" });
    let asked = client.call("deploy", &json!({ "arguments": arguments }));
    let question = &asked["inputRequests"]["confirm"]["params"]["message"];
    assert_eq!(question, recipe.says("Publish 3 files as version 1.4.0?"));
    let content = json!({ "live": false });
    let confirm = json!({ "confirm": { "action": "accept", "content": content } });
    let answered = json!({
        "arguments": arguments, "requestState": asked["requestState"], "inputResponses": confirm
    });
    let result = client.call("deploy", &answered);
    let expected = json!({ "version": "1.4.0", "files": 3, "live": false });
    assert_eq!(result["structuredContent"], expected, "{result}");
    assert!(!project.path().join("releases/live").exists());
}

/// Proves: P36.
#[test]
fn unit_tests_says_which_tests_fail_and_why() {
    let (recipe, project) = recipe("unit_tests");
    let mut client = legacy(&project, &json!({}));
    let params = json!({ "name": "unit_tests", "arguments": {}, "_meta": { "progressToken": 1 } });
    let result = client.request("tools/call", &params)["result"].clone();
    let test = |name: &str| format!("tests.test_prices.Prices.test_{name}");
    let names = [
        "a_discount_is_taken_off",
        "a_price_is_shown_with_two_places",
        "other_currencies",
        "tax_is_added",
    ];
    recipe.says("Each test is progress");
    let told = (1..)
        .zip(names)
        .map(|(at, name)| json!([f64::from(at), 4.0, test(name)]));
    assert_eq!(progress(&mut client), told.collect::<Vec<_>>());
    assert_eq!(result["isError"], false, "{result}");
    let expected = recipe.shows(
        r#"{"passed": 2, "skipped": 1, "failed": [{"test": "tests.test_prices.Prices.test_a_price_is_shown_with_two_places", "why": "AssertionError: '10.5' != '10.05'"}]}"#,
    );
    assert_eq!(result["structuredContent"], expected);
    let counts = recipe.says("2 passed, 1 failed, 1 skipped");
    recipe.says("and a line for the test that fails");
    let failed = format!("{}: AssertionError: '10.5' != '10.05'", test(names[1]));
    assert_eq!(texts(&result)[0], format!("{counts}\n{failed}"));

    recipe.says("runs one test");
    let one = client.call("unit_tests", &recipe.shows(r#"{"only": "discount"}"#));
    let expected = json!({ "passed": 1, "skipped": 0, "failed": [] });
    assert_eq!(one.structured, expected, "{one:?}");
    let pattern = client.call("unit_tests", &json!({ "only": "*price*" }));
    assert_eq!(pattern.structured["failed"][0]["test"], test(names[1]));
    let none = client.call("unit_tests", &recipe.shows(r#"{"only": "nothing"}"#));
    assert!(none.is_error, "{none:?}");
    let why = recipe.says("there is no such test");
    assert!(none.text.starts_with(why), "{none:?}");
}

/// Proves: P36.
#[test]
fn unit_tests_keeps_what_tests_print_apart_and_is_a_task_for_who_takes_them() {
    let (recipe, project) = recipe("unit_tests");
    let noisy = "import unittest\n\nclass Noisy(unittest.TestCase):\n    def test_noise(self):\n        print('noise of a test')\n";
    project.write("tests/test_noisy.py", noisy);
    let mut client = legacy(&project, &json!({}));
    let result = client.call("unit_tests", &json!({ "only": "noise" }));
    assert_eq!(result.text, "1 passed, 0 failed, 0 skipped", "{result:?}");
    recipe.says("goes to standard error, where `read_output` finds it");
    let read = json!({ "operation_id": result.operation_id() });
    let read = client.call("read_output", &read);
    assert!(read.text.contains("noise of a test\n"), "{read:?}");

    recipe.says("A client that takes tasks gets one at once (`task`), all others wait.");
    let mut client = Modern::with_tasks(&project);
    let started = client.call("unit_tests", &json!({ "arguments": { "only": "noise" } }));
    let ended = ended(&mut client, &started);
    let expected = json!({ "passed": 1, "skipped": 0, "failed": [] });
    assert_eq!(ended["result"]["structuredContent"], expected, "{ended}");
}

/// The task that this result is, once it has ended.
fn ended(client: &mut Modern, started: &Value) -> Value {
    assert_eq!(started["resultType"], "task", "{started}");
    let mut task = Value::Null;
    until(|| {
        task = client.task(&started["taskId"]);
        task["status"] != "working"
    });
    task
}

/// Makes it the repository that the text asks for.
fn with_history(project: &Workspace) {
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let done = project.run("git", &[&own[..], args].concat());
        assert_eq!(done.code, 0, "{done:?}");
    };
    let commit = |subject: &str| git(&["commit", "-q", "--allow-empty", "-m", subject]);
    git(&["init", "-q"]);
    commit("all of it");
    git(&["tag", "v1.0"]);
    for subject in ["feat: boil water", "fix: lid", "docs: manual", "more tea"] {
        commit(subject);
    }
    git(&["tag", "v1.1"]);
}

/// The structured result without the names of the commits, which nobody knows before.
fn groups(structured: &Value) -> Value {
    let mut structured = structured.clone();
    for commits in structured["groups"].as_object_mut().unwrap().values_mut() {
        for commit in commits.as_array_mut().unwrap() {
            assert!(commit["commit"].take().as_str().unwrap().len() >= 7);
        }
    }
    structured
}

/// Proves: P36.
#[test]
fn release_notes_sorts_commits_and_has_a_summary_where_there_is_a_model() {
    let (recipe, project) = recipe("release_notes");
    let mut client = legacy(&project, &json!({}));
    recipe.says("The tool is listed only where there is a Git repository and Git.");
    let unlisted = client.request("tools/call", &json!({ "name": "release_notes" }));
    assert_eq!(unlisted["error"]["code"], -32602, "{unlisted}");
    with_history(&project);
    let mut client = legacy(&project, &json!({}));
    let range = recipe.shows(r#"{"from": "v1.0", "to": "v1.1"}"#);
    let params = json!({ "name": "release_notes", "arguments": range });
    let plain = client.request("tools/call", &params)["result"].clone();
    let notes = texts(&plain)[0].to_owned();
    assert!(
        notes.starts_with(recipe.says("# From v1.0 to v1.1")),
        "{notes}"
    );
    recipe.says(
        r#"{"from": "v1.0", "to": "v1.1", "groups": {"New": [{"commit": "…", "subject": "…"}]}}"#,
    );
    let one = |subject: &str| json!([{ "commit": null, "subject": subject }]);
    let expected = json!({
        "from": "v1.0", "to": "v1.1",
        "groups": {
            "New": one("boil water"), "Repaired": one("lid"), "Documents": one("manual"), "Other": one("more tea")
        }
    });
    assert_eq!(groups(&plain["structuredContent"]), expected);
    recipe.says("A tag that is not there fails with what Git says");
    let unknown = client.call("release_notes", &json!({ "from": "v9" }));
    assert!(unknown.is_error, "{unknown:?}");
    assert!(
        unknown.text.starts_with("fatal: bad revision"),
        "{unknown:?}"
    );
    recipe.says("`--all` is refused by the pattern");
    let refused = client.call("release_notes", &json!({ "from": "--all" }));
    assert!(refused.record.is_null(), "{refused:?}");
    assert!(
        refused.text.contains("does not match the pattern"),
        "{refused:?}"
    );

    recipe.says("With a model, its sentence is a block before that.");
    let mut client = legacy(&project, &json!({ "sampling": {} }));
    let id = client.send("tools/call", &params);
    let question = client.notification("sampling/createMessage");
    let prompt = &question["params"]["messages"][0]["content"]["text"];
    assert!(prompt.as_str().unwrap().ends_with(&notes), "{question}");
    let content = json!({ "type": "text", "text": "Tea is new." });
    let said = json!({ "role": "assistant", "model": "m", "content": content });
    reply(&mut client, &question, &said);
    let result = client.answer(id)["result"].clone();
    assert_eq!(texts(&result)[..2], ["Tea is new.", notes.as_str()]);
    // One that refuses gets the same as one that has none.
    recipe.says("if it refuses, the notes come without");
    let id = client.send("tools/call", &params);
    let question = client.notification("sampling/createMessage");
    let refusal = json!({ "code": -1, "message": "not today" });
    let line = json!({ "jsonrpc": "2.0", "id": question["id"], "error": refusal });
    client.send_line(line.to_string().as_bytes());
    let result = client.answer(id)["result"].clone();
    assert_eq!(texts(&result)[0], notes);
}

/// Proves: P36.
#[test]
fn reindex_fails_at_once_or_goes_on_in_the_background() {
    let (recipe, project) = recipe("reindex");
    let mut client = legacy(&project, &json!({}));
    let texts = recipe.shows(r#"{"directory": "texts"}"#);
    let started = client.call("reindex", &texts);
    recipe.says("answers `started op_…` while the work goes on");
    assert!(started.text.starts_with("started op_"), "{started:?}");
    assert_eq!(started.record["state"], "running");
    let wait = json!({ "operation_id": started.operation_id() });
    let waited = client.call("await", &wait);
    assert_eq!(waited.text, recipe.says("7 words in 3 texts"), "{waited:?}");
    assert!(project.path().join("texts/index.json").exists());
    let nothing = client.call("reindex", &recipe.shows(r#"{"directory": "bin"}"#));
    assert!(nothing.is_error, "{nothing:?}");
    let why = recipe.says("bin has no texts");
    assert!(nothing.text.starts_with(why), "{nothing:?}");

    recipe.says("a task the structured result");
    let mut client = Modern::with_tasks(&project);
    let started = client.call("reindex", &json!({ "arguments": texts }));
    let ended = ended(&mut client, &started);
    let expected = recipe.shows(r#"{"words": 7, "texts": 3}"#);
    assert_eq!(ended["result"]["structuredContent"], expected, "{ended}");
    let nothing = client.call("reindex", &json!({ "arguments": { "directory": "bin" } }));
    assert_eq!(nothing["resultType"], "complete", "{nothing}");
    assert_eq!(nothing["isError"], true, "{nothing}");
}

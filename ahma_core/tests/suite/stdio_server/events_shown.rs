//! The programs that docs/events.md shows, run as they stand there.

use std::fs;

use ahma_tests::mcp::CallResult;
use ahma_tests::{Workspace, repository};
use serde_json::{Value, json};

use super::scripted::{Modern, legacy, reply, texts};

const DOCUMENT: &str = "docs/events.md";
/// Language of the program in the document, and what runs it.
const PROGRAMS: [(&str, &str); 2] = [("python", "python3"), ("bash", "bash")];

/// A project with the program of this language as the tool `clean`, and something to remove.
fn project((language, command): (&str, &str)) -> Workspace {
    let text = fs::read_to_string(repository().join(DOCUMENT)).unwrap();
    let (_, program) = text.split_once(&format!("\n```{language}\n")).unwrap();
    let program = program.split("```\n").next().unwrap();
    let project = Workspace::new();
    project.write("clean", program);
    let tool = json!({
        "name": "clean", "description": "Removes copies.", "command": command, "fixed_args": ["clean"],
        "output": "events", "synchronous": true,
        "positional_args": [{ "name": "directory", "type": "string", "required": true }]
    });
    project.write(".ahma/tools/clean.json", tool.to_string());
    for name in ["one.bak", "two words.bak", "three.txt"] {
        project.write(&format!("notes/{name}"), "");
    }
    project
}

fn left(project: &Workspace) -> Vec<String> {
    let there = fs::read_dir(project.path().join("notes")).unwrap();
    let mut names: Vec<String> = there
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const ALL: [&str; 3] = ["one.bak", "three.txt", "two words.bak"];

fn forms() -> Value {
    json!({ "elicitation": {} })
}

/// Proves: T59, T60.
#[test]
fn they_remove_files_after_a_person_has_agreed() {
    for program in PROGRAMS {
        let project = project(program);
        let mut client = legacy(&project, &forms());
        let params = json!({
            "name": "clean", "arguments": { "directory": "notes" }, "_meta": { "progressToken": 1 }
        });
        let id = client.send("tools/call", &params);
        let question = client.notification("elicitation/create");
        assert_eq!(question["params"]["message"], "Remove 2 files?");
        assert_eq!(left(&project), ALL);
        let answer = json!({ "action": "accept", "content": {} });
        reply(&mut client, &question, &answer);
        let result = client.answer(id)["result"].clone();
        assert_eq!(texts(&result)[0], "removed 2 files", "{result}");
        assert_eq!(result["structuredContent"], json!({ "removed": 2 }));
        assert_eq!(left(&project), ["three.txt"]);
        let told = "notifications/progress";
        assert_eq!(client.notifications_so_far(told), 2, "{program:?}");
        let last = [1.0, 2.0].map(|_| client.notification(told)["params"]["progress"].clone());
        assert_eq!(last, [1.0, 2.0]);
    }
}

/// Proves: T59, T60.
#[test]
fn they_remove_nothing_where_nobody_has_agreed() {
    for program in PROGRAMS {
        let project = project(program);
        let mut client = legacy(&project, &forms());
        let params = json!({ "name": "clean", "arguments": { "directory": "notes" } });
        let id = client.send("tools/call", &params);
        let question = client.notification("elicitation/create");
        reply(&mut client, &question, &json!({ "action": "decline" }));
        let declined = CallResult::of(&client.answer(id));
        // A client that cannot ask anybody.
        let mut client = legacy(&project, &json!({}));
        let unasked = client.call("clean", &params["arguments"]);
        let why = match program.0 {
            "python" => [
                "nothing was removed: the person did not agree\n",
                "nothing was removed: the client of this call does not take elicitation/create\n",
            ],
            _ => ["nothing was removed\n"; 2],
        };
        for (result, why) in [declined, unasked].iter().zip(why) {
            assert!(result.is_error, "{result:?}");
            assert!(result.text.starts_with(why), "{result:?}");
        }
        assert_eq!(left(&project), ALL);
    }
}

/// Proves: T59, T60.
#[test]
fn they_do_not_see_that_a_client_without_a_session_is_asked_by_its_result() {
    for program in PROGRAMS {
        let project = project(program);
        let mut client = Modern::of(&project, forms());
        let arguments = json!({ "directory": "notes" });
        let asked = client.call("clean", &json!({ "arguments": arguments }));
        let sure = json!({ "sure": { "action": "accept", "content": {} } });
        let answered = json!({
            "arguments": arguments, "requestState": asked["requestState"], "inputResponses": sure
        });
        let result = client.call("clean", &answered);
        assert_eq!(
            result["structuredContent"],
            json!({ "removed": 2 }),
            "{result}"
        );
        assert_eq!(left(&project), ["three.txt"]);
    }
}

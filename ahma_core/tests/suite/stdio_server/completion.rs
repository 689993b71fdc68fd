//! Likely values: proposed while somebody types, and named when a call has failed.

use std::fs;
use std::net::TcpListener;

use ahma_tests::mcp::McpProcess;
use ahma_tests::{Workspace, marked, unique_mark, until};
use serde_json::{Value, json};

use super::scripted::add_python;
use super::{Served, modern, unspoken_to};

/// Adds a prompt, called `ask`, whose arguments are proposed so.
fn add_prompt(project: &Workspace, arguments: &[(&str, Value)]) {
    let all = arguments.iter();
    let all = all.map(|(name, complete)| json!({ "name": name, "complete": complete }));
    let file = json!({
        "name": "ask", "description": "Asks.", "arguments": all.collect::<Vec<_>>(),
        "messages": [{ "text": "Well?" }]
    });
    project.write(".ahma/prompts/ask.json", file.to_string());
}

fn with_prompt(arguments: &[(&str, Value)]) -> Served {
    let project = Workspace::new();
    add_prompt(&project, arguments);
    Served::of(project, &[])
}

/// A program that prints values.
fn printing(program: &str, args: &[&str]) -> Value {
    json!({ "command": program, "args": args })
}

fn of_prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn of_template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

fn asking(reference: &Value, argument: &str, typed: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": argument, "value": typed } })
}

/// What is proposed for an argument of the prompt.
fn proposed(client: &mut McpProcess, argument: &str, typed: &str) -> Value {
    let params = asking(&of_prompt("ask"), argument, typed);
    let answer = client.request("completion/complete", &params);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"]["completion"].clone()
}

/// All of these, and no more.
fn just(values: &[&str]) -> Value {
    json!({ "values": values, "total": values.len(), "hasMore": false })
}

const PAGES: &str = "docs://{kind}/{+page}";

/// Proves: P35.
#[test]
fn values_of_files_are_proposed_for_prompts_and_resource_templates_in_both_lifecycles() {
    let project = Workspace::new();
    let values = json!({ "values": ["green", "red", "Dark green", "grey"] });
    add_prompt(
        &project,
        &[
            ("colour", values.clone()),
            ("size", json!({ "values": ["9"] })),
        ],
    );
    let template = json!({
        "uri_template": PAGES, "name": "page", "file": "{kind}/{page}.md",
        "variables": [{ "name": "kind", "complete": values }]
    });
    project.write(".ahma/resources/page.json", template.to_string());
    let mut session = Served::of(project, &[]);
    let mut stateless = unspoken_to(&session.project);
    for (reference, argument) in [(of_prompt("ask"), "colour"), (of_template(PAGES), "kind")] {
        for (typed, expected) in [
            ("gr", just(&["green", "grey", "Dark green"])),
            ("GREEN", just(&["green", "Dark green"])),
            ("", just(&["green", "red", "Dark green", "grey"])),
            ("blue", just(&[])),
        ] {
            let params = asking(&reference, argument, typed);
            let of_session = session.client.request("completion/complete", &params);
            assert_eq!(of_session["result"]["completion"], expected, "{typed}");
            let without = stateless.request("completion/complete", &modern(params));
            assert_eq!(without["result"]["completion"], expected, "{typed}");
        }
    }
    // What nobody has said anything of has no proposals, and is no mistake.
    let params = asking(&of_template(PAGES), "page", "");
    let answer = session.client.request("completion/complete", &params);
    assert_eq!(
        answer["result"]["completion"]["values"],
        json!([]),
        "{answer}"
    );
}

/// Proves: P35.
#[test]
fn what_is_not_there_has_no_proposals_but_an_error() {
    let project = Workspace::new();
    add_prompt(&project, &[("colour", json!({ "values": ["red"] }))]);
    let template = json!({ "uri_template": PAGES, "name": "page", "file": "{kind}/{page}.md" });
    project.write(".ahma/resources/page.json", template.to_string());
    let mut session = Served::of(project, &[]);
    let mut stateless = unspoken_to(&session.project);
    for (reference, argument, why) in [
        (of_prompt("task"), "colour", "there is no prompt `task`"),
        (of_prompt("ask"), "color", "there is no argument `color`"),
        (
            of_template("docs://{page}"),
            "page",
            "there is no resource template `docs://{page}`",
        ),
        (of_template(PAGES), "pages", "there is no variable `pages`"),
    ] {
        let params = asking(&reference, argument, "");
        let expected = json!({ "code": -32602, "message": why });
        let refused = session.client.request("completion/complete", &params);
        assert_eq!(refused["error"], expected);
        let refused = stateless.request("completion/complete", &modern(params));
        assert_eq!(refused["error"], expected);
    }
}

/// Proves: P35.
#[test]
fn a_command_proposes_what_it_prints_in_the_project() {
    let project = Workspace::new();
    let pages = printing("ls", &["pages"]);
    add_prompt(
        &project,
        &[
            ("page", pages.clone()),
            ("failed", printing("sh", &["-c", "echo no; exit 3"])),
            (
                "loud",
                printing("sh", &["-c", "echo warning >&2; echo one"]),
            ),
            ("missing", printing("no-such-program", &[])),
        ],
    );
    let template = json!({
        "uri_template": "docs://{page}", "name": "page", "file": "pages/{page}",
        "variables": [{ "name": "page", "complete": pages }]
    });
    project.write(".ahma/resources/page.json", template.to_string());
    for name in ["about", "contact", "tables"] {
        project.write(&format!("pages/{name}"), "");
    }
    let mut served = Served::of(project, &[]);
    assert_eq!(
        proposed(&mut served.client, "page", "ab"),
        just(&["about", "tables"])
    );
    let params = asking(&of_template("docs://{page}"), "page", "c");
    let answer = served.client.request("completion/complete", &params);
    assert_eq!(answer["result"]["completion"], just(&["contact"]));
    // What it complains of is no value.
    assert_eq!(proposed(&mut served.client, "loud", ""), just(&["one"]));
    // One that fails proposes nothing, and is no error of the client.
    for argument in ["failed", "missing"] {
        assert_eq!(proposed(&mut served.client, argument, ""), just(&[]));
    }
}

/// Nobody has allowed it anything: it runs because somebody types.
///
/// Proves: P35.
#[test]
fn a_command_that_proposes_can_neither_write_nor_reach_a_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let write = "echo > made && echo written; echo end";
    let reach = format!(
        "import socket\ntry: socket.create_connection(('127.0.0.1', {port})); print('reached')\nexcept OSError: print('end')"
    );
    let mut served = with_prompt(&[
        ("write", printing("sh", &["-c", write])),
        ("reach", printing("python3", &["-c", &reach])),
    ]);
    assert_eq!(proposed(&mut served.client, "write", ""), just(&["end"]));
    assert!(!served.project.path().join("made").exists());
    assert_eq!(proposed(&mut served.client, "reach", ""), just(&["end"]));
    // Who calls a tool may do both.
    served.project.write("reach.py", reach);
    let both = served.sync(&format!("{write}; python3 reach.py"));
    assert!(both.text.starts_with("written\nend\nreached\n"), "{both:?}");
    assert!(served.project.path().join("made").exists());
}

/// Proves: P35.
#[test]
fn a_command_that_proposes_has_little_time() {
    let mark = unique_mark();
    let script = format!("echo one; exec sleep {mark}");
    let mut served = with_prompt(&[("slow", printing("sh", &["-c", &script]))]);
    assert_eq!(proposed(&mut served.client, "slow", ""), just(&[]));
    until(|| marked(&mark) == 0);
}

/// Proves: P35.
#[test]
fn much_that_is_printed_ends_with_the_last_whole_value() {
    // Lines of 101 bytes, of which 648 and a half are 64 KiB.
    let mut served = with_prompt(&[
        ("long", printing("seq", &["-f", "%0100.f", "2000"])),
        ("many", printing("seq", &["9000"])),
    ]);
    let all = proposed(&mut served.client, "long", "");
    assert_eq!(
        [&all["total"], &all["hasMore"]],
        [&json!(648), &json!(true)]
    );
    assert_eq!(all["values"].as_array().unwrap().len(), 100);
    let last = proposed(&mut served.client, "long", "0648");
    assert_eq!(last, just(&[&format!("{:0100}", 648)]));
    assert_eq!(proposed(&mut served.client, "long", "0649"), just(&[]));
    assert_eq!(proposed(&mut served.client, "many", "")["total"], 5000);
}

/// A client asks at every letter that is typed.
///
/// Proves: P35.
#[test]
fn what_a_command_has_printed_is_used_for_some_seconds() {
    let mut served = with_prompt(&[("value", printing("cat", &["value"]))]);
    served.project.write("value", "one\n");
    assert_eq!(proposed(&mut served.client, "value", "o"), just(&["one"]));
    served.project.write("value", "other\n");
    assert_eq!(proposed(&mut served.client, "value", "on"), just(&["one"]));
    until(|| proposed(&mut served.client, "value", "o") == just(&["other"]));
}

/// Fails unless `other` is `ok`.
const FAILING: &str = "import sys\nprint('said')\nsys.exit('--other=ok' not in sys.argv)";

/// Proves: P35.
#[test]
fn a_failed_call_names_what_its_values_may_have_meant() {
    let colours = json!({ "values": ["green", "red"] });
    let option = |name: &str, kind: &str, complete: &Value| json!({ "name": name, "type": kind, "complete": complete });
    let arguments = [
        option("colour", "string", &colours),
        option("several", "array", &colours),
        option("page", "string", &printing("ls", &["pages"])),
        option("number", "string", &printing("seq", &["100", "150"])),
        json!({ "name": "other", "type": "string" }),
    ];
    let project = Workspace::new();
    add_python(&project, "run", &json!({ "options": arguments }), FAILING);
    project.write("pages/contact", "");
    let mut served = Served::of(project, &[]);
    let mut lines = |arguments: Value| -> Vec<String> {
        let result = served.client.call("run", &arguments);
        let mut lines: Vec<_> = result.text.lines().map(str::to_owned).collect();
        assert_eq!(lines.remove(0), "said");
        let last = lines.pop().unwrap();
        assert!(last.starts_with("[op_"), "{result:?}");
        lines
    };
    let unlike = "is not known here";
    for (arguments, expected) in [
        (
            json!({ "colour": "gren" }),
            vec![format!("colour: `gren` {unlike}; did you mean `green`?")],
        ),
        (
            json!({ "colour": "violet" }),
            vec![format!("colour: `violet` {unlike}; known: green, red")],
        ),
        (
            json!({ "several": ["red", "reed", "greeen"], "page": "contct", "other": "gren" }),
            vec![
                format!("several: `reed` {unlike}; did you mean `red`?"),
                format!("several: `greeen` {unlike}; did you mean `green`?"),
                format!("page: `contct` {unlike}; did you mean `contact`?"),
            ],
        ),
        (
            json!({ "number": "x" }),
            vec![format!(
                "number: `x` {unlike}; known: 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 and 41 more"
            )],
        ),
        // What is known was meant, and what did well too.
        (json!({ "colour": "green" }), vec![]),
        (json!({ "colour": "gren", "other": "ok" }), vec![]),
    ] {
        assert_eq!(lines(arguments.clone()), expected, "{arguments}");
    }
}

/// Proves: P35.
#[test]
fn the_tools_for_git_know_branches_and_remotes() {
    let project = Workspace::new();
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let done = project.run("git", &[&own[..], args].concat());
        assert_eq!(done.code, 0, "{done:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&["branch", "feature/tea"]);
    git(&["tag", "v1.0"]);
    git(&["remote", "add", "origin", "./elsewhere"]);
    fs::create_dir(project.path().join("elsewhere")).unwrap();
    let mut served = Served::of(project, &[]);
    let params = asking(&of_prompt("review_change"), "against", "");
    let answer = served.client.request("completion/complete", &params);
    let mut values: Vec<&str> = answer["result"]["completion"]["values"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    values.sort_unstable();
    assert_eq!(values, ["feature/tea", "main", "v1.0"]);
    for (tool, arguments, hint) in [
        (
            "git_switch",
            json!({ "branch": "feature/te" }),
            "branch: `feature/te` is not known here; did you mean `feature/tea`?\n",
        ),
        (
            "git_merge",
            json!({ "commits": ["v1.o"] }),
            "commits: `v1.o` is not known here; did you mean `v1.0`?\n",
        ),
        (
            "git_push",
            json!({ "remote": "orgin" }),
            "remote: `orgin` is not known here; did you mean `origin`?\n",
        ),
    ] {
        let mut arguments = arguments;
        arguments["execution_mode"] = json!("sync");
        let result = served.client.call(tool, &arguments);
        assert!(result.is_error, "{result:?}");
        assert!(result.text.contains(hint), "{result:?}");
    }
    let switched = json!({ "branch": "feature/tea", "execution_mode": "sync" });
    let result = served.client.call("git_switch", &switched);
    assert!(!result.is_error, "{result:?}");
}

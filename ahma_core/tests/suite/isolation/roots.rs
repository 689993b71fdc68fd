//! How a session gets its scope, and that it keeps it.

use std::thread;

use ahma_tests::http::{Client, Opened, Request, root_of};
use ahma_tests::{Workspace, until};
use serde_json::{Value, json};

use super::{AHMA_MCP, Isolated};

/// A client that has heard the question for its roots on its event stream, and the question.
fn questioned(isolated: &Isolated) -> (Client, Value) {
    let client = isolated.process.stateless().begun_with_roots();
    let mut stream = client.stream();
    client.notify("notifications/initialized", &json!({}));
    let question = stream.message("roots/list");
    (client, question)
}

/// Proves: I1, I3.
#[test]
fn the_scope_is_the_first_root_of_the_client() {
    let isolated = Isolated::new();
    let (first, second) = (isolated.project("first"), isolated.project("second"));
    let roots = [root_of(&first), root_of(&second)];
    let client = isolated.process.stateless().with_roots(&roots);
    let result = client.sync("pwd; echo in > inside");
    assert!(
        result.text.starts_with(first.to_str().unwrap()),
        "{result:?}"
    );
    assert!(first.join("inside").exists());
    let other = client.sync(&format!("echo out > {}/x", second.display()));
    assert_eq!(other.record["state"], "failed", "only the first: {other:?}");
    let info = client.call("get_server_info", &json!({})).structured;
    assert_eq!(info["sandbox"]["scope"], json!(first));
    assert_eq!(info["project"]["root"], json!(first));
}

/// Proves: I3.
#[test]
fn a_client_without_an_event_stream_is_asked_on_the_stream_of_its_call() {
    let isolated = Isolated::new();
    let client = isolated.process.stateless().begun_with_roots();
    client.notify("notifications/initialized", &json!({}));
    let arguments = json!({ "command": "pwd", "execution_mode": "sync" });
    let call = client.calling("sandboxed_shell", &arguments);
    runs_in_what_is_answered(&isolated, &client, call.open(client.address));
}

/// The client is asked on the stream of a call for `pwd`, which then runs in the project that it names.
fn runs_in_what_is_answered(isolated: &Isolated, client: &Client, mut call: Opened) {
    let question = call.message("roots/list");
    let project = isolated.project("a");
    client.answer(
        &question["id"],
        &json!({ "roots": [{ "uri": root_of(&project) }] }),
    );
    let answer = call.rest().answer();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(project.to_str().unwrap()), "{answer}");
}

/// Proves: I3.
#[test]
fn a_caller_of_one_document_is_asked_on_its_event_stream() {
    let isolated = Isolated::new();
    let client = isolated.session("a");
    let arguments = json!({ "command": "pwd", "execution_mode": "sync" });
    let request = client.calling("sandboxed_shell", &arguments);
    let request = request
        .without("accept")
        .header("accept", "application/json");
    let answer = request.send(client.address).json();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let project = isolated.project("a");
    assert!(text.starts_with(project.to_str().unwrap()), "{answer}");
}

/// Proves: I3.
#[test]
fn the_first_answer_counts_and_a_second_one_or_one_to_nothing_does_not() {
    let isolated = Isolated::new();
    let (first, second) = (isolated.project("first"), isolated.project("second"));
    let client = isolated.process.stateless().begun_with_roots();
    let mut stream = client.stream();
    let named = |path| json!({ "roots": [{ "uri": root_of(path) }] });
    for unknown in [json!(4711), json!("x"), json!(0)] {
        let stray = json!({ "jsonrpc": "2.0", "id": unknown, "result": named(&second) });
        assert_eq!(client.send(&stray).status, 202);
    }
    client.notify("notifications/initialized", &json!({}));
    let question = stream.message("roots/list");
    client.answer(&question["id"], &named(&first));
    client.answer(&question["id"], &named(&second));
    let result = client.sync("pwd");
    assert!(
        result.text.starts_with(first.to_str().unwrap()),
        "{result:?}"
    );
}

/// Proves: I7.
#[test]
fn a_root_that_may_not_be_a_scope_is_refused_and_nothing_runs_instead() {
    let isolated = Isolated::new();
    let outside = Workspace::new();
    std::os::unix::fs::symlink(outside.path(), isolated.projects.path().join("link")).unwrap();
    let inside = isolated.projects.path().canonicalize().unwrap();
    let inside = inside.to_str().unwrap();
    let up = format!(
        "file://{inside}/..%2f{}",
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    let cases: Vec<(Vec<String>, &str)> = vec![
        (vec!["file:///".to_owned()], "the operator allows"),
        (vec![root_of(outside.path())], "the operator allows"),
        (vec![format!("file://{inside}/link")], "the operator allows"),
        (vec![up], "the operator allows"),
        (vec![format!("file://{inside}/missing")], "missing"),
        (
            vec!["file://elsewhere.example/x".to_owned()],
            "another machine",
        ),
        (vec!["https://example.invalid/".to_owned()], "file://"),
        (vec![], "no roots"),
    ];
    for (roots, why) in cases {
        let client = isolated.process.stateless().with_roots(&roots);
        let refused = client.sync("touch ran; pwd");
        assert!(refused.is_error, "{roots:?}: {refused:?}");
        assert!(refused.text.contains(why), "{roots:?}: {refused:?}");
        let again = client.call("status", &json!({}));
        assert!(again.is_error, "{roots:?}: {again:?}");
    }
    let own = isolated.own.path().join("ran");
    assert!(!own.exists(), "nothing ran in the server's own scope");
}

/// Proves: I8.
#[test]
fn a_client_that_has_no_roots_is_told_at_once() {
    let isolated = Isolated::new();
    let refused = isolated.process.connect().sync("pwd");
    assert!(refused.is_error, "{refused:?}");
    assert!(refused.text.contains("capability `roots`"), "{refused:?}");
}

/// Proves: I8.
#[test]
fn a_client_that_says_it_cannot_name_them_is_told_at_once() {
    let isolated = Isolated::new();
    let (client, question) = questioned(&isolated);
    let error = json!({ "code": -32603, "message": "no folder is open" });
    let message = json!({ "jsonrpc": "2.0", "id": question["id"], "error": error });
    assert_eq!(client.send(&message).status, 202);
    let refused = client.sync("pwd");
    assert!(refused.text.contains("no folder is open"), "{refused:?}");
}

/// Proves: I8.
#[test]
fn a_client_that_never_answers_is_told_after_ten_seconds() {
    let isolated = Isolated::new();
    let client = isolated.process.stateless().begun_with_roots();
    client.notify("notifications/initialized", &json!({}));
    let refused = client.sync("pwd");
    assert!(refused.is_error, "{refused:?}");
    assert!(refused.text.contains("within 10 seconds"), "{refused:?}");
}

/// Proves: I4.
#[test]
fn a_first_root_that_changes_afterwards_ends_the_session_with_403() {
    let isolated = Isolated::new();
    let (client, other) = (isolated.session("a"), isolated.session("b"));
    assert!(client.sync("echo hi").text.starts_with("hi\n"));
    let mut stream = client.stream();
    client.notify("notifications/roots/list_changed", &json!({}));
    let question = stream.message("roots/list");
    let roots =
        [isolated.project("b"), isolated.project("a")].map(|it| json!({ "uri": root_of(&it) }));
    client.answer(&question["id"], &json!({ "roots": roots }));
    until(|| {
        let ping = client.message(&json!(1), "ping", &json!({}));
        ping.send(client.address).status == 403
    });
    let reply = client
        .message(&json!(1), "ping", &json!({}))
        .send(client.address);
    assert!(
        reply.why().contains("the scope of a session cannot"),
        "for a while it is told why: {reply:?}"
    );
    let stream = Request::new("GET", "/mcp").header("accept", "text/event-stream");
    assert_eq!(client.prepared(stream).send(client.address).status, 403);
    assert!(
        other.sync("echo hi").text.starts_with("hi\n"),
        "another session goes on"
    );
}

/// Proves: I4.
#[test]
fn a_session_goes_on_when_its_first_root_is_still_the_first() {
    let isolated = Isolated::new();
    let client = isolated.session("a");
    let before = client.sync("pwd").text;
    let mut stream = client.stream();
    for _ in 0..2 {
        client.notify("notifications/roots/list_changed", &json!({}));
        let question = stream.message("roots/list");
        let first = format!("{}/", root_of(&isolated.project("a")));
        let roots = json!([{ "uri": first }, { "uri": root_of(&isolated.project("b")) }]);
        client.answer(&question["id"], &json!({ "roots": roots }));
        let after = client.sync("pwd").text;
        assert_eq!(before.lines().next(), after.lines().next());
    }
}

/// Proves: I4.
#[test]
fn roots_that_change_before_the_answer_do_no_harm() {
    let isolated = Isolated::new();
    let client = isolated.process.stateless().begun_with_roots();
    let mut stream = client.stream();
    client.notify("notifications/initialized", &json!({}));
    client.notify("notifications/roots/list_changed", &json!({}));
    let question = stream.message("roots/list");
    let project = isolated.project("a");
    client.answer(
        &question["id"],
        &json!({ "roots": [{ "uri": root_of(&project) }] }),
    );
    assert!(client.sync("echo hi").text.starts_with("hi\n"));
}

/// Proves: I8.
#[test]
fn without_a_session_nothing_runs_and_lists_are_there() {
    let isolated = Isolated::new();
    let client = isolated.process.stateless();
    let listed = client.request("tools/list", &json!({}));
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 5);
    for (tool, arguments) in [
        (
            "sandboxed_shell",
            json!({ "command": "touch ran", "execution_mode": "sync" }),
        ),
        ("status", json!({})),
        ("get_server_info", json!({})),
    ] {
        let refused = client.call(tool, &arguments);
        assert!(refused.is_error, "{tool}: {refused:?}");
        assert!(refused.text.contains("/mcp/w/NAME"), "{tool}: {refused:?}");
    }
    assert!(!isolated.own.path().join("ran").exists());
}

/// Proves: I3.
#[test]
fn many_calls_that_wait_for_the_scope_all_get_it() {
    let isolated = Isolated::new();
    let (client, question) = questioned(&isolated);
    let calls: Vec<_> = (0..8)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || client.sync(&format!("echo {number}")).text)
        })
        .collect();
    let project = isolated.project("a");
    client.answer(
        &question["id"],
        &json!({ "roots": [{ "uri": root_of(&project) }] }),
    );
    for (number, call) in calls.into_iter().enumerate() {
        assert!(call.join().unwrap().starts_with(&format!("{number}\n")));
    }
}

/// Proves: I1.
#[test]
fn isolation_needs_scope_roots_and_http() {
    let project = Workspace::new();
    for (arguments, why) in [
        (
            &["--mode", "http", "--session-isolation"][..],
            "--scope-root",
        ),
        (
            &["--mode", "http", "--scope-root", "/tmp"],
            "--session-isolation",
        ),
        (
            &["--session-isolation", "--scope-root", "/tmp"],
            "--mode http",
        ),
        (
            &[
                "--mode",
                "http",
                "--session-isolation",
                "--scope-root",
                "/no/such/directory",
            ],
            "/no/such/directory",
        ),
        (
            &[
                "--mode",
                "http",
                "--session-isolation",
                "--scope-root",
                "/tmp",
                "--no-sandbox",
            ],
            "isolates nothing",
        ),
        (&["--workspace", "a=/tmp"], "--mode http"),
        (&["--mode", "http", "--workspace", "a"], "NAME=PATH"),
        (&["--mode", "http", "--workspace", "a/b=/usr"], "NAME=PATH"),
        (
            &[
                "--mode",
                "http",
                "--workspace",
                "a=/usr",
                "--workspace",
                "a=/usr/bin",
            ],
            "NAME=PATH",
        ),
        (&["--mode", "http", "--workspace", "a=/"], "--workspace"),
    ] {
        let home = Workspace::new();
        let environment = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
        let refused = project.run_with(AHMA_MCP, arguments, &environment);
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(why),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
}

/// Proves: I8.
#[test]
fn the_instructions_do_not_name_a_scope_that_is_not_known_yet() {
    let isolated = Isolated::new();
    let first = ahma_tests::http::initialize_with_roots();
    let reply = isolated.process.stateless();
    let token = reply.token.as_deref().unwrap().to_owned();
    let request = Request::message(&first).header("authorization", &format!("Bearer {token}"));
    let answer: Value = request.send(isolated.process.address).answer();
    let told = answer["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("the client's first root"), "{told}");
    assert!(
        !told.contains(isolated.own.path().to_str().unwrap()),
        "{told}"
    );
}

/// Proves: I8.
#[test]
fn an_answer_that_names_no_roots_is_told_at_once() {
    let isolated = Isolated::new();
    let (client, question) = questioned(&isolated);
    client.answer(&question["id"], &json!({ "roots": "all of them" }));
    let refused = client.sync("pwd");
    assert!(
        refused.text.contains("is not a list of roots"),
        "{refused:?}"
    );
}

/// Proves: I8.
#[test]
fn a_caller_who_cannot_be_asked_does_not_keep_others_from_it() {
    let isolated = Isolated::new();
    let client = isolated.process.stateless().begun_with_roots();
    client.notify("notifications/initialized", &json!({}));
    let arguments = json!({ "command": "pwd", "execution_mode": "sync" });
    let request = client.calling("sandboxed_shell", &arguments);
    let deaf = request
        .clone()
        .without("accept")
        .header("accept", "application/json");
    let mut waiting = ahma_tests::http::Connection::to(client.address);
    waiting.write(&deaf.bytes(client.address));
    runs_in_what_is_answered(&isolated, &client, request.open(client.address));
    assert_eq!(waiting.status(), Some(200), "and it has its answer too");
}

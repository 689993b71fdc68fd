//! What one client can have computed holds up no other: while it goes on, another one is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ahma_tests::Workspace;
use ahma_tests::http::{Client, Request};
use ahma_tests::served::over_http::Served;
use serde_json::{Value, json};

/// Answers that another client must get while a call goes on. One that is held up gets none, or the one that was under
/// way already.
const ANSWERS: usize = 5;

/// Calls a tool, and says how many pings of another client were answered before the result came.
fn pings_during(client: &Client, other: &Client, tool: &str, arguments: &Value) -> (usize, Value) {
    let request = client.calling(tool, arguments);
    let address = client.address;
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let calling = thread::spawn(move || {
        let answer = request.send(address).answer();
        done.store(true, Ordering::SeqCst);
        answer
    });
    let mut pings = 0;
    while !is_done.load(Ordering::SeqCst) {
        let answer = other.request("ping", &json!({}));
        assert!(answer["result"].is_object(), "{answer}");
        pings += usize::from(!is_done.load(Ordering::SeqCst));
    }
    (pings, calling.join().unwrap())
}

/// Proves: H20.
#[test]
fn a_pattern_that_takes_long_holds_up_nobody() {
    let project = Workspace::new();
    let tool = json!({
        "name": "t", "description": "T.", "command": "true", "synchronous": true,
        "options": [{ "name": "x", "type": "string", "pattern": "(?:[ab]{1,20}a){1,20}cc" }]
    });
    project.write(".ahma/tools/t.json", tool.to_string());
    let served = Served::of(project, &["--rate-limit", "0"]);
    let (client, other) = (served.connect(), served.connect());
    let long = json!({ "x": "a".repeat(60_000) });
    let (pings, answer) = pings_during(&client, &other, "t", &long);
    assert!(
        answer.to_string().contains("does not match the pattern"),
        "{answer}"
    );
    assert!(pings >= ANSWERS, "{pings} pings");
    let longer = json!({ "x": "a".repeat(100_000) });
    let answer = client.call("t", &longer);
    assert!(
        answer.is_error && answer.text.contains("100000 bytes"),
        "{}",
        answer.text
    );
}

/// Proves: H20.
#[test]
fn what_a_command_leaves_behind_holds_up_nobody() {
    let served = Served::with(&["--rate-limit", "0"]);
    let (client, other) = (served.connect(), served.connect());
    let script = "for m in $(seq 100); do d=.git/modules/$m; mkdir -p $d/objects $d/refs $d/hooks; echo ref > $d/HEAD
                  head -c 1000000 /dev/zero | tr '\\0' 'x' > $d/config; done; sleep 0.3
                  printf '/a %.0s' $(seq 16000); echo ': Permission denied'; exit 1";
    let arguments = json!({ "command": script, "execution_mode": "sync" });
    let (pings, answer) = pings_during(&client, &other, "sandboxed_shell", &arguments);
    assert!(pings >= ANSWERS, "{pings} pings");
    let id = answer["result"]["_meta"]["ahma/operation"]["operation_id"].clone();
    // Rendering the result again is done for the one, and the other is answered meanwhile or at once after.
    let (_, again) = pings_during(&client, &other, "await", &json!({ "operation_id": id }));
    assert!(again.to_string().contains("exit code 1"), "{again}");
}

/// What goes on in the project of one client while another one works in a workspace.
fn attacks() -> Vec<(&'static str, Attack)> {
    let shell = |script: &'static str| -> Attack {
        Arc::new(move |client: &Client| {
            let arguments = json!({ "command": script, "execution_mode": "sync" });
            client.calling("sandboxed_shell", &arguments)
        })
    };
    let with = |tool: &'static str, arguments: Value| -> Attack {
        Arc::new(move |client: &Client| client.calling(tool, &arguments))
    };
    let members = (0..24_000).map(|it| (format!("k{it}"), json!(it)));
    let members: serde_json::Map<String, Value> = members.collect();
    vec![
        ("a pattern", with("t", json!({ "x": "ab".repeat(30_000) }))),
        ("wrong arguments", with("sandboxed_shell", members.into())),
        ("a long script", with("sandboxed_shell", json!({ "command": "true ".repeat(700_000) }))),
        ("no JSON", Arc::new(|client: &Client| client.prepared(Request::new("POST", "/mcp").json("[1,".repeat(1_000_000))))),
        ("settings", shell("for m in $(seq 100); do d=.git/modules/$m; mkdir -p $d/objects $d/refs $d/hooks; echo ref > $d/HEAD
             head -c 1000000 /dev/zero | tr '\\0' 'x' > $d/config; done")),
        ("a denial", shell("printf '/a %.0s' $(seq 16000); echo ': Permission denied'; exit 1")),
        ("output", shell("head -c 2000000 /dev/zero | tr '\\0' 'x'; seq 100000")),
        ("tool files", shell("mkdir -p tools; for i in $(seq 100); do head -c 80000 /dev/zero | tr '\\0' '[' > tools/$i.json; done; rm -r tools")),
    ]
}

/// A request that is sent again and again.
type Attack = Arc<dyn Fn(&Client) -> Request + Send + Sync>;

/// Proves: H20.
#[test]
fn a_deadline_in_another_workspace_holds_whatever_one_client_does() {
    let (project, other) = (Workspace::new(), Workspace::new());
    let tool = json!({
        "name": "t", "description": "T.", "command": "true", "synchronous": true,
        "options": [{ "name": "x", "type": "string", "pattern": "(?:[ab]{1,20}a){1,20}cc" }]
    });
    project.write(".ahma/tools/t.json", tool.to_string());
    let workspace = format!("other={}", other.path().display());
    let served = Served::of(project, &["--rate-limit", "0", "--workspace", &workspace]);
    let calm = served.process.stateless().at("/mcp/w/other");
    for (name, attack) in attacks() {
        let is_over = Arc::new(AtomicBool::new(false));
        let attacking: Vec<_> = (0..3)
            .map(|_| {
                let (is_over, attack) = (Arc::clone(&is_over), Arc::clone(&attack));
                let client = served.connect();
                thread::spawn(move || {
                    while !is_over.load(Ordering::SeqCst) {
                        attack(&client).send(client.address);
                    }
                })
            })
            .collect();
        let arguments =
            json!({ "command": "sleep 600", "execution_mode": "sync", "timeout_seconds": 1 });
        let ended = calm.call("sandboxed_shell", &arguments);
        is_over.store(true, Ordering::SeqCst);
        for attacker in attacking {
            attacker.join().unwrap();
        }
        let told = &ended.record;
        assert_eq!(told["state"], "timed_out", "{name}: {}", ended.text);
        // It would be minutes if others computed in its way; how long exactly, the benchmark says.
        let ran = told["duration_ms"].as_u64().unwrap();
        assert!(ran < 30_000, "{name}: {ran} ms");
    }
}

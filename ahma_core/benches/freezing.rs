//! How long another client waits for the answer to a ping while one client, one project or one command does its worst.
//!
//! `cargo bench -p ahma_core --bench freezing`. Every case goes on for as long as pings are sent; the goal is 50 ms for 99
//! of 100 of them.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark may start programs, print and fail"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ahma_tests::Workspace;
use ahma_tests::http::{Client, Request};
use ahma_tests::http_process::HttpProcess;
use serde_json::{Value, json};

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
/// How long each case goes on.
const PHASE: Duration = Duration::from_secs(4);
const BETWEEN_PINGS: Duration = Duration::from_millis(5);

/// What is done over and over meanwhile.
type Attack = Arc<dyn Fn(&Client) + Send + Sync>;

fn main() {
    ahma_tests::without_the_libraries_of_cargo();
    println!("case                                  callers  times      p50      p99      max");
    let idle: Attack = Arc::new(|_| thread::sleep(Duration::from_millis(100)));
    measure("nothing", 1, &idle);
    for (name, attack) in messages() {
        measure(name, 1, &attack);
        measure(name, 8, &attack);
    }
    for (name, attack) in commands() {
        measure(name, 1, &attack);
    }
}

fn measure(name: &str, attackers: usize, attack: &Attack) {
    let project = project();
    let arguments = ["--rate-limit", "0"];
    let process = HttpProcess::start(AHMA_MCP, &arguments, project.path());
    let other = process.connect();
    let (is_over, times) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let attacking: Vec<_> = (0..attackers)
        .map(|_| {
            let (is_over, times) = (Arc::clone(&is_over), Arc::clone(&times));
            let (attacker, attack) = (process.connect(), Arc::clone(attack));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    attack(&attacker);
                    times.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(50));
    let mut waits = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < PHASE {
        let asked = Instant::now();
        let answer = other.request("ping", &json!({}));
        assert!(answer["result"].is_object(), "{answer}");
        waits.push(asked.elapsed());
        thread::sleep(BETWEEN_PINGS);
    }
    is_over.store(true, Ordering::Relaxed);
    for attacker in attacking {
        attacker.join().unwrap();
    }
    waits.sort();
    let at = |share: f64| {
        let index = (waits.len() as f64 * share) as usize;
        waits[index.min(waits.len() - 1)].as_secs_f64() * 1000.0
    };
    let (times, half, most, longest) = (times.load(Ordering::Relaxed), at(0.5), at(0.99), at(1.0));
    println!("{name:40} {attackers:4} {times:6} {half:6.2} ms {most:6.2} ms {longest:6.2} ms");
}

/// A project with a tool whose pattern takes long.
fn project() -> Workspace {
    let project = Workspace::new();
    let tool = json!({
        "name": "t", "description": "T.", "command": "true", "synchronous": true,
        "options": [
            { "name": "x", "type": "string", "pattern": "(?:[ab]{1,20}a){1,20}cc" },
            { "name": "list", "type": "array", "items": { "type": "string" } }
        ]
    });
    project.write(".ahma/tools/t.json", tool.to_string());
    project
}

/// Letters in an order that no automaton has seen before.
fn mixed() -> String {
    let mut state = 1_u32;
    let letters = (0..60_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    });
    letters.collect()
}

fn call(client: &Client, tool: &str, arguments: &Value) -> Value {
    let answer = client.calling(tool, arguments).send(client.address);
    answer.answer()
}

fn shell(script: &'static str) -> Attack {
    Arc::new(move |client: &Client| {
        let arguments = json!({ "command": script, "execution_mode": "sync" });
        call(client, "sandboxed_shell", &arguments);
    })
}

fn with(tool: &'static str, arguments: Value) -> Attack {
    Arc::new(move |client: &Client| {
        call(client, tool, &arguments);
    })
}

/// A body that is sent as it is.
fn body(text: String) -> Attack {
    Arc::new(move |client: &Client| {
        let request = client.prepared(Request::new("POST", "/mcp").json(text.clone()));
        request.send(client.address);
    })
}

/// What clients send.
fn messages() -> Vec<(&'static str, Attack)> {
    let long = "m".repeat(4_000_000);
    let request = |method: &str, params: &str| {
        let method = format!("\"method\":\"{method}\"");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,{method},\"params\":{params}}}")
    };
    let call = |arguments: &str| {
        let params = format!("{{\"name\":\"t\",\"arguments\":{{{arguments}}}}}");
        body(request("tools/call", &params))
    };
    let numbers = "1,".repeat(49_000);
    let pairs: String = (0..24_000).map(|it| format!("\"k{it}\":{it},")).collect();
    let escapes = "\\u0041\\n".repeat(500_000);
    let token = format!("{{\"_meta\":{{\"progressToken\":\"{long}\"}}}}");
    let id = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{long}\",\"method\":\"ping\"}}");
    let script = json!({ "command": format!("true {long}"), "execution_mode": "sync" });
    vec![
        ("49,000 numbers", call(&format!("\"list\":[{numbers}1]"))),
        ("24,000 members", call(&format!("{pairs}\"a\":1"))),
        ("one long text", call(&format!("\"x\":\"{escapes}\""))),
        ("almost JSON", body(format!("[{}", "[1],".repeat(20_000)))),
        ("a long method", body(request(&long, "{}"))),
        ("a long id", body(id)),
        ("a long progress token", body(request("ping", &token))),
        ("a long script", with("sandboxed_shell", script)),
    ]
}

/// What commands and projects do.
fn commands() -> Vec<(&'static str, Attack)> {
    vec![
        ("ordinary calls", shell("echo hello")),
        (
            "a pattern that takes long",
            with("t", json!({ "x": mixed() })),
        ),
        (
            "settings of 100 submodules",
            shell(
                "for m in $(seq 100); do d=.git/modules/$m; mkdir -p $d/objects $d/refs $d/hooks; echo ref > $d/HEAD
                 head -c 1000000 /dev/zero | tr '\\0' 'x' > $d/config; done",
            ),
        ),
        (
            "a denial after 16,000 words",
            shell("printf '/a %.0s' $(seq 16000); echo ': Permission denied'; exit 1"),
        ),
        (
            "tool files that come and go",
            shell(
                "mkdir -p tools; for i in $(seq 200); do head -c 40000 /dev/zero | tr '\\0' '[' > tools/$i.json; done
                 rm -r tools",
            ),
        ),
        (
            "much output",
            shell("head -c 60000000 /dev/urandom | base64 -w 0"),
        ),
        ("very many lines", shell("seq 8000000")),
        ("a search in much output", search()),
        (
            "the list of tools",
            Arc::new(|client: &Client| {
                client.request("tools/list", &json!({}));
            }),
        ),
        ("what the server is", with("get_server_info", json!({}))),
    ]
}

fn search() -> Attack {
    Arc::new(|client: &Client| {
        let arguments = json!({ "command": "seq 2000000", "execution_mode": "sync" });
        let id = client.call("sandboxed_shell", &arguments).operation_id();
        for _ in 0..20 {
            let arguments = json!({ "operation_id": id, "pattern": "(?:1|2|3|4|5){6}x" });
            call(client, "read_output", &arguments);
        }
    })
}

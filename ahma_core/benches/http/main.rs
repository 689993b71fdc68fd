//! The server over HTTP beside a plain one without a sandbox and beside bare processes.
//!
//! `cargo bench -p ahma_core --bench http`. All are visited in turn, some calls at a time; compare ratios, not
//! times. This program is also the plain server: it starts itself.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

mod caller;
mod isolation;
mod memory;
#[path = "../stdio/plain.rs"]
mod plain;
mod plain_http;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use ahma_tests::http_process::HttpProcess;
use serde_json::json;

use self::caller::{Caller, many};
use self::plain_http::PlainServer;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
const ROUNDS: usize = 25;
/// Calls before the next one is visited.
const BATCH: usize = 10;
/// Calls of one measurement of throughput.
const CALLS: usize = 600;

fn main() {
    ahma_tests::without_the_libraries_of_cargo();
    if std::env::args().nth(1).as_deref() == Some(plain::ARGUMENT) {
        return plain_http::serve();
    }
    let scope = tempfile::tempdir().unwrap();
    let tools = tempfile::tempdir().unwrap();
    let tool = json!({
        "name": "run", "description": "Runs a script.", "command": "sh",
        "options": [{ "name": "command", "flag": "-c", "type": "string", "required": true }]
    });
    std::fs::write(tools.path().join("run.json"), tool.to_string()).unwrap();
    let arguments = ["--tools-dir", tools.path().to_str().unwrap()];
    let ahma = ahma(scope.path(), &arguments);
    let plain = PlainServer::start();
    latency(&ahma, &plain);
    throughput(&ahma, &plain);
    drop((ahma, plain));
    memory::measure(scope.path(), &arguments);
    isolation::measure(&arguments);
}

fn ahma(scope: &Path, arguments: &[&str]) -> HttpProcess {
    let usual = ["--audit-log", "off", "--rate-limit", "0"];
    HttpProcess::start(AHMA_MCP, &[&usual, arguments].concat(), scope)
}

/// The middle of some times, in milliseconds.
fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed(act: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    act();
    begun.elapsed().as_secs_f64() * 1000.0
}

fn bare() {
    let status = Command::new("sh")
        .args(["-c", "true"])
        .stdin(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

fn latency(ahma: &HttpProcess, plain: &PlainServer) {
    // Shells get ready while others are called.
    let mut callers = [
        Caller::new(&ahma.connect(), "sandboxed_shell"),
        Caller::new(&ahma.connect(), "run"),
        Caller::new(&plain.connect(), "run"),
        Caller::new(&ahma.stateless(), "sandboxed_shell"),
        Caller::new(&ahma.stateless(), "run"),
        Caller::new(&plain.stateless(), "run"),
    ];
    let mut times: [Vec<f64>; 7] = Default::default();
    for _ in 0..ROUNDS {
        for (caller, times) in callers.iter_mut().zip(&mut times) {
            caller.call("true");
            times.extend((0..BATCH).map(|_| timed(|| caller.call("true"))));
        }
        bare();
        times[6].extend((0..BATCH).map(|_| timed(bare)));
    }
    let [
        shell,
        tool,
        plain,
        newer_shell,
        newer_tool,
        newer_plain,
        bare,
    ] = times.map(middle);
    println!("p50 of one call after the other, bare sh -c true {bare:.2} ms");
    let line = |name: &str, shell: f64, tool: f64, plain: f64| {
        println!(
            "  {name}: shell {shell:.2} ms, declared tool {tool:.2} ms, plain server {plain:.2} ms; shell ÷ bare {:.2}, declared tool ÷ plain server {:.2}",
            shell / bare,
            tool / plain
        );
    };
    line("sessions  ", shell, tool, plain);
    line("2026-07-28", newer_shell, newer_tool, newer_plain);
}

fn throughput(ahma: &HttpProcess, plain: &PlainServer) {
    let clients = [
        ahma.connect(),
        plain.connect(),
        ahma.stateless(),
        plain.stateless(),
    ];
    for at_once in [8, 32] {
        let mut callers: Vec<Vec<Caller>> = clients
            .iter()
            .map(|client| (0..at_once).map(|_| Caller::new(client, "run")).collect())
            .collect();
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..5 {
            for (callers, times) in callers.iter_mut().zip(&mut times) {
                times.push(timed(|| many(callers, "true", CALLS)));
            }
        }
        let [tool, plain, newer_tool, newer_plain] = times.map(middle);
        println!(
            "{at_once} callers: declared tool, calls per second ÷ plain server: sessions {:.2}, 2026-07-28 {:.2}",
            plain / tool,
            newer_plain / newer_tool
        );
    }
}

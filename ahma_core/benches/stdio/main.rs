//! The server on stdio beside a plain one without a sandbox and beside bare processes.
//!
//! `cargo bench -p ahma_core --bench stdio`. All are visited in turn, some calls at a time; compare ratios, not
//! times. This program is also the plain server: it starts itself.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

mod client;
mod memory;
mod plain;
mod plain_stdio;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::json;

use self::client::Server;

const ROUNDS: usize = 25;
/// Calls before the next one is visited.
const BATCH: usize = 10;
/// Calls of one measurement of throughput.
const CALLS: usize = 600;
const STARTS: usize = 15;

fn main() {
    ahma_tests::without_the_libraries_of_cargo();
    if std::env::args().nth(1).as_deref() == Some(plain::ARGUMENT) {
        return plain_stdio::serve();
    }
    let scope = tempfile::tempdir().unwrap();
    let tools = tempfile::tempdir().unwrap();
    let tool = json!({
        "name": "run", "description": "Runs a script.", "command": "sh",
        "options": [{ "name": "command", "flag": "-c", "type": "string", "required": true }]
    });
    std::fs::write(tools.path().join("run.json"), tool.to_string()).unwrap();
    let places = (scope.path(), tools.path());
    let parts: [(&str, &dyn Fn()); 6] = [
        ("latency", &|| latency(places)),
        ("inline", &|| inline(places.0)),
        ("throughput", &|| throughput(places)),
        ("scripts", &|| scripts(places.0)),
        ("start", &|| start(places)),
        ("memory", &|| memory::measure(places.0, places.1)),
    ];
    // `cargo bench --bench stdio -- inline` runs that part alone.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}

fn shell(scope: &Path) -> Server {
    Server::start(scope, &[], "sandboxed_shell")
}

fn tool(scope: &Path, tools: &Path) -> Server {
    Server::start(scope, &["--tools-dir", tools.to_str().unwrap()], "run")
}

fn plain_server(scope: &Path) -> Server {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(plain::ARGUMENT);
    Server::of(command, scope, ("run", "command"), json!({}))
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

fn latency((scope, tools): (&Path, &Path)) {
    let mut servers = [shell(scope), tool(scope, tools), plain_server(scope)];
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (server, times) in servers.iter_mut().zip(&mut times) {
            server.call("true");
            times.extend((0..BATCH).map(|_| timed(|| server.call("true"))));
        }
        bare();
        times[3].extend((0..BATCH).map(|_| timed(bare)));
    }
    let [shell, tool, plain, bare] = times.map(middle);
    println!(
        "p50 of one call after the other: shell {shell:.2} ms, declared tool {tool:.2} ms, plain server {plain:.2} ms, bare sh -c true {bare:.2} ms"
    );
    println!("  shell ÷ bare {:.2}", shell / bare);
    println!("  declared tool ÷ plain server {:.2}", tool / plain);
}

/// Quick calls that do not say that they wait, beside those that do, in one server: two servers differ more from
/// one another than the two kinds of call.
fn inline(scope: &Path) {
    let mut server = shell(scope);
    let kinds = [json!({}), json!({ "execution_mode": "sync" })];
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..4 * ROUNDS {
        for (kind, times) in kinds.iter().zip(&mut times) {
            server.say(kind.clone());
            server.call("true");
            times.extend((0..BATCH).map(|_| timed(|| server.call("true"))));
        }
    }
    let [inline, sync] = times.map(middle);
    println!(
        "quick calls with the result inline ÷ synchronous ones, p50 {:.3}",
        inline / sync
    );
}

/// Scripts per second beside as many bare shells at the same time: one that a shell has to run, and one that is a program.
fn scripts(scope: &Path) {
    let mut server = shell(scope);
    for callers in [8, 32] {
        for script in ["true", "/bin/true"] {
            let mut times: [Vec<f64>; 2] = Default::default();
            for _ in 0..5 {
                times[0].push(timed(|| server.many(script, CALLS, callers)));
                times[1].push(timed(|| bare_shells(script, CALLS, callers)));
            }
            let [scripts, bare] = times.map(middle);
            println!(
                "{callers} callers: scripts per second ÷ bare bash -c {script} {:.2}",
                bare / scripts
            );
        }
    }
}

fn bare_shells(script: &str, count: usize, at_once: usize) {
    let left = AtomicUsize::new(count);
    let take = |left: usize| left.checked_sub(1);
    thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                    .is_ok()
                {
                    let status = Command::new("bash")
                        .args(["-c", script])
                        .stdin(Stdio::null())
                        .status();
                    assert!(status.unwrap().success());
                }
            });
        }
    });
}

fn throughput((scope, tools): (&Path, &Path)) {
    let mut servers = [tool(scope, tools), plain_server(scope)];
    for callers in [8, 32] {
        let mut times: [Vec<f64>; 2] = Default::default();
        for _ in 0..5 {
            for (server, times) in servers.iter_mut().zip(&mut times) {
                times.push(timed(|| server.many("true", CALLS, callers)));
            }
        }
        let [tool, plain] = times.map(middle);
        println!(
            "{callers} callers: declared tool, calls per second ÷ plain server {:.2}",
            plain / tool
        );
    }
}

fn start((scope, tools): (&Path, &Path)) {
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..STARTS {
        let starts: [&dyn Fn() -> Server; 3] = [&|| tool(scope, tools), &|| shell(scope), &|| {
            plain_server(scope)
        }];
        for (start, times) in starts.into_iter().zip(&mut times) {
            let begun = Instant::now();
            let server = start();
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
            server.end();
        }
    }
    let [tool, shipped, plain] = times.map(middle);
    println!(
        "start to tools/list answered: {tool:.1} ms with one tool file ({:.1} of the plain server), {shipped:.1} ms with the shipped ones ({:.1})",
        tool / plain,
        shipped / plain
    );
}

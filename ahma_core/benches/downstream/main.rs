//! Calls through the server to one behind it, beside the same calls to that server directly; and what servers cost that
//! do not run.
//!
//! `cargo bench -p ahma_core --bench downstream`. Both ways are visited in turn, some calls at a time; compare ratios and
//! what is added, not times. This program is also one of the servers behind: it starts itself. The other one is in Python.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may start programs, print and fail"
)]

#[expect(dead_code, reason = "another benchmark starts other servers")]
#[path = "../stdio/client.rs"]
mod client;
mod echo;
mod gateways;
mod stopped;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use self::client::Server;

const AHMA_MCP: &str = env!("CARGO_BIN_EXE_ahma_mcp");
const ROUNDS: usize = 40;
/// Calls before the other way is visited.
const BATCH: usize = 25;
/// Calls of one measurement of throughput: few, so that both ways find the machine in the same state.
const CALLS: usize = 500;
/// Measurements of throughput.
const THROUGHPUTS: usize = 41;
/// Of a hundred bytes, as a short answer has.
const TEXT: &str = "A server that stands behind another one says this again, whatever it is, and adds nothing of its own";

/// A server that is measured: a program and its arguments.
struct Upstream {
    name: &'static str,
    command: String,
    args: Vec<String>,
}

fn main() {
    ahma_tests::without_the_libraries_of_cargo();
    if std::env::args().nth(1).as_deref() == Some(echo::ARGUMENT) {
        return echo::serve();
    }
    let this = std::env::current_exe().unwrap();
    let script = ahma_tests::repository().join("tests/fixtures/upstream/server.py");
    let upstreams = [
        Upstream {
            name: "Rust echo",
            command: this.to_str().unwrap().to_owned(),
            args: vec![echo::ARGUMENT.to_owned()],
        },
        Upstream {
            name: "Python",
            command: "python3".to_owned(),
            args: vec![script.to_str().unwrap().to_owned()],
        },
    ];
    if std::env::args().any(|it| it == "gateways") {
        upstreams.iter().for_each(gateways::measure);
        return;
    }
    stopped::measure(&script);
    for upstream in upstreams {
        let (scope, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut ways = [
            direct(scope.path(), &upstream),
            through(scope.path(), place.path(), &upstream),
        ];
        latency(upstream.name, &mut ways);
        throughput(upstream.name, &mut ways);
        for server in ways {
            server.end();
        }
    }
}

fn direct(scope: &Path, upstream: &Upstream) -> Server {
    let mut command = Command::new(&upstream.command);
    command.args(&upstream.args);
    Server::of(command, scope, ("echo", "text"), json!({}))
}

fn through(scope: &Path, place: &Path, upstream: &Upstream) -> Server {
    let entry = json!({ "command": upstream.command, "args": upstream.args });
    let config = json!({ "servers": { "up": entry } });
    std::fs::write(place.join("mcp.json"), config.to_string()).unwrap();
    let mut command = Command::new(AHMA_MCP);
    command.args(["--audit-log", "off", "--mcp-config"]);
    command.arg(place.join("mcp.json"));
    // What is known of the server is kept out of the scope.
    command.env("XDG_STATE_HOME", place.join("state"));
    Server::of(command, scope, ("up_echo", "text"), json!({}))
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

fn latency(name: &str, ways: &mut [Server; 2]) {
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            way.call(TEXT);
            times.extend((0..BATCH).map(|_| timed(|| way.call(TEXT))));
        }
    }
    let [direct, through] = times.map(middle);
    println!(
        "{name}, 1 caller: p50 {direct:.3} ms direct, {through:.3} ms through us: +{:.3} ms, {:.2} times",
        through - direct,
        through / direct
    );
}

fn throughput(name: &str, ways: &mut [Server; 2]) {
    for callers in [8, 32] {
        let mut times: [Vec<f64>; 2] = Default::default();
        for _ in 0..THROUGHPUTS {
            for (way, times) in ways.iter_mut().zip(&mut times) {
                times.push(timed(|| way.many(TEXT, CALLS, callers)));
            }
        }
        let pairs = times[0].iter().zip(&times[1]);
        let ratio = middle(pairs.map(|(direct, through)| direct / through).collect());
        let [direct, through] = times.map(middle).map(|it| CALLS as f64 / it * 1000.0);
        println!(
            "{name}, {callers} callers: {direct:.0} calls per second direct, {through:.0} through us: ratio {ratio:.2}"
        );
    }
}

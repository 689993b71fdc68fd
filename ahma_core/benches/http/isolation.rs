//! What a scope of its own costs a session.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ahma_tests::http::{Client, initialize, root_of};
use ahma_tests::http_process::HttpProcess;
use ahma_tests::processes_below;
use serde_json::json;

use super::{AHMA_MCP, middle, timed};

const ROUNDS: usize = 40;
const SESSIONS: usize = 40;
/// Between two sessions.
const PAUSE: Duration = Duration::from_millis(50);
/// Without a journal, ext4 looks at every file that was deleted in the last five seconds before it makes a new one.
const FILE_SYSTEM_REST: Duration = Duration::from_secs(6);
const REST: Duration = Duration::from_millis(1500);

pub(crate) fn measure(arguments: &[&str]) {
    let (own, projects) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let usual = ["--audit-log", "off", "--rate-limit", "0"];
    let root = projects.path().to_str().unwrap();
    let isolation = ["--session-isolation", "--scope-root", root];
    let shared = [&usual, arguments].concat();
    let shared = HttpProcess::start(AHMA_MCP, &shared, own.path());
    let isolated = [&usual[..], &isolation, arguments].concat();
    let isolated = HttpProcess::start(AHMA_MCP, &isolated, own.path());
    for pause in [Duration::ZERO, PAUSE] {
        sleep(FILE_SYSTEM_REST);
        opening(&shared, &isolated, projects.path(), pause);
    }
    memory(&isolated, projects.path());
}

fn project(projects: &Path, number: usize) -> String {
    let path = projects.join(number.to_string());
    std::fs::create_dir_all(&path).unwrap();
    root_of(&path)
}

fn run(client: &Client) {
    let result = client.call(
        "run",
        &json!({ "command": "true", "execution_mode": "sync" }),
    );
    assert!(!result.is_error, "{result:?}");
}

/// From nothing to the first result, with an event stream in both cases. Without a pause, what the last session leaves
/// to be cleared away, and what the server gets ready for the next one, is measured too.
fn opening(shared: &HttpProcess, isolated: &HttpProcess, projects: &Path, pause: Duration) {
    let mut times: [Vec<f64>; 2] = Default::default();
    for round in 0..ROUNDS {
        let root = project(projects, round);
        sleep(pause);
        times[0].push(timed(|| {
            let client = shared.stateless().connected(&initialize("2025-06-18"));
            let _stream = client.stream();
            run(&client);
        }));
        let mut opened = None;
        times[1].push(timed(|| {
            let client = isolated.stateless().with_roots(std::slice::from_ref(&root));
            run(&client);
            opened = Some(client);
        }));
        assert_eq!(opened.unwrap().delete().status, 204);
    }
    let [shared, isolated] = times.map(middle);
    println!(
        "a session from nothing to its first result, {} ms after the last one: shared scope {shared:.1} ms, its own {isolated:.1} ms, ratio {:.2}",
        pause.as_millis(),
        isolated / shared
    );
}

/// Proportional memory of the whole tree, for each session more.
fn memory(isolated: &HttpProcess, projects: &Path) {
    sleep(REST);
    let before = pss(isolated.pid());
    let clients: Vec<Client> = (0..SESSIONS)
        .map(|number| {
            let root = project(projects, number);
            let client = isolated.stateless().with_roots(&[root]);
            run(&client);
            client
        })
        .collect();
    sleep(REST);
    let opened = pss(isolated.pid());
    let mib = |kb: u64| kb as f64 / 1024.0 / SESSIONS as f64;
    let processes = processes_below(isolated.pid()).len();
    println!(
        "an idle session with a scope of its own: {:.2} MiB proportional ({processes} processes with {SESSIONS} sessions)",
        mib(opened.saturating_sub(before))
    );
    for client in &clients {
        client.sync("true");
    }
    sleep(REST);
    let used = pss(isolated.pid());
    println!(
        "  and {:.2} MiB when scripts have run in it, with the shells that wait for more",
        mib(used.saturating_sub(before))
    );
}

/// Of a process and all below it. Those that share an address space are counted once: the kernel shows all of it for
/// each.
fn pss(pid: u32) -> u64 {
    let tree = [vec![pid], processes_below(pid)].concat();
    let read = |pid: &u32, file: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    };
    let spaces: BTreeMap<String, u64> = tree
        .iter()
        .map(|pid| {
            let text = read(pid, "smaps_rollup");
            let line = text.lines().find(|line| line.starts_with("Pss:"));
            let number = line.and_then(|line| line.split_whitespace().nth(1));
            let kb = number.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
            (read(pid, "maps"), kb)
        })
        .collect();
    spaces.values().sum()
}

//! What the tree of a server takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ahma_tests::processes_below;

use super::client::Server;
use super::{shell, tool};

const CALLS: usize = 1000;
/// What was used for calls is given back within this time.
const REST: Duration = Duration::from_millis(1500);

pub(crate) fn measure(scope: &Path, tools: &Path) {
    report("one tool file", tool(scope, tools));
    report("the shipped tools", shell(scope));
}

fn report(name: &str, mut server: Server) {
    sleep(REST);
    let pid = server.pid();
    let tree = tree(pid);
    let sum = |field: &dyn Fn(u32) -> u64| tree.iter().map(|pid| field(*pid)).sum::<u64>();
    let resident = sum(&|pid| field(pid, "status", "VmRSS:"));
    let proportional = sum(&|pid| field(pid, "smaps_rollup", "Pss:"));
    println!(
        "memory at rest, {name}: {:.1} MiB resident in {} processes, {:.1} MiB proportional, {:.1} MiB with each address \
         space counted once",
        mib(resident),
        tree.len(),
        mib(proportional),
        mib(once(&tree))
    );
    let mut before = field(pid, "status", "RssAnon:");
    for _ in 0..2 {
        server.many("echo hello", CALLS, 4);
        sleep(REST);
        let after = field(pid, "status", "RssAnon:");
        println!(
            "  the server grew by {:.1} MiB over {CALLS} calls",
            mib(after.saturating_sub(before))
        );
        before = after;
    }
    let processes = self::tree(pid);
    server.end();
    let left = processes
        .iter()
        .filter(|pid| Path::new(&format!("/proc/{pid}")).exists());
    println!("  processes left after its end: {}", left.count());
}

fn mib(kb: u64) -> f64 {
    kb as f64 / 1024.0
}

fn field(pid: u32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A process and all below it.
fn tree(pid: u32) -> Vec<u32> {
    [vec![pid], processes_below(pid)].concat()
}

/// Processes with the same mappings at the same random addresses share their memory.
fn once(tree: &[u32]) -> u64 {
    let spaces: BTreeMap<String, u64> = tree
        .iter()
        .map(|pid| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
            (
                maps.unwrap_or_default(),
                field(*pid, "smaps_rollup", "Pss:"),
            )
        })
        .collect();
    spaces.values().sum()
}

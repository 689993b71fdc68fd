//! The processes below this one, found in `/proc`: only where commands have no pid namespace.

use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Sends a signal to every descendant of this process.
pub(super) fn signal_all(signal: Signal) {
    for pid in all() {
        let _ = kill_process(pid, signal);
    }
}

/// Every process whose chain of parents leads here.
fn all() -> Vec<Pid> {
    let parents = parents();
    let me = getpid().as_raw_pid();
    let mut found: Vec<i32> = vec![me];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(
            parents
                .iter()
                .filter(|(_, above)| *above == parent)
                .map(|(pid, _)| *pid),
        );
    }
    found
        .into_iter()
        .skip(1)
        .filter_map(Pid::from_raw)
        .collect()
}

/// Every process of the machine with its parent.
#[expect(clippy::disallowed_methods, reason = "the host has no async runtime")]
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name in brackets can hold anything; the parent is the second field behind it.
            let parent = stat
                .rsplit_once(')')?
                .1
                .split_ascii_whitespace()
                .nth(1)?
                .parse()
                .ok()?;
            Some((pid, parent))
        })
        .collect()
}
